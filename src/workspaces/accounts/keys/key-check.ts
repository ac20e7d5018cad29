/** Decides whether a key may be used now and from this address. Pure. */
import { Refusal } from '../../../base/mail/refusal.js'
import { isInSomeNetwork, parseNetwork } from '../../../base/platform/ip-address.js'
import type { Role } from '../../../base/storage/tables/account-tables.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import type { Principal } from '../access/principal.js'
import type { ApiKeyRow } from './api-keys.js'

/** A key with the present role of its member. The role is null when the user is no longer a member. */
export type KeyWithRole = ApiKeyRow & { readonly role: Role | null }

/**
 * Returns the principal of this key. Throws a Refusal: `bad-credentials`, `key-expired`, or `forbidden` for the
 * address.
 */
export function authenticateKey(row: KeyWithRole | undefined, remoteAddress: string, now: number): Principal {
  if (row === undefined || row.revoked_at !== null || row.role === null) {
    throw new Refusal('bad-credentials', 'the key is wrong or revoked')
  }
  if (row.expires_at !== null && row.expires_at <= now) throw new Refusal('key-expired', 'the key has expired')
  const allowedNetworks = parseJson(row.allowed_networks)
  const networks = allowedNetworks.flatMap((text) => parseNetwork(text) ?? [])
  if (allowedNetworks.length > 0 && !isInSomeNetwork(networks, remoteAddress)) {
    throw new Refusal('forbidden', 'the key may not be used from this address')
  }
  return {
    workspaceId: row.workspace_id,
    keyId: row.id,
    userId: row.user_id,
    role: row.role,
    scopes: parseJson(row.scopes),
    allowedDomains: parseJson(row.allowed_domains),
    sender: row.sender,
  }
}
