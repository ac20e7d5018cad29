/**
 * Decides which sender addresses may be used: those in verified domains of the workspace, within the domains that the
 * key allows. Depends only on `domains`.
 */

import { type Address, type DomainName, domainOf, tryParseDomainName } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import type { Principal } from '../../workspaces/accounts/access/principal.js'
import type { SendingDomain } from '../../workspaces/domains/rows/sending-domains.js'
import type { SendingDomainCache } from '../../workspaces/domains/sending-domain-cache.js'

export type VerifiedDomains = Pick<SendingDomainCache, 'findVerified' | 'listVerified'>

/** Checks the sender of the envelope. Empty is the null reverse-path, which every principal may use. */
export function checkEnvelopeSender(principal: Principal, sender: Address | '', domains: VerifiedDomains): void {
  if (sender !== '') checkSender(principal, sender, 'sender', domains)
}

/** Verified domains that a refusal names. */
const NAMED_DOMAINS = 3

/** The first verified domains that the key may send from. */
function listUsable({ workspaceId, allowedDomains }: Principal, domains: VerifiedDomains): readonly DomainName[] {
  if (allowedDomains.length === 0) return domains.listVerified(workspaceId, NAMED_DOMAINS + 1)
  const allowed = allowedDomains.flatMap((domain) => tryParseDomainName(domain) ?? [])
  return allowed.filter((domain) => domains.findVerified(workspaceId, domain) !== undefined)
}

function describeCure(domain: DomainName, verified: readonly DomainName[]): string {
  if (verified.length === 0) return `add ${domain}, publish its DNS records and verify it`
  const more = verified.length > NAMED_DOMAINS ? ' and others' : ''
  return `send from ${verified.slice(0, NAMED_DOMAINS).join(', ')}${more}, or verify ${domain}`
}

/** The verified domain of `address`. Throws a Refusal unless the address may be used as `role`. */
export function checkSender(
  principal: Principal,
  address: Address,
  role: 'sender' | 'From',
  domains: VerifiedDomains,
): SendingDomain {
  const domain = domainOf(address)
  const details = { field: role.toLowerCase(), value: address }
  if (principal.allowedDomains.length > 0 && !principal.allowedDomains.includes(domain)) {
    throw new Refusal('forbidden', `${role} ${address}: this key may not send from ${domain}`, details)
  }
  const verified = domains.findVerified(principal.workspaceId, domain)
  if (verified === undefined) {
    const cure = describeCure(domain, listUsable(principal, domains))
    const message = `${role} ${address}: ${domain} is not a verified domain of this workspace; ${cure}`
    throw new Refusal('sender-not-verified', message, details)
  }
  return verified
}
