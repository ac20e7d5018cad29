/**
 * May this key act now, from here? Pure: the row, the address and the time come in.
 */
import ipaddr from 'ipaddr.js'
import { Refusal } from '../mail/refusal.js'
import type { ApiKeyRow, Scope } from './api-keys.js'
import type { Principal } from './principal.js'

/** Who acts with this key, or a refusal that says why it may not. */
export function admit(row: ApiKeyRow | undefined, wanted: Scope, remoteAddress: string, now: number): Principal {
  if (row === undefined || row.revoked_at !== null) throw new Refusal('bad-credentials', 'the key is wrong or revoked')
  if (row.expires_at !== null && row.expires_at <= now) throw new Refusal('bad-credentials', 'the key has expired')
  const scopes = JSON.parse(row.scopes) as readonly string[]
  if (!scopes.includes('full') && !scopes.includes(wanted)) {
    throw new Refusal('bad-credentials', `the key lacks the scope "${wanted}"`)
  }
  const networks = JSON.parse(row.allowed_networks) as readonly string[]
  if (networks.length > 0 && !networks.some((network) => contains(network, remoteAddress))) {
    throw new Refusal('bad-credentials', 'the key may not be used from this address')
  }
  return {
    workspaceId: row.workspace_id,
    keyId: row.id,
    allowedDomains: JSON.parse(row.allowed_domains) as readonly string[],
  }
}

/** Is `address` in the CIDR `network`? IPv4 that comes as IPv4-mapped IPv6 counts as IPv4. */
export function contains(network: string, address: string): boolean {
  if (!ipaddr.isValid(address) || !ipaddr.isValidCIDR(network)) return false
  const peer = ipaddr.process(address)
  const [base, bits] = ipaddr.parseCIDR(network)
  return peer.kind() === base.kind() && peer.match(base, bits)
}
