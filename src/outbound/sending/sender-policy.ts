/**
 * Decides which sender addresses may be used: those in verified domains of the workspace, within the domains that the
 * key allows. Depends only on `domains`.
 *
 * A key or trusted network with a `sender` may give any address. Those that may not be used are replaced by `sender`,
 * which is checked like every other address.
 */

import { type Address, type DomainName, domainOf, tryParseDomainName } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import type { Principal } from '../../workspaces/accounts/access/principal.js'
import type { SendingDomain } from '../../workspaces/domains/rows/sending-domains.js'
import type { SendingDomainCache } from '../../workspaces/domains/sending-domain-cache.js'

/** The workspace that sends, and the domains that its key may use. */
type SendingScope = Pick<Principal, 'workspaceId' | 'allowedDomains'>

export type VerifiedDomains = Pick<SendingDomainCache, 'findVerified' | 'listVerified'>

/** Checks the sender of the envelope. Empty is the null reverse-path, which every principal may use. */
export async function checkEnvelopeSender(
  principal: Principal,
  sender: Address | '',
  domains: VerifiedDomains,
): Promise<void> {
  const used = await chooseEnvelopeSender(principal, sender, domains)
  if (used !== '') await checkSender(principal, used, 'sender', domains)
}

/** Returns the envelope sender, or the address that replaces it. The null reverse-path stays. */
export async function chooseEnvelopeSender(
  principal: Principal,
  sender: Address | '',
  domains: VerifiedDomains,
): Promise<Address | ''> {
  return sender === '' || principal.sender === null || (await maySendFrom(principal, sender, domains))
    ? sender
    : principal.sender
}

/** Tells whether the address is in a verified domain that the key may use. */
export async function maySendFrom(
  principal: SendingScope,
  address: Address,
  domains: VerifiedDomains,
): Promise<boolean> {
  const domain = domainOf(address)
  const isAllowed = principal.allowedDomains.length === 0 || principal.allowedDomains.includes(domain)
  return isAllowed && (await domains.findVerified(principal.workspaceId, domain)) !== undefined
}

/** Verified domains that a refusal names. */
const NAMED_DOMAINS = 3

/** The first verified domains that the key may send from. */
async function listUsable(
  { workspaceId, allowedDomains }: SendingScope,
  domains: VerifiedDomains,
): Promise<readonly DomainName[]> {
  if (allowedDomains.length === 0) return domains.listVerified(workspaceId, NAMED_DOMAINS + 1)
  const allowed = allowedDomains.flatMap((domain) => tryParseDomainName(domain) ?? [])
  const usable: DomainName[] = []
  for (const domain of allowed) {
    if ((await domains.findVerified(workspaceId, domain)) !== undefined) usable.push(domain)
    if (usable.length > NAMED_DOMAINS) break
  }
  return usable
}

function describeCure(domain: DomainName, verified: readonly DomainName[]): string {
  if (verified.length === 0) return `add ${domain}, publish its DNS records and verify it`
  const more = verified.length > NAMED_DOMAINS ? ' and others' : ''
  return `send from ${verified.slice(0, NAMED_DOMAINS).join(', ')}${more}, or verify ${domain}`
}

/** The verified domain of `address`. Throws a Refusal unless the address may be used as `role`. */
export async function checkSender(
  principal: SendingScope,
  address: Address,
  role: 'sender' | 'From',
  domains: VerifiedDomains,
): Promise<SendingDomain> {
  const domain = domainOf(address)
  const details = { field: role.toLowerCase(), value: address }
  if (principal.allowedDomains.length > 0 && !principal.allowedDomains.includes(domain)) {
    throw new Refusal('forbidden', `${role} ${address}: this key may not send from ${domain}`, details)
  }
  const verified = await domains.findVerified(principal.workspaceId, domain)
  if (verified === undefined) {
    const cure = describeCure(domain, await listUsable(principal, domains))
    const message = `${role} ${address}: ${domain} is not a verified domain of this workspace; ${cure}`
    throw new Refusal('sender-not-verified', message, details)
  }
  return verified
}

/** Checks the `sender` of a new key. Throws a Refusal `invalid-parameter` or `sender-not-verified`. */
export async function checkKeySender(key: SendingScope, sender: Address, domains: VerifiedDomains): Promise<void> {
  const domain = domainOf(sender)
  if (key.allowedDomains.length > 0 && !key.allowedDomains.includes(domain)) {
    const message = `sender: ${domain} is not among the domains that this key may use; allowed: an address in one of them`
    throw new Refusal('invalid-parameter', message, { field: 'sender', value: sender })
  }
  await checkSender(key, sender, 'sender', domains)
}
