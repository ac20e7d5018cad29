/**
 * What only a key without bounds may do: let in other people, or give more rights to one.
 *
 * Whoever comes in makes keys of their own, which the bounds of this key do not reach: so a key
 * that is bound to a date, networks, domains or scopes could make itself a free one.
 */
import { Refusal } from '../../mail/refusal.js'
import type { Read } from '../../storage/prepared.js'
import { parseJson } from '../../storage/tables/columns.js'
import type { Principal } from '../principal.js'
import { type ApiKeyRow, keyById } from './api-keys.js'
import { parseKeyLimits } from './key-limits.js'

/** As the fields of the key are called. */
export type KeyBound = 'expires_at' | 'allowed_networks' | 'allowed_domains' | 'scopes'

function findBounds(row: Pick<ApiKeyRow, KeyBound>): readonly KeyBound[] {
  const { expiresAt, allowedNetworks, allowedDomains } = parseKeyLimits(row)
  const scopes = parseJson(row.scopes)
  const found: readonly (readonly [bound: KeyBound, isBound: boolean])[] = [
    ['expires_at', expiresAt !== null],
    ['allowed_networks', allowedNetworks.length > 0],
    ['allowed_domains', allowedDomains.length > 0],
    ['scopes', !scopes.includes('full')],
  ]
  return found.filter(([, isBound]) => isBound).map(([bound]) => bound)
}

/** Throws a Refusal `forbidden` that names the bounds. `act`: what it is wanted for, as `invite`. */
export function requireUnbound(read: Read, { workspaceId, keyId }: Principal, act: string): void {
  if (keyId === null) return
  const [row] = keyById(read, { workspaceId, id: keyId })
  if (row === undefined) throw new Refusal('bad-credentials', 'the key is wrong or revoked')
  const bounds = findBounds(row)
  if (bounds.length === 0) return
  const message = `not permitted: a key with bounds may not ${act}, and this one has ${bounds.join(', ')}`
  throw new Refusal('forbidden', message, { bounds })
}
