/**
 * The results of sender authentication, in the words of RFC 8601.
 *
 * They are made before a message is accepted, stored with it, and read by the acceptance policy, the spam score
 * and the API. Names and reasons in them are untrusted text: code that writes them into a header must quote
 * them.
 */

/** RFC 8601 section 2.7.2. */
export type SpfResult = 'pass' | 'fail' | 'softfail' | 'neutral' | 'none' | 'temperror' | 'permerror'
/** RFC 8601 section 2.7.1; an unsigned message has no verdict. */
export type DkimResult = 'pass' | 'fail' | 'policy' | 'temperror' | 'permerror'
/** RFC 7489 section 11.2. */
export type DmarcResult = 'pass' | 'fail' | 'none' | 'temperror' | 'permerror'
/** RFC 8617 section 4.4. We have added `temperror`: DNS gave no answer about the keys of the chain. */
type ArcResult = 'pass' | 'fail' | 'none' | 'temperror'
/** RFC 8601 section 2.7.3. */
type IprevResult = 'pass' | 'fail' | 'temperror' | 'permerror'

export interface SpfVerdict {
  readonly result: SpfResult
  /** HELO stands in for a null return path (RFC 7208 section 2.4). */
  readonly identity: 'mailfrom' | 'helo'
  /** Domain of the checked identity, or empty if it has none. */
  readonly domain: string
  readonly reason: string | null
  /** The domain owner's explanation of a `fail` (RFC 7208 section 6.2). */
  readonly explanation: string | null
}

export interface DkimVerdict {
  readonly result: DkimResult
  /** `d=` and `s=` as written, or empty if it is missing. */
  readonly domain: string
  readonly selector: string
  readonly reason: string | null
}

export type DmarcPolicy = 'none' | 'quarantine' | 'reject'

export interface DmarcVerdict {
  readonly result: DmarcResult
  /** The author's domain, or null if From has none, or more than one. */
  readonly domain: string | null
  /** The domain of the record. It is the author's or one above it. */
  readonly policyDomain: string | null
  /** The policy for this domain; subdomain policy and test mode are considered. */
  readonly policy: DmarcPolicy | null
  /** The action that the owner requests for this message: `none` unless it failed. */
  readonly disposition: DmarcPolicy
  readonly reason: string | null
}

export interface ArcVerdict {
  readonly result: ArcResult
  readonly reason: string | null
}

export interface IprevVerdict {
  readonly result: IprevResult
  /** The name of the address that resolves back to it. Null unless the result is `pass`. */
  readonly name: string | null
}

export interface Authentication {
  readonly spf: SpfVerdict
  /** They are in the order of the fields; signatures that were not verified come last. */
  readonly dkim: readonly DkimVerdict[]
  readonly dmarc: DmarcVerdict
  readonly arc: ArcVerdict
  readonly iprev: IprevVerdict
  /** RFC 5322 section 3.6 allows exactly one. */
  readonly fromFields: number
}

/** The SMTP connection that brought the message. */
export interface Connection {
  readonly clientAddress: string
  readonly helo: string
  /** Empty for the null return path. */
  readonly envelopeFrom: string
  /** Our host name: the authserv-id of the results that we write. */
  readonly hostname: string
}

/** One word for each check, as the interface shows them. */
interface ResultSummary {
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
