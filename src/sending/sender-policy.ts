/**
 * Who may be named as sender: only addresses in verified domains of the workspace that
 * the key may use. Pure over `verified`, which knows the workspace's domains.
 */
import type { Principal } from '../accounts/principal.js'
import { type Address, type DomainName, domainOf } from '../mail/address.js'
import { Refusal } from '../mail/refusal.js'

export type IsVerified = (workspaceId: string, domain: DomainName) => boolean

/** Throws a Refusal unless `address` may be used as `role` (envelope sender, From). */
export function checkSender(principal: Principal, address: Address, role: string, isVerified: IsVerified): void {
  const domain = domainOf(address)
  const details = { field: role.toLowerCase(), value: address }
  if (principal.allowedDomains.length > 0 && !principal.allowedDomains.includes(domain)) {
    throw new Refusal('forbidden', `${role} ${address}: this key may not send from ${domain}`, details)
  }
  if (!isVerified(principal.workspaceId, domain)) {
    const message = `${role} ${address}: ${domain} is not a verified domain of this workspace`
    throw new Refusal('sender-not-verified', message, details)
  }
}
