/**
 * Decides what the policies of a recipient's domain say about TLS with one of its hosts: DANE (RFC 7672), which goes
 * before MTA-STS (RFC 8461).
 */

import type { AppliedPolicy, TlsFailureType } from './tls-result.js'
import type { TlsaRecord } from './tlsa-record.js'

export interface HostSecurity {
  readonly rule: TlsRule
  /** The name of the host is known by DNSSEC or by a policy, so that a valid certificate for it proves the host. */
  readonly isNameTrusted: boolean
  /** As reports show it. */
  readonly applied: AppliedPolicy
}

export type TlsRule =
  | { readonly kind: 'none' }
  | DaneRule
  /** A valid certificate for the name of the host. */
  | { readonly kind: 'sts-enforce' }
  /** What `enforce` would demand is only reported. `isListed`: the policy lists the host. */
  | { readonly kind: 'sts-testing'; readonly isListed: boolean }
  /** A valid certificate for the name of the host, because the message demands it (REQUIRETLS). */
  | { readonly kind: 'verified' }
  /** The host must not be called. `text`: a sentence without its full stop. */
  | {
      readonly kind: 'refused'
      readonly reason: 'dns' | 'tls'
      readonly text: string
      readonly failure: TlsFailureType
    }

interface DaneRule {
  readonly kind: 'dane'
  /** The TLSA base domain (RFC 7672 section 2.2), which is the name in SNI. */
  readonly base: string
  /** One of them must be in the certificate, for records of usage DANE-TA. */
  readonly names: readonly string[]
  /** Empty: none is usable, so encryption is required and no certificate is verified (RFC 7672 section 2.2). */
  readonly records: readonly TlsaRecord[]
}

export const noPolicy: AppliedPolicy = { type: 'no-policy-found', strings: [], hosts: [] }

export const noSecurity: HostSecurity = { rule: { kind: 'none' }, isNameTrusted: false, applied: noPolicy }

interface SecuredHost {
  readonly security?: HostSecurity | undefined
}

/** Absent in a host: no policy. */
export function securityOf({ security }: SecuredHost): HostSecurity {
  return security ?? noSecurity
}

/** Without TLS as the rule demands it, nothing is sent. */
export function demandsTls(host: SecuredHost): boolean {
  const { kind } = securityOf(host).rule
  return kind !== 'none' && kind !== 'sts-testing'
}

/** Sessions with one host are interchangeable if this is the same: they were verified in the same way. */
export function verificationKeyOf(host: SecuredHost): string {
  const { rule } = securityOf(host)
  if (rule.kind !== 'dane') return rule.kind
  return `dane ${rule.base} ${rule.names.join()} ${rule.records.map(({ text }) => text).join()}`
}
