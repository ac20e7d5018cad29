/**
 * Decides what the policies of a recipient's domain say about TLS with one of its hosts: DANE (RFC 7672), which takes
 * precedence over MTA-STS (RFC 8461).
 */

import type { AppliedPolicy, TlsFailureType } from './tls-result.js'
import type { TlsaRecord } from './tlsa-record.js'

export interface HostSecurity {
  readonly rule: TlsRule
  /** True if DNSSEC or a policy proves the name of the host, so that a valid certificate for it proves the host. */
  readonly isNameTrusted: boolean
  /** The policy as reports show it. */
  readonly applied: AppliedPolicy
}

export type TlsRule =
  | { readonly kind: 'none' }
  | DaneRule
  /** The host must have a valid certificate for its name. */
  | { readonly kind: 'sts-enforce' }
  /** Reports tell what `enforce` would demand, and mail is sent. `isListed` tells whether the policy lists the host. */
  | { readonly kind: 'sts-testing'; readonly isListed: boolean }
  /** The host must have a valid certificate for its name, because the message demands it (REQUIRETLS). */
  | { readonly kind: 'verified' }
  /** The host must not be called. `text` is a sentence without its full stop. */
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
  /** For records of usage DANE-TA, the certificate must have one of these names. */
  readonly names: readonly string[]
  /** If empty, no record is usable, so encryption is required and no certificate is verified (RFC 7672 section 2.2). */
  readonly records: readonly TlsaRecord[]
}

export const noPolicy: AppliedPolicy = { type: 'no-policy-found', strings: [], hosts: [] }

export const noSecurity: HostSecurity = { rule: { kind: 'none' }, isNameTrusted: false, applied: noPolicy }

interface SecuredHost {
  readonly security?: HostSecurity | undefined
}

/** Returns the security of a host. A host without one has no policy. */
export function securityOf({ security }: SecuredHost): HostSecurity {
  return security ?? noSecurity
}

/** Tells whether the host gets nothing unless TLS is as the rule demands. */
export function demandsTls(host: SecuredHost): boolean {
  const { kind } = securityOf(host).rule
  return kind !== 'none' && kind !== 'sts-testing'
}

/** Returns a key of how a session is verified. Sessions with one host are interchangeable if their keys are equal. */
export function verificationKeyOf(host: SecuredHost): string {
  const { rule } = securityOf(host)
  if (rule.kind !== 'dane') return rule.kind
  return `dane ${rule.base} ${rule.names.join()} ${rule.records.map(({ text }) => text).join()}`
}
