/** The rows of a header are those that mailauth would read. */
import fc from 'fast-check'
import { parseHeaders } from 'mailauth/lib/tools.js'
import t from 'tap'
import { scanHeader } from '../../../../src/base/mail/header-fields.js'
import { listHeaderRows } from '../../../../src/inbound/receiving/authentication/header-rows.js'
import { selectSignatures } from '../../../../src/inbound/receiving/authentication/signature-fields.js'

/** Of a message whose header mailauth need not read; null: of any other. */
function compare(raw: Buffer): { readonly ours: unknown; readonly theirs: unknown } | null {
  const header = scanHeader(raw)
  const selected = selectSignatures(raw, header)
  if (selected.header === null) return null
  const readable = (rows: readonly { key: string; casedKey: string; line: Buffer }[]): unknown =>
    rows.map(({ key, casedKey, line }) => ({ key, casedKey, line: line.toString('latin1') }))
  const theirs = parseHeaders(raw.subarray(0, selected.bodyStart))
  return { ours: readable(listHeaderRows(raw, selected.header)), theirs: readable(theirs.parsed) }
}

const messages: readonly (readonly [what: string, text: string])[] = [
  ['usual fields', 'From: a@a.test\r\nSubject: x\r\n\r\nbody\r\n'],
  ['folded fields', 'Subject: one\r\n two\r\n\tthree: four\r\nTo: b\r\n\r\nbody\r\n'],
  ['blanks around the colon', 'From \t : a\r\nX:\r\n\r\n'],
  ['a line of blanks', 'From: a\r\n \r\nTo: b\r\n\t\r\n\r\nbody'],
  ['a header alone', 'From: a\r\nTo: b\r\n'],
  ['a header without its line end', 'From: a\r\nTo: b'],
  ['no header', '\r\nbody\r\n'],
  ['nothing', ''],
  ['other bytes', 'Subject: \xe4\xf6\xa0\x00\r\nFrom: \xff\r\n\r\n'],
  ['capitals', 'FROM: a\r\nX-Ab: b\r\nDKIM-SIGNATURE: v=1\r\n\r\n'],
]

for (const [what, text] of messages) {
  t.test(what, async (t) => {
    const compared = compare(Buffer.from(text, 'latin1'))
    t.ok(compared !== null)
    t.strictSame(compared?.ours, compared?.theirs)
  })
}

t.test('whatever the header is', async () => {
  const parts = ['From', 'x-A', ':', ' : ', '\r\n', '\r\n ', '\r\n\t', ' ', 'b', '\xff', '\x00', '!', 'Subject: x\r\n']
  const header = fc.array(fc.constantFrom(...parts), { maxLength: 40 }).map((pieces) => pieces.join(''))
  let compared = 0
  fc.assert(
    fc.property(header, (text) => {
      const found = compare(Buffer.from(`From: a\r\n${text}\r\n\r\nbody`, 'latin1'))
      if (found === null) return true
      compared += 1
      return JSON.stringify(found.ours) === JSON.stringify(found.theirs)
    }),
  )
  if (compared < 80) throw new Error(`only ${compared} compared`)
})
