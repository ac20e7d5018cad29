/** Lines of a stream, however it is divided. */
import t from 'tap'
import { LineSplitter } from '../../../src/operations/mcp/line-splitter.js'

function split(maxBytes: number, ...chunks: readonly string[]): readonly (string | null)[] {
  const splitter = new LineSplitter(maxBytes)
  return [...chunks.flatMap((chunk) => [...splitter.push(Buffer.from(chunk, 'latin1'))]), splitter.finish()]
}

t.test('lines are found in any division, and the last one may have no end', async (t) => {
  t.same(split(10, 'one\ntwo\n'), ['one', 'two', ''])
  t.same(split(10, 'o', 'ne', '\n', 't', 'wo'), ['one', 'two'])
  t.same(split(10, '\n\n'), ['', '', ''])
  t.same(split(10, '\xc3', '\xbc\n'), ['ü', ''], 'a character in two pieces')
})

t.test('a line over the limit is dropped, and the next one is read', async (t) => {
  t.same(split(3, 'abc\nabcd\nabc\n'), ['abc', null, 'abc', ''])
  t.same(split(3, 'ab', 'cd', 'ef', '\nab'), [null, 'ab'])
  t.same(split(3, 'abcd'), [null])
})
