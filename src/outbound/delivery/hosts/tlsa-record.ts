/**
 * TLSA records (RFC 6698) as RFC 7672 section 3.1 uses them for SMTP. Pure.
 *
 * Usages 2 (DANE-TA) and 3 (DANE-EE) are usable; 0 and 1, unknown values, and data of a wrong length are not.
 */
export interface TlsaRecord {
  /** 2 names an issuer, 3 the certificate of the server. */
  readonly usage: 2 | 3
  /** 0 selects the whole certificate, 1 its public key. */
  readonly selector: 0 | 1
  /** 0 compares the bytes themselves, 1 their SHA-256, 2 their SHA-512. */
  readonly matching: 0 | 1 | 2
  readonly data: Buffer
  /** The record in presentation form. */
  readonly text: string
}

/** Octets of the data for each matching type. 0 means that the length is not fixed. */
const sizes = [0, 32, 64] as const
/** The most records of one host that are read. */
const MAX_RECORDS = 100

/** Returns the strongest digests of each usage and selector (RFC 7671 section 9), and all that are no digests. */
export function listUsableRecords(texts: readonly string[]): readonly TlsaRecord[] {
  const usable = texts.slice(0, MAX_RECORDS).flatMap((text) => parseTlsa(text) ?? [])
  return usable.filter(
    (record) =>
      record.matching !== 1 ||
      !usable.some(
        (other) => other.matching === 2 && other.usage === record.usage && other.selector === record.selector,
      ),
  )
}

/** Parses a text such as `3 1 1 0123abcd…`. Returns null if the record is not usable. */
export function parseTlsa(text: string): TlsaRecord | null {
  const { fields, hex = '' } = /^(?<fields>[23] [01] [012]) (?<hex>[0-9a-f]+)$/.exec(text)?.groups ?? {}
  if (fields === undefined) return null
  const data = Buffer.from(hex, 'hex')
  const usage = fields.startsWith('2') ? 2 : 3
  const selector = fields[2] === '0' ? 0 : 1
  const matching = fields[4] === '0' ? 0 : fields[4] === '1' ? 1 : 2
  const size = sizes[matching]
  return size === 0 || data.length === size ? { usage, selector, matching, data, text } : null
}
