/** Opens and clicks of persons and of programs, and how many of them a story names. */
import t from 'tap'
import { describeReaders } from '../../../../src/records/messages/story/describe-readers.js'
import { MAX_EVENTS, type StoryEvent } from '../../../../src/records/messages/story/story-facts.js'

const click = (link: string, machine = false): StoryEvent => ({
  ...{ type: 'email.clicked', recipient: 'bob@b.test', at: '2030-01-31T09:00:00.000Z', data: { link, machine } },
})

t.test('five links are named, each once, and the others counted', async (t) => {
  const links = ['a', 'b', 'a', 'c', 'd', 'e', 'f', 'g'].map((name) => click(`https://x.test/${name}`))
  const steps = describeReaders(links, false)
  t.same(
    steps.map(({ sentences }) => sentences[0]),
    ['a', 'b', 'c', 'd', 'e'].map((name) => `https://x.test/${name}`),
  )
  t.equal(steps.at(-1)?.sentences.at(-1), 'The events have 2 more links.')
  t.match(describeReaders([click('https://x.test/', true)], false), [{ title: 'Link followed by a program' }])
})

t.test('many opens are not counted as if they were all', async (t) => {
  const opens = Array.from({ length: MAX_EVENTS }, () => ({ ...click(''), type: 'email.opened' as const }))
  t.match(describeReaders(opens, false), [{ title: 'Opened', sentences: [/^At least 100 times\./] }, ...[]])
})
