/**
 * Finds the message that a receipt names. Some SMSCs write the id in decimal in receipts and in hexadecimal in
 * responses, or the other way round, or with other capitals or leading zeros.
 *
 * We keep ids of responses in memory, so a receipt that comes before the commit of its message never counts for
 * another message whose id happens to be the same number in the other notation. Limit: the newest 10,000 messages.
 * For older ones the receipt's id itself comes first, then the other ways to write it.
 */
import { createLruCache, type LruCache } from '../../../base/platform/lru-cache.js'

const MAX_RECENT = 10_000
/** An SMSC never uses longer numbers. */
const MAX_DIGITS = 40

export class MessageIds {
  private readonly exact: LruCache<true>
  private readonly decimal: LruCache<string>
  private readonly hexadecimal: LruCache<string>
  private areEqual = false

  constructor(max = MAX_RECENT) {
    this.exact = createLruCache<true>({ max })
    this.decimal = createLruCache<string>({ max })
    this.hexadecimal = createLruCache<string>({ max })
  }

  /** Records the id of a response. */
  recordId(id: string): void {
    this.exact.set(id, true)
    const [asDecimal, asHexadecimal] = [readDecimal(id), readHexadecimal(id)]
    if (asDecimal !== null) this.decimal.set(asDecimal.toString(), id)
    if (asHexadecimal !== null) this.hexadecimal.set(asHexadecimal.toString(), id)
  }

  /** Lists the ids that the response may have had, most likely first. */
  listCandidates(receiptId: string): readonly string[] {
    if (this.exact.has(receiptId)) {
      this.areEqual = true
      return [receiptId]
    }
    const { decimal, hexadecimal } = this
    const [asDecimal, asHexadecimal] = [readDecimal(receiptId)?.toString(), readHexadecimal(receiptId)?.toString()]
    const recent =
      (asDecimal === undefined ? undefined : (hexadecimal.get(asDecimal) ?? decimal.get(asDecimal))) ??
      (asHexadecimal === undefined ? undefined : (decimal.get(asHexadecimal) ?? hexadecimal.get(asHexadecimal)))
    if (recent !== undefined) return [recent]
    return this.areEqual ? [receiptId] : [...new Set([receiptId, ...listNotations(receiptId)])]
  }
}

function listNotations(id: string): readonly string[] {
  const [asDecimal, asHexadecimal] = [readDecimal(id), readHexadecimal(id)]
  return [
    ...(asDecimal === null ? [] : [...listHexadecimal(asDecimal), asDecimal.toString()]),
    ...(asHexadecimal === null ? [] : [asHexadecimal.toString(), ...listHexadecimal(asHexadecimal)]),
  ]
}

function listHexadecimal(value: bigint): readonly string[] {
  const plain = value.toString(16)
  const padded = plain.padStart(8, '0')
  return [plain, plain.toUpperCase(), padded, padded.toUpperCase()]
}

function readDecimal(id: string): bigint | null {
  return id.length <= MAX_DIGITS && /^[0-9]+$/.test(id) ? BigInt(id) : null
}

function readHexadecimal(id: string): bigint | null {
  return id.length <= MAX_DIGITS && /^[0-9a-f]+$/i.test(id) ? BigInt(`0x${id}`) : null
}
