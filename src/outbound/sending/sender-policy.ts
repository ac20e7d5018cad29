/**
 * Decides which sender addresses may be used: those in verified domains of the workspace, within the domains that the
 * key allows. Pure over `domains`.
 */

import { type Address, domainOf } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import type { Principal } from '../../workspaces/accounts/access/principal.js'
import type { SendingDomain } from '../../workspaces/domains/rows/sending-domains.js'
import type { SendingDomainCache } from '../../workspaces/domains/sending-domain-cache.js'

type VerifiedDomains = Pick<SendingDomainCache, 'findVerified'>

/** The sender of the envelope; empty is the null reverse-path, which every principal may use. */
export function checkEnvelopeSender(principal: Principal, sender: Address | '', domains: VerifiedDomains): void {
  if (sender !== '') checkSender(principal, sender, 'sender', domains)
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
    const message = `${role} ${address}: ${domain} is not a verified domain of this workspace`
    throw new Refusal('sender-not-verified', message, details)
  }
  return verified
}
