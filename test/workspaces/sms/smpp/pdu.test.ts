/** The codec of SMPP units. */
import t from 'tap'
import { decodePdu, encodeGsmOctets, encodePdu, statusNameOf } from '../../../../src/workspaces/sms/smpp/pdu.js'

t.test('the GSM default alphabet and its extension (3GPP TS 23.038, 6.2.1)', async (t) => {
  const rows = [
    '@£$¥èéùìòÇ\nØø\rÅå',
    'Δ_ΦΓΛΩΠΨΣΘΞ\u001bÆæßÉ',
    ' !"#¤%&\'()*+,-./',
    '0123456789:;<=>?',
    '¡ABCDEFGHIJKLMNO',
    'PQRSTUVWXYZÄÖÑÜ§',
    '¿abcdefghijklmno',
    'pqrstuvwxyzäöñüà',
  ]
  for (const [place, character] of [...rows.join('')].entries()) {
    if (character !== '\u001b') t.same(encodeGsmOctets(character), Buffer.from([place]), character)
  }
  const extension = {
    '\f': 0x0a,
    '^': 0x14,
    '{': 0x28,
    '}': 0x29,
    '\\': 0x2f,
    '[': 0x3c,
    '~': 0x3d,
    ']': 0x3e,
    '|': 0x40,
    '€': 0x65,
  }
  for (const [character, octet] of Object.entries(extension)) {
    t.same(encodeGsmOctets(character), Buffer.from([0x1b, octet]), character)
  }
})

t.test('a unit is what was encoded', async (t) => {
  const fields = { system_id: 'posthorn', password: 'x', interface_version: 0x34 }
  const bytes = encodePdu({ command: 'bind_transceiver', sequence: 7, fields })
  t.equal(bytes.readUInt32BE(0), bytes.length)
  t.match(decodePdu(bytes), { command: 'bind_transceiver', isResponse: false, status: 0, sequence: 7, fields })
  const refusal = encodePdu({ command: 'deliver_sm_resp', sequence: 0x7fff_ffff, status: 0x64 })
  t.equal(refusal.length, 16, 'a refusal has no body')
  t.match(decodePdu(refusal), { command: 'deliver_sm_resp', isResponse: true, status: 0x64, sequence: 0x7fff_ffff })
})

t.test('what cannot be read has its sequence number', async (t) => {
  const unknown = Buffer.from('0000001000000f0f000000000000000b', 'hex')
  t.match(decodePdu(unknown), { command: 'unknown', isResponse: false, sequence: 11 })
  const cut = Buffer.from('0000001200000005000000000000000c0000', 'hex')
  t.match(decodePdu(cut), { command: 'deliver_sm', sequence: 12 })
  const empty = Buffer.concat([
    Buffer.from('0000002500000005000000000000000d', 'hex'),
    Buffer.alloc(17),
    Buffer.from('03810000', 'hex'),
  ])
  t.match(decodePdu(empty), { command: 'malformed', isResponse: false, sequence: 13 })
})

t.test('statuses have the names of the specification', async (t) => {
  const names = { 0: 'ESME_ROK', 14: 'ESME_RINVPASWD', 20: 'ESME_RMSGQFUL', 88: 'ESME_RTHROTTLED' }
  for (const [status, name] of Object.entries(names)) t.equal(statusNameOf(Number(status)), name)
  t.equal(statusNameOf(0x400), 'status 0x00000400')
})
