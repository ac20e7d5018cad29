/** Values of SQLite as PostgreSQL takes them, and sums of rows. */
import t from 'tap'
import {
  type CopiedColumn,
  type CopiedValue,
  digestRow,
  RowSum,
  toCopiedValue,
} from '../../../../src/base/storage/copy/copied-values.js'

const text: CopiedColumn = { name: 'text', type: 'TEXT' }
const number: CopiedColumn = { name: 'number', type: 'INTEGER' }
const bytes: CopiedColumn = { name: 'bytes', type: 'BLOB' }

const sumOf = (...rows: readonly (readonly CopiedValue[])[]): string => {
  const sum = new RowSum()
  for (const row of rows) sum.add(digestRow(row))
  return sum.toText()
}

t.test('text becomes what PostgreSQL can store, and other values stay', async (t) => {
  t.equal(toCopiedValue(text, 'a\0b\ud800c 😀'), 'a\ufffdb\ufffdc 😀')
  t.equal(toCopiedValue(text, ''), '')
  t.equal(toCopiedValue(number, -7), -7)
  const raw = Buffer.from([0, 255])
  t.equal(toCopiedValue(bytes, raw), raw)
  for (const column of [text, number, bytes]) t.equal(toCopiedValue(column, null), null)
})

t.test('a value that would change on its way is refused by the name of its column', async (t) => {
  t.throws(() => toCopiedValue(number, 2 ** 53), /^number: found a number/)
  t.throws(() => toCopiedValue(number, 1.5), /number/)
  t.throws(() => toCopiedValue(number, '1'), /INTEGER/)
  t.throws(() => toCopiedValue(bytes, 'text'), /BLOB/)
})

t.test('a sum is that of the rows, whatever their order', async (t) => {
  t.equal(sumOf([1, 'a'], [2, 'b']), sumOf([2, 'b'], [1, 'a']))
  const different = [
    [[1, 'a']],
    [[1, 'b']],
    [[1, null]],
    [[1, '']],
    [[null, '1']],
    [['1', null]],
    [['a,1:b', 'c']],
    [['a', 'b,1:c']],
    [[Buffer.from('a')]],
    [['a']],
    [[1], [2]],
    [[2], [2]],
    [],
  ] satisfies readonly (readonly (readonly CopiedValue[])[])[]
  const sums = different.map((rows) => sumOf(...rows))
  t.equal(new Set(sums).size, different.length, sums.join('\n'))
})

t.test('sums of the same value and another count differ', async (t) => {
  const [one, other] = [new RowSum(), new RowSum()]
  t.ok(one.isSame(other))
  one.add(Buffer.alloc(32))
  t.equal(one.toText(), other.toText())
  t.notOk(one.isSame(other))
  one.add(Buffer.alloc(32, 255))
  one.add(Buffer.alloc(32, 1))
  t.match(one.toText(), /^0{8}|^01010100/)
  t.equal(one.toText().length, 64)
})
