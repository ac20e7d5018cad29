/** Receipts in optional parameters and in the text form. */
import fc from 'fast-check'
import t from 'tap'
import { decodePdu } from '../../../../src/workspaces/sms/smpp/pdu.js'
import { readDelivery, type SmppDelivery } from '../../../../src/workspaces/sms/smpp/read-delivery.js'
import { buildPdu, buildReceipt } from '../../../helpers/sms/smsc.js'

type Fields = Readonly<Record<string, string | number>>

const from = { source_addr: '1', destination_addr: '2' }

function readText(text: string, more: Fields = {}): SmppDelivery {
  return readDelivery(decodePdu(buildReceipt(text, more).toBuffer()))
}

function readParameters(fields: Fields): SmppDelivery {
  return readDelivery(decodePdu(buildPdu('deliver_sm', { ...from, ...fields }).toBuffer()))
}

t.test('text receipts', async (t) => {
  const cases: readonly (readonly [text: string, expected: Partial<SmppDelivery> & object])[] = [
    [
      'id:0123456789 sub:001 dlvrd:001 submit date:2601011200 done date:2601011201 stat:DELIVRD err:000 text:Code 1',
      { kind: 'receipt', id: '0123456789', state: 'delivered', reason: 'stat DELIVRD, err 000' },
    ],
    ['ID:ab_$-9 Stat:delivrd', { kind: 'receipt', id: 'ab_$-9', state: 'delivered', reason: 'stat DELIVRD' }],
    ['stat:UNDELIV id:7', { kind: 'receipt', id: '7', state: 'failed' }],
    ['id:7 stat:EXPIRED', { state: 'failed' }],
    ['id:7\u0001\u0085 stat:DELIVRD', { kind: 'receipt', id: '7', state: 'delivered' }],
    ['id:7 stat:DELETED', { state: 'failed' }],
    ['id:7 stat:REJECTD', { state: 'failed' }],
    ['id:7 stat:REJECTED err:abc', { state: 'failed', reason: 'stat REJECTED, err abc' }],
    ['id:7 stat:UNDELIVERABLE', { state: 'failed' }],
    ['id:7 stat:ACCEPTD', { kind: 'no-news', reason: 'stat ACCEPTD' }],
    ['id:7 stat:ENROUTE', { kind: 'no-news' }],
    ['id:7 stat:UNKNOWN', { kind: 'no-news' }],
    ['id:7', { kind: 'no-news', reason: 'stat missing' }],
    ['id: stat:DELIVRD', { kind: 'no-news', reason: 'it names no message' }],
    ['', { kind: 'no-news' }],
    ['text:id:7 stat:DELIVRD', { kind: 'no-news' }],
    ['id:7 Text:stat:DELIVRD stat:DELIVRD', { kind: 'no-news' }],
    ['id:7 id:8 stat:DELIVRD stat:UNDELIV', { id: '7', state: 'delivered' }],
    ['mid:7 stat:DELIVRD', { kind: 'no-news' }],
    [`id:${'7'.repeat(65)} stat:DELIVRD`, { kind: 'receipt' }],
    [`id:${'7'.repeat(66)} stat:DELIVRD`, { kind: 'no-news' }],
    ['id:7\r\nstat:DELIVRD\terr:1\0', { kind: 'receipt', id: '7', reason: 'stat DELIVRD, err 1' }],
    ['id:7 stat:DELIVRD err:"<\u001b>', { reason: 'stat DELIVRD' }],
  ]
  for (const [text, expected] of cases) t.match(readText(text), expected, text)
})

