/** The order of concerns: worst first, each key once, and otherwise as they were found. */
import t from 'tap'
import { type Concern, sortConcerns } from '../../../src/operations/concerns/concern.js'

const concern = (key: string, severity: Concern['severity'], title = key): Concern => ({
  ...{ key, severity, title, text: '', link: null, remedy: [] },
})

t.test('the worst come first, and the first of one key stays', async (t) => {
  const sorted = sortConcerns([
    concern('silent', 'unanswered'),
    concern('one', 'warn', 'first'),
    concern('two', 'bad'),
    concern('one', 'bad', 'second'),
    concern('three', 'warn'),
    concern('four', 'bad'),
  ])
  t.same(
    sorted.map(({ title }) => title),
    ['two', 'four', 'first', 'three', 'silent'],
  )
})
