/**
 * The dialogue of a connection, for `posthorn explain`: its opening and its last transaction.
 *
 * Invariants: it has at most 8 KB, and no message bytes and no credentials (callers leave them out). Each part has a
 * limit, so that a long greeting cannot displace the reply that matters. If there are several connections, the last
 * ones are kept.
 */
import { truncateUtf8 } from './printable-text.js'

export const MAX_TRANSCRIPT = 8192

const MAX_OPENING = 3000
const MAX_TRANSACTION = MAX_TRANSCRIPT - MAX_OPENING
/** The most characters of a line. Twelve such lines fit into a transaction. */
const MAX_LINE = 400

export class Transcript {
  private opening = ''
  private transaction = ''
  private inTransaction = false

  /** Begins a transaction, whose lines replace those of the one before. */
  beginTransaction(): void {
    this.inTransaction = true
    this.transaction = ''
  }

  logSent(line: string): void {
    this.add(`> ${line}`)
  }

  logReceived(line: string): void {
    this.add(`< ${line}`)
  }

  /** Logs an event that is neither command nor reply, such as `* connected`. */
  logEvent(line: string): void {
    this.add(`* ${line}`)
  }

  toString(): string {
    return this.opening + this.transaction
  }

  private add(line: string): void {
    const text = `${truncateUtf8(line, MAX_LINE)}\n`
    if (this.inTransaction) this.transaction = appendWithin(this.transaction, text, MAX_TRANSACTION)
    else this.opening = appendWithin(this.opening, text, MAX_OPENING)
  }
}

/** Appends `line` if there is room for it. */
function appendWithin(text: string, line: string, limit: number): string {
  return Buffer.byteLength(text) + Buffer.byteLength(line) <= limit ? text + line : text
}

/** Joins the transcripts of one attempt, in the order of its connections. */
export function joinTranscripts(parts: readonly string[]): string {
  const text = parts.filter((part) => part !== '').join('\n')
  if (Buffer.byteLength(text) <= MAX_TRANSCRIPT) return text
  const bytes = Buffer.from(text)
  const cut = bytes.indexOf(0x0a, bytes.length - MAX_TRANSCRIPT) + 1
  return bytes.toString('utf8', cut)
}
