/**
 * The text form of an SMSC's delivery receipt (SMPP 3.4, appendix B): `id:… sub:… dlvrd:… stat:DELIVRD err:… text:…`.
 *
 * SMSCs differ in the case, the order and the choice of fields. A control character ends a field, as a blank does.
 * Limits: the first 500 characters are read, and an id has at most 65. What follows `text:` is the message and is not
 * read.
 */
interface ReceiptText {
  /** Null: not there. */
  readonly id: string | null
  /** In capitals. */
  readonly stat: string | null
  readonly err: string | null
}

const MAX_LENGTH = 500
const MAX_ID_LENGTH = 65
const MAX_WORD_LENGTH = 20

export function parseReceiptText(text: string): ReceiptText {
  const fields = new Map<string, string>()
  for (const word of text.slice(0, MAX_LENGTH).split(/[\s\p{Cc}]/u)) {
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

/** Without characters that a log line should not repeat. */
function readWord(value: string | undefined): string | null {
  const word = value?.slice(0, MAX_WORD_LENGTH).replace(/[^A-Za-z0-9_-]/g, '') ?? ''
  return word === '' ? null : word
}
