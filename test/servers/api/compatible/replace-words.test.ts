/** Words of a text are replaced once, in one pass. */
import t from 'tap'
import { replaceWords } from '../../../../src/servers/api/compatible/replace-words.js'
import { catchRefusal } from '../../../helpers/catch-refusal.js'

t.test('words are replaced, and values are not read again', async (t) => {
  t.equal(replaceWords('-a- and -b-, -a-', { '-a-': '-b-', '-b-': 'x' }), '-b- and x, -b-')
  t.equal(replaceWords('abcd', { ab: '1', abc: '2', bcd: '3' }), '2d', 'the longest of those that begin at one place')
  t.equal(replaceWords('text', {}), 'text')
  t.equal(replaceWords('text', { '': 'x', none: 'y' }), 'text')
  t.equal(replaceWords('aaaa', { aa: 'b' }), 'bb')
})

t.test('too many words in too long a text are refused', async (t) => {
  const words = Object.fromEntries(Array.from({ length: 100 }, (_, place) => [`w${place}`, '']))
  t.match(
    catchRefusal(() => replaceWords('x'.repeat(300_000), words)),
    { kind: 'invalid-parameter', message: /^substitutions: 100 words/ },
  )
  t.match(
    catchRefusal(() => replaceWords('ab'.repeat(5_001), { a: '' })),
    { kind: 'invalid-parameter', message: /more than 5000 places/ },
  )
  t.match(
    catchRefusal(() => replaceWords('a'.repeat(5_000), { a: 'x'.repeat(10_000) })),
    { kind: 'too-large' },
    'before it is built',
  )
})
