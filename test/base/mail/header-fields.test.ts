/** The header as fields with byte offsets. */
import fc from 'fast-check'
import t from 'tap'
import {
  findFields,
  type Header,
  readFieldValue,
  scanHeader,
  spliceHeader,
} from '../../../src/base/mail/header-fields.js'
import { oddMessages } from '../../fixtures/odd-messages.js'

function scanText(text: string): { readonly fields: readonly [string, string][]; readonly body: string | null } {
  const raw = Buffer.from(text)
  const header = scanHeader(raw)
  const fields = header.fields.map((field): [string, string] => [field.name, readFieldValue(raw, field)])
  return { fields, body: header.bodyStart === header.end ? null : raw.toString('utf8', header.bodyStart) }
}

t.test('fields are found with their folded lines', (t) => {
  t.strictSame(scanText('From: a\r\nSUBJECT :  b\r\n c\r\n\td \r\nX-Empty:\r\n\r\nbody: x\r\n'), {
    fields: [
      ['from', 'a'],
      ['subject', 'b c\td'],
      ['x-empty', ''],
    ],
    body: 'body: x\r\n',
  })
  t.end()
})

t.test('offsets are those of the bytes', (t) => {
  const raw = Buffer.from('A: 1\r\nBc \t:\r\n 2\r\n\r\nx')
  t.strictSame(scanHeader(raw), {
    fields: [
      { name: 'a', start: 0, colon: 1, end: 6 },
      { name: 'bc', start: 6, colon: 10, end: 17 },
    ],
    end: 17,
    bodyStart: 19,
  })
  t.end()
})

t.test('the header ends at an empty line, at the end, or at a line that is no field', (t) => {
  const cases: Record<string, { readonly names: string; readonly end: number; readonly bodyStart: number }> = {
    '': { names: '', end: 0, bodyStart: 0 },
    '\r\n': { names: '', end: 0, bodyStart: 2 },
    '\r\nA: 1\r\n': { names: '', end: 0, bodyStart: 2 },
    'A: 1': { names: 'a', end: 4, bodyStart: 4 },
    'A: 1\r\n': { names: 'a', end: 6, bodyStart: 6 },
    'A: 1\r\n\r\n': { names: 'a', end: 6, bodyStart: 8 },
    'A: 1\r\n \r\n\r\n': { names: 'a', end: 9, bodyStart: 11 },
    'A: 1\r\nno field\r\nB: 2\r\n': { names: 'a', end: 6, bodyStart: 6 },
    'A: 1\r\n: no name\r\n': { names: 'a', end: 6, bodyStart: 6 },
    'A: 1\r\nA b: no name\r\n': { names: 'a', end: 6, bodyStart: 6 },
    'A: 1\r\nÄ: no name\r\n': { names: 'a', end: 6, bodyStart: 6 },
    ' continues nothing\r\nA: 1\r\n': { names: '', end: 0, bodyStart: 0 },
    'A: 1\n\nbare': { names: 'a', end: 5, bodyStart: 6 },
  }
  for (const [text, { names, ...offsets }] of Object.entries(cases)) {
    const { fields, end, bodyStart } = scanHeader(Buffer.from(text))
    t.strictSame({ end, bodyStart }, offsets, JSON.stringify(text))
    t.equal(fields.map(({ name }) => name).join(), names, JSON.stringify(text))
  }
  t.end()
})

t.test('a header beyond the limits is refused', (t) => {
  t.equal(scanHeader(Buffer.from('a:\r\n'.repeat(10_000))).fields.length, 10_000)
  t.throws(() => scanHeader(Buffer.from('a:\r\n'.repeat(10_001))), { name: 'Refusal', kind: 'malformed-message' })
  t.end()
})

t.test('values are UTF-8, or Latin-1 where they are not', (t) => {
  const raw = Buffer.concat([Buffer.from('A: Grüße\r\nB: '), Buffer.from([0x47, 0xfc]), Buffer.from('\r\n')])
  t.strictSame(
    scanHeader(raw).fields.map((field) => readFieldValue(raw, field)),
    ['Grüße', 'Gü'],
  )
  t.end()
})

t.test('splicing removes and adds whole lines and keeps every other byte', (t) => {
  const raw = Buffer.from('A: 1\r\nBcc: x\r\n y\r\nC: 3\r\nbcc: z\r\n\r\nbody \r\n')
  const header = scanHeader(raw)
  const remove = findFields(header, 'bcc').toReversed()
  t.equal(remove.length, 2)
  const splice = { remove, prepend: 'R: ü\r\n', append: 'D: 4\r\n' }
  t.equal(spliceHeader(raw, header, splice).toString(), 'R: ü\r\nA: 1\r\nC: 3\r\nD: 4\r\n\r\nbody \r\n')
  t.equal(spliceHeader(raw, header, {}).toString(), raw.toString())
  t.end()
})

t.test('splicing writes the line ends that are missing', (t) => {
  const cases: Record<string, string> = {
    '': 'P: p\r\nE: e\r\n',
    '\r\nbody': 'P: p\r\nE: e\r\n\r\nbody',
    'A: 1': 'P: p\r\nA: 1\r\nE: e\r\n',
    'A: 1\r\nbody': 'P: p\r\nA: 1\r\nE: e\r\n\r\nbody',
    ' body': 'P: p\r\nE: e\r\n\r\n body',
  }
  for (const [text, expected] of Object.entries(cases)) {
    const raw = Buffer.from(text)
    const made = spliceHeader(raw, scanHeader(raw), { prepend: 'P: p\r\n', append: 'E: e\r\n' })
    t.equal(made.toString(), expected, JSON.stringify(text))
  }
  t.end()
})

function coversAll(raw: Buffer, { fields, end, bodyStart }: Header): boolean {
  const ends = [0, ...fields.map((field) => field.end)]
  const ordered = fields.every(({ start, colon, end }, at) => start === ends[at] && start < colon && colon < end)
  return ordered && ends.at(-1) === end && bodyStart >= end && bodyStart <= end + 2 && bodyStart <= raw.length
}

t.test('fields lie side by side for any bytes', (t) => {
  for (const { raw } of oddMessages(200, 3)) t.ok(coversAll(raw, scanHeader(raw)))
  const bytes = fc.array(fc.constantFrom('a', 'B:', ':', ' ', '\t', '\r\n', '\r', '\n', '\0', 'ü', '\r\n\r\n'))
  const property = fc.property(bytes, (parts) => {
    const raw = Buffer.from(parts.join(''))
    const header = scanHeader(raw)
    t.ok(coversAll(raw, header))
    t.ok(spliceHeader(raw, header, {}).includes(raw.subarray(header.end)))
    for (const field of header.fields) t.notMatch(readFieldValue(raw, field), /\n/)
  })
  fc.assert(property, { numRuns: 200, seed: 11 })
  t.end()
})
