/**
 * Decides whom a message with a report about a domain is from, and whose domain it is about. Anyone may write to
 * `dmarc@` and `tlsrpt@`, so a report counts only if authentication proved a domain for its message, and is filed under
 * the organizational domain of that: what it says about its author is shown, and believed by no one.
 */

import { type DomainName, tryParseDomainName } from '../../../base/mail/address.js'
import type { Authentication } from '../../../base/mail/authentication-results.js'
import { findRegistryDomain } from '../../../base/mail/public-suffix.js'

/** Parents are looked for among so many last labels of a name. */
const MAX_LABELS = 10

/** The author's domain if DMARC passed, else that of a signature, else that of the return path. Null if none passed. */
export function findReporter({ dmarc, dkim = [], spf }: Partial<Authentication>): string | null {
  const author = dmarc?.result === 'pass' ? dmarc.domain : null
  const signer = dkim.find(({ result, domain }) => result === 'pass' && domain !== '')?.domain
  const sender = spf?.result === 'pass' && spf.domain !== '' ? spf.domain : null
  const proved = author ?? signer ?? sender
  if (proved === null) return null
  const name = proved.toLowerCase()
  return findRegistryDomain(name) ?? name
}

/** The name and those above it, the nearest first, without top-level domains. */
export function listEnclosingNames(name: string): readonly DomainName[] {
  const labels = name.split('.').slice(-MAX_LABELS)
  return labels.slice(0, -1).flatMap((_, at) => tryParseDomainName(labels.slice(at).join('.')) ?? [])
}
