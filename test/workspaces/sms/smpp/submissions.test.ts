/** The parameters of submit_sm. */
import t from 'tap'
import { buildSubmissions } from '../../../../src/workspaces/sms/smpp/submissions.js'
import { encodeText } from '../../../../src/workspaces/sms/text-encoding.js'

const now = Date.UTC(2026, 0, 1)
const message = { id: 'code-1', phone: '+41791234567', text: encodeText('x'), expiresAt: now + 600_000, receiptUrl: '' }
const context = { sender: 'Posthorn', now, reference: 300 }

t.test('the sender decides type and plan of the source', async (t) => {
  const cases = [
    ['Posthorn', 5, 0, 'Posthorn'],
    ['+41791234567', 1, 1, '41791234567'],
    ['12345', 3, 0, '12345'],
    ['1 Shop', 5, 0, '1 Shop'],
  ] as const
  for (const [sender, source_addr_ton, source_addr_npi, source_addr] of cases) {
    const [first] = buildSubmissions(message, { ...context, sender })
    t.match(first, { source_addr_ton, source_addr_npi, source_addr, destination_addr: '41791234567' })
  }
})

t.test('the validity ends when the code expires', async (t) => {
  const cases = [
    [600_000, '000000001000000R'],
    [59_000, '000000000100000R'],
    [-1, '000000000100000R'],
    [60_001, '000000000101000R'],
    [3_600_000, '000000010000000R'],
    [86_400_000 + 3_661_000, '000001010101000R'],
    [86_400_000 * 40, '000027000000000R'],
  ] as const
  for (const [remaining, expected] of cases) {
    const [first] = buildSubmissions({ ...message, expiresAt: now + remaining }, context)
    t.equal(first?.['validity_period'], expected, `${remaining} ms`)
  }
})

t.test('segments have at most 140 octets, or 160 septets', async (t) => {
  const edges = [
    ['x'.repeat(160), [160]],
    ['x'.repeat(161), [159, 14]],
    ['€'.repeat(80), [160]],
    ['€'.repeat(81), [158, 16]],
    ['х'.repeat(70), [140]],
    ['х'.repeat(71), [140, 14]],
    ['😀'.repeat(35), [140]],
    ['😀'.repeat(36), [138, 18]],
  ] as const
  for (const [text, sizes] of edges) {
    const built = buildSubmissions({ ...message, text: encodeText(text) }, context)
    const octets = built.map((each) => each['short_message'])
    t.same(
      octets.map((each) => (Buffer.isBuffer(each) ? each.length : -1)),
      sizes,
      text,
    )
  }
})

t.test('joined segments have a header with reference, count and number', async (t) => {
  const built = buildSubmissions({ ...message, text: encodeText('x'.repeat(400)) }, context)
  t.same(
    built.map((each) => [each['esm_class'], headerOf(each['short_message'])]),
    [1, 2, 3].map((number) => [0x40, Buffer.from([5, 0, 3, 44, 3, number])]),
  )
})

function headerOf(octets: unknown): Buffer {
  return Buffer.isBuffer(octets) ? octets.subarray(0, 6) : Buffer.alloc(0)
}
