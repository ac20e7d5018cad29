/**
 * The authentication results of an inbound message, in the terms of RFC 8601.
 *
 * A value: made once before the message is accepted, stored with it, read by the policy, the spam score and the
 * API. Names and reasons in it are untrusted text: code that writes them into a header quotes them.
 */

/** RFC 8601 section 2.7.2. */
export type SpfResult = 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'temperror' | 'permerror'
/** RFC 8601 section 2.7.1; an unsigned message has no verdict. */
export type DkimResult = 'pass' | 'fail' | 'policy' | 'temperror' | 'permerror'
/** RFC 7489 section 11.2. */
export type DmarcResult = 'pass' | 'fail' | 'none' | 'temperror' | 'permerror'
/** RFC 8617 section 4.4; `temperror` is our addition, for a chain whose keys DNS did not return. */
export type ArcResult = 'pass' | 'fail' | 'none' | 'temperror'
/** RFC 8601 section 2.7.3. */
export type IprevResult = 'pass' | 'fail' | 'temperror' | 'permerror'

export interface SpfVerdict {
  readonly result: SpfResult
  /** HELO stands in for a null return path (RFC 7208 section 2.4). */
  readonly identity: 'mailfrom' | 'helo'
  /** The domain of the checked identity; empty if it has none. */
  readonly domain: string
  readonly reason: string | null
  /** The domain owner's explanation of a `fail` (RFC 7208 section 6.2). */
  readonly explanation: string | null
}

export interface DkimVerdict {
  readonly result: DkimResult
  /** `d=` and `s=` as written; empty if missing. */
  readonly domain: string
  readonly selector: string
  readonly reason: string | null
}

export type DmarcPolicy = 'none' | 'quarantine' | 'reject'

export interface DmarcVerdict {
  readonly result: DmarcResult
  /** The author's domain; null if From has none or more than one. */
  readonly domain: string | null
  /** The domain of the record: the author's or a parent of it. */
  readonly policyDomain: string | null
  /** The record's policy for this domain, with subdomain policy and testing considered. */
  readonly policy: DmarcPolicy | null
  /** What the owner requests for this message: `none` unless it failed. */
  readonly disposition: DmarcPolicy
  readonly reason: string | null
}

export interface ArcVerdict {
  readonly result: ArcResult
  readonly reason: string | null
}

export interface IprevVerdict {
  readonly result: IprevResult
  /** The name that the address maps to and that maps back to it; null unless `pass`. */
  readonly name: string | null
}

export interface Authentication {
  readonly spf: SpfVerdict
  /** In the order of the fields, followed by those that were not verified. */
  readonly dkim: readonly DkimVerdict[]
  readonly dmarc: DmarcVerdict
  readonly arc: ArcVerdict
  readonly iprev: IprevVerdict
  /** RFC 5322 section 3.6 allows exactly one. */
  readonly fromFields: number
}

/** How the message arrived. */
export interface Connection {
  readonly clientAddress: string
  readonly helo: string
  /** Empty: the null return path. */
  readonly envelopeFrom: string
  /** Our own: the authserv-id. */
  readonly hostname: string
}

/** One word for each check, as the interface shows them. */
export interface ResultSummary {
  readonly spf_result: 'pass' | 'fail' | 'neutral'
  readonly dkim_result: DkimResult | 'none'
  readonly dmarc_result: DmarcResult
}

const dkimRanking: readonly DkimResult[] = ['pass', 'fail', 'temperror', 'policy', 'permerror']

/** SPF is folded to three words; if there are several signatures, the best result counts. */
export function summarizeResults({ spf, dkim, dmarc }: Pick<Authentication, 'spf' | 'dkim' | 'dmarc'>): ResultSummary {
  return {
    spf_result: spf.result === 'pass' || spf.result === 'fail' ? spf.result : 'neutral',
    dkim_result: dkimRanking.find((word) => dkim.some(({ result }) => result === word)) ?? 'none',
    dmarc_result: dmarc.result,
  }
}
