/** The part of a file that a request asks for: RFC 9110, and anything else that a client may send. */
import fc from 'fast-check'
import t from 'tap'
import { findRequestedPart, type RequestedPart } from '../../../../../src/servers/api/http/input/byte-range.js'

const partOf = (range: string | undefined, size = 100, ifRange?: string): RequestedPart =>
  findRequestedPart({ range, ifRange }, size, '"e"')

const all: RequestedPart = { kind: 'all' }
const unsatisfiable: RequestedPart = { kind: 'unsatisfiable' }
const range = (from: number, to: number): RequestedPart => ({ kind: 'range', from, to })

t.test('one range, as its field says', async (t) => {
  const table: readonly (readonly [string | undefined, RequestedPart])[] = [
    [undefined, all],
    ['bytes=0-0', range(0, 0)],
    ['bytes=0-99', range(0, 99)],
    ['bytes=99-', range(99, 99)],
    ['bytes=100-', unsatisfiable],
    ['bytes=50-200', range(50, 99)],
    ['bytes=-1', range(99, 99)],
    ['bytes=-100', range(0, 99)],
    ['bytes=-101', range(0, 99)],
    ['bytes=-0', unsatisfiable],
    ['BYTES=1-2', range(1, 2)],
    ['bytes= 1-2 ', range(1, 2)],
    ['bytes=2-1', all],
    ['bytes=-', all],
    ['bytes=', all],
    ['bytes=1', all],
    ['bytes=1-2,4-5', all],
    ['bytes=a-b', all],
    ['bytes=1-2x', all],
    ['bytes=1.5-2', all],
    ['lines=1-2', all],
    ['bytes=999999999999999-', unsatisfiable],
    ['bytes=9999999999999999-', all],
  ]
  for (const [field, part] of table) t.same(partOf(field), part, String(field))
})

t.test('a client whose part is of another file gets the complete one', async (t) => {
  t.same(partOf('bytes=1-2', 100, '"e"'), range(1, 2))
  for (const other of ['"f"', 'W/"e"', 'e', '', 'Sun, 22 Nov 2026 12:00:00 GMT']) {
    t.same(partOf('bytes=1-2', 100, other), all, other)
  }
})

t.test('whatever a client sends, the part lies within the file', async () => {
  const field = fc.oneof(fc.string(), fc.stringMatching(/^bytes=\d{0,17}-\d{0,17}$/))
  fc.assert(
    fc.property(field, fc.integer({ min: 1, max: 2 ** 40 }), (text, size) => {
      const part = partOf(text, size)
      return part.kind !== 'range' || (part.from >= 0 && part.from <= part.to && part.to < size)
    }),
  )
})