t.test('optional parameters come before the text', async (t) => {
  const states = [
    'no-news',
    'no-news',
    'delivered',
    'failed',
    'failed',
    'failed',
    'no-news',
    'no-news',
    'failed',
    'no-news',
  ]
  states.forEach((expected, message_state) => {
    const read = readParameters({ receipted_message_id: 'a1', message_state })
    t.equal(read.kind === 'receipt' ? read.state : read.kind, expected, `message_state ${message_state}`)
  })
  t.match(readText('id:text stat:UNDELIV err:5', { receipted_message_id: 'a1', message_state: 2 }), {
    id: 'a1',
    state: 'delivered',
    reason: 'stat DELIVRD, err 5',
  })
  t.match(readText('id:text stat:DELIVRD', { receipted_message_id: 'a1' }), { id: 'a1', state: 'delivered' })
  t.match(readText('id:text stat:DELIVRD', { message_state: 5 }), { id: 'text', state: 'failed' })
  t.match(readParameters({ esm_class: 4, message_payload: 'id:9 stat:DELIVRD', data_coding: 0 }), { id: '9' })
})

t.test('an id without the NUL at its end is read up to the next parameter', async (t) => {
  const bytes = buildPdu('deliver_sm', { ...from, receipted_message_id: 'ab', message_state: 2 }).toBuffer()
  const end = bytes.indexOf('ab\0')
  const cut = Buffer.concat([bytes.subarray(0, end + 2), bytes.subarray(end + 3)])
  cut.writeUInt32BE(cut.length, 0)
  cut.writeUInt16BE(2, end - 2)
  t.match(readDelivery(decodePdu(cut)), { id: 'ab', state: 'delivered' })
})

t.test('a phone cannot write a receipt', async (t) => {
  for (const esm_class of [0x00, 0x03, 0x40, 0x08, 0x10, 0x18])
    t.same(readText('id:7 stat:DELIVRD', { esm_class }), { kind: 'message' }, `esm_class ${esm_class}`)
  t.same(readText('id:7 stat:DELIVRD', { esm_class: 0x20 }), { kind: 'message' }, 'an intermediate notification')
  t.match(readText('id:7 stat:DELIVRD', { esm_class: 0x07 }), { kind: 'receipt' }, 'the mode does not matter')
})

t.test('each data_coding is read', async (t) => {
  for (const data_coding of [0, 1, 3, 4, 0xf1])
    t.match(readText('id:7 stat:DELIVRD', { data_coding }), { id: '7' }, `data_coding ${data_coding}`)
  const text = Buffer.from('id:7 stat:DELIVRD', 'utf16le').swap16().toString('latin1')
  t.match(readText(text, { data_coding: 8 }), { id: '7', state: 'delivered' })
})

t.test('any text is read without a fault, and no reason has characters that are not plain', async () => {
  const word = fc.oneof(
    fc.constantFrom('id:', 'stat:', 'err:', 'text:', 'DELIVRD', 'UNDELIV', '7', ' ', '\n', '\0', ':'),
    fc.string({ unit: 'binary', maxLength: 30 }),
  )
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), fc.nat(255), (words, data_coding) => {
      const text = Buffer.from(words.join(''), 'latin1').subarray(0, 254).toString('latin1')
      const read = readText(text, { data_coding })
      if (read.kind === 'message') return false
      return /^[\w ,-]*$/.test(read.reason) && (read.kind === 'no-news' || (read.id !== '' && read.id.length <= 65))
    }),
  )
})

t.test('any unit is read without a fault', async () => {
  const header = fc.tuple(fc.constantFrom(4, 5, 9, 0x15, 0x21, 0x103, 0x80000004, 0x80000005, 0x111), fc.nat())
  fc.assert(
    fc.property(header, fc.uint8Array({ maxLength: 400 }), ([command, sequence], body) => {
      const bytes = Buffer.concat([Buffer.alloc(16), body])
      bytes.writeUInt32BE(bytes.length, 0)
      bytes.writeUInt32BE(command, 4)
      bytes.writeUInt32BE(sequence, 12)
      const unit = decodePdu(bytes)
      readDelivery(unit)
      return unit.sequence === sequence && unit.isResponse === command >= 0x80000000
    }),
  )
})
