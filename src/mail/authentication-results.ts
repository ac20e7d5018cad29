/**
 * What we found out about where a message comes from, in the words of RFC 8601.
 *
 * A value: made once before the message is taken, kept with it, read by the policy, by the
 * spam score and by the API. Names and reasons in it are a stranger's text: whoever writes
 * them into a header quotes them.
 */

/** RFC 8601 section 2.7.2. */
export type SpfResult = 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'temperror' | 'permerror'
/** RFC 8601 section 2.7.1; an unsigned message has no verdict at all. */
export type DkimResult = 'pass' | 'fail' | 'policy' | 'temperror' | 'permerror'
/** RFC 7489 section 11.2. */
export type DmarcResult = 'pass' | 'fail' | 'none' | 'temperror' | 'permerror'
/** RFC 8617 section 4.4; `temperror` is ours, for a chain whose keys DNS would not give. */
export type ArcResult = 'pass' | 'fail' | 'none' | 'temperror'
/** RFC 8601 section 2.7.3. */
export type IprevResult = 'pass' | 'fail' | 'temperror' | 'permerror'

export interface SpfVerdict {
  readonly result: SpfResult
  /** HELO stands in for a null return path (RFC 7208 section 2.4). */
  readonly identity: 'mailfrom' | 'helo'
  /** Of the identity that was checked; empty: it has none. */
  readonly domain: string
  readonly reason: string | null
  /** What the domain's owner says of a `fail` (RFC 7208 section 6.2). */
  readonly explanation: string | null
}

export interface DkimVerdict {
  readonly result: DkimResult
  /** `d=` and `s=` as they were written; empty: not there. */
  readonly domain: string
  readonly selector: string
  readonly reason: string | null
}

export type DmarcPolicy = 'none' | 'quarantine' | 'reject'

export interface DmarcVerdict {
  readonly result: DmarcResult
  /** Of the author; null: From has none, or more than one. */
  readonly domain: string | null
  /** Where the record was found: the domain itself or one above it. */
  readonly policyDomain: string | null
  /** What the record says of this domain, subdomains and testing considered. */
  readonly policy: DmarcPolicy | null
  /** What the owner asks us to do with this message: `none` unless it failed. */
  readonly disposition: DmarcPolicy
  readonly reason: string | null
}

export interface ArcVerdict {
  readonly result: ArcResult
  readonly reason: string | null
}

export interface IprevVerdict {
  readonly result: IprevResult
  /** The name that the address has and that has the address; null unless `pass`. */
  readonly name: string | null
}

export interface Authentication {
  readonly spf: SpfVerdict
  /** In the order of the fields; behind them those that were not verified. */
  readonly dkim: readonly DkimVerdict[]
  readonly dmarc: DmarcVerdict
  readonly arc: ArcVerdict
  readonly iprev: IprevVerdict
  /** RFC 5322 section 3.6 allows exactly one. */
  readonly fromFields: number
}

/** How it came. */
export interface Connection {
  readonly clientAddress: string
  readonly helo: string
  /** Empty: the null return path. */
  readonly envelopeFrom: string
  /** Ours: the first word of what we write. */
  readonly hostname: string
}
