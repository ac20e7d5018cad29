/**
 * Reads what an SMSC delivers, in deliver_sm or data_sm: a receipt, or a message that a phone has sent.
 *
 * A receipt names its message in optional parameters, or in its text if the unit has the mark of a receipt. A phone
 * can send the same text, but it sets neither the mark nor the parameters. Other marks, such as intermediate
 * notifications, are not final and say nothing.
 */
import type { Pdu } from './pdu.js'

export type SmppDelivery =
  | { readonly kind: 'receipt'; readonly id: string; readonly state: 'delivered' | 'failed'; readonly reason: string }
  /** A receipt that is not final, or that names no message. */
  | { readonly kind: 'no-news'; readonly reason: string }
  | { readonly kind: 'message' }

/** The bits of esm_class that say what kind of message it is (SMPP 3.4, 5.2.12). */
const KIND_BITS = 0x3c
const RECEIPT_BIT = 0x04
const MAX_ID_LENGTH = 65
const MAX_TEXT_LENGTH = 500
const MAX_WORD_LENGTH = 20

/** Values of message_state (SMPP 3.4, 5.2.28) as receipts in text form call them. */
const stateNames: Readonly<Record<number, string>> = {
  1: 'ENROUTE',
  2: 'DELIVRD',
  3: 'EXPIRED',
  4: 'DELETED',
  5: 'UNDELIV',
  6: 'ACCEPTD',
  7: 'UNKNOWN',
  8: 'REJECTD',
}
const deliveredNames = new Set(['DELIVRD', 'DELIVERED'])
const failedNames = new Set([
  'EXPIRED',
  'DELETED',
  'UNDELIV',
  'UNDELIVERABLE',
  'UNDELIVERED',
  'REJECTD',
  'REJECTED',
  'FAILED',
])

export function readDelivery({ fields }: Pdu): SmppDelivery {
  const marked = (numberOf(fields['esm_class']) & KIND_BITS) === RECEIPT_BIT
  const parameterId = readId(fields['receipted_message_id'])
  if (!marked && parameterId === null) return { kind: 'message' }
  const text = parseReceiptText(textOf(fields['short_message']) || textOf(fields['message_payload']))
  const id = parameterId ?? text.id
  const stat = stateNames[numberOf(fields['message_state'])] ?? text.stat
  const reason = `stat ${stat ?? 'missing'}${text.err === null ? '' : `, err ${text.err}`}`
  if (id === null) return { kind: 'no-news', reason: 'it names no message' }
  if (stat !== null && deliveredNames.has(stat)) return { kind: 'receipt', id, state: 'delivered', reason }
  if (stat !== null && failedNames.has(stat)) return { kind: 'receipt', id, state: 'failed', reason }
  return { kind: 'no-news', reason }
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

/** Some SMSCs leave out the NUL at the end of the id. The next parameter then begins with a control character. */
function readId(value: unknown): string | null {
  const id = typeof value === 'string' ? (value.split(/\p{Cc}/u, 1)[0] ?? '').trim() : ''
  return id === '' || id.length > MAX_ID_LENGTH ? null : id
}

/** The codec gives a text for encodings that it knows, and otherwise the octets. */
function textOf(value: unknown): string {
  if (typeof value !== 'object' || value === null || !('message' in value)) return ''
  const { message } = value
  if (typeof message === 'string') return message
  return Buffer.isBuffer(message) ? message.toString('latin1') : ''
}

interface ReceiptText {
  /** Null means that it is absent. */
  readonly id: string | null
  /** The state in capitals. */
  readonly stat: string | null
  readonly err: string | null
}

/**
 * Parses the text form of an SMSC's delivery receipt (SMPP 3.4, appendix B): `id:… sub:… dlvrd:… stat:DELIVRD err:… text:…`.
 *
 * SMSCs differ in the case, the order and the choice of fields. A control character ends a field, as a blank does.
 * Limits: the first 500 characters are read, and an id has at most 65. What follows `text:` is the message and is not
 * read.
 */
function parseReceiptText(text: string): ReceiptText {
  const fields = new Map<string, string>()
  for (const word of text.slice(0, MAX_TEXT_LENGTH).split(/[\s\p{Cc}]/u)) {
    const colon = word.indexOf(':')
    if (colon === -1) continue
    const name = word.slice(0, colon).toLowerCase()
    if (name === 'text') break
    if (!fields.has(name) && colon < word.length - 1) fields.set(name, word.slice(colon + 1))
  }
  const id = fields.get('id') ?? null
  return {
    id: id === null || id.length > MAX_ID_LENGTH ? null : id,
    stat: readWord(fields.get('stat'))?.toUpperCase() ?? null,
    err: readWord(fields.get('err')),
  }
}

/** Removes characters that a log line should not repeat. */
function readWord(value: string | undefined): string | null {
  const word = value?.slice(0, MAX_WORD_LENGTH).replace(/[^A-Za-z0-9_-]/g, '') ?? ''
  return word === '' ? null : word
}
