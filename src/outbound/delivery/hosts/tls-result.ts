/** The result of one session with an MX host for the TLS policies of its domain (RFC 8460 section 4.3). */

export interface TlsSessionResult {
  /** The recipient's domain. */
  readonly domain: string
  readonly policy: AppliedPolicy
  /** Null if the session was as the policy demands, or if TLS was used where no policy demands it. */
  readonly failure: TlsFailure | null
  /** The address from which the session was opened. Null if none was opened. */
  readonly sendingAddress: string | null
  readonly receivingAddress: string | null
  readonly receivingHost: string | null
  readonly at: number
}

export interface AppliedPolicy {
  readonly type: 'tlsa' | 'sts' | 'no-policy-found'
  /** Lines of the policy file, or TLSA records in presentation form. Empty without a policy. */
  readonly strings: readonly string[]
  /** The host patterns of an MTA-STS policy. Empty for any other policy. */
  readonly hosts: readonly string[]
}

export interface TlsFailure {
  readonly type: TlsFailureType
  /** One line for people, at most 200 characters. May be empty. */
  readonly detail: string
}

/** RFC 8460, section 4.3. */
export type TlsFailureType =
  | 'starttls-not-supported'
  | 'certificate-host-mismatch'
  | 'certificate-expired'
  | 'certificate-not-trusted'
  | 'validation-failure'
  | 'tlsa-invalid'
  | 'dnssec-invalid'
  | 'dane-required'
  | 'sts-policy-fetch-error'
  | 'sts-policy-invalid'
  | 'sts-webpki-invalid'
