/**
 * The limits of a key (expiry, networks, domains, scopes), and what they forbid it.
 *
 * A key may make only keys with the same or narrower limits. A new key inherits the limits that are not requested. A
 * limited key sees only its own workspace and acts on it alone. It may neither invite people nor raise a member's
 * role, because the new administrator could make a key without limits. Only a key with the scope `full` may make
 * keys.
 */
import { Refusal } from '../../../base/mail/refusal.js'
import { containsNetwork, parseNetwork } from '../../../base/platform/ip-address.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import type { Principal } from '../access/principal.js'
import { type ApiKeyRow, keyById } from './api-keys.js'

/** Networks or domains of one key. */
export const MAX_LIMIT_ITEMS = 50

interface KeyLimits {
  /** Null means that the key never expires. */
  readonly expiresAt: number | null
  /** Networks as CIDRs. An empty list allows all addresses. */
  readonly allowedNetworks: readonly string[]
  /** An empty list allows all domains of the workspace. */
  readonly allowedDomains: readonly string[]
}

/** The limits of a session, which has no key. */
export const noLimits: KeyLimits = { expiresAt: null, allowedNetworks: [], allowedDomains: [] }

/** An undefined limit was not requested. */
type RequestedLimits = { readonly [Limit in keyof KeyLimits]: KeyLimits[Limit] | undefined }

export function parseKeyLimits(row: Pick<ApiKeyRow, 'expires_at' | 'allowed_networks' | 'allowed_domains'>): KeyLimits {
  return {
    expiresAt: row.expires_at,
    allowedNetworks: parseJson(row.allowed_networks),
    allowedDomains: parseJson(row.allowed_domains),
  }
}

/** Returns the limits of the new key. Throws a Refusal `forbidden` if one is wider than that of `own`. */
export function narrowLimits(own: KeyLimits, requested: RequestedLimits): KeyLimits {
  return {
    expiresAt: narrowExpiry(own.expiresAt, requested.expiresAt),
    allowedNetworks: narrowList('allowed_networks', own.allowedNetworks, requested.allowedNetworks, isWithinNetwork),
    allowedDomains: narrowList('allowed_domains', own.allowedDomains, requested.allowedDomains, (a, b) => a === b),
  }
}

function narrowExpiry(own: number | null, requested: number | null | undefined): number | null {
  if (requested === undefined) return own
  if (own !== null && (requested === null || requested > own))
    throw buildTooWideRefusal('expires_at', 'it would be valid longer')
  return requested
}

function narrowList(
  field: string,
  own: readonly string[],
  requested: readonly string[] | undefined,
  holds: (outer: string, inner: string) => boolean,
): readonly string[] {
  if (requested === undefined) return own
  if (own.length === 0) return requested
  if (requested.length === 0) throw buildTooWideRefusal(field, 'an empty list allows everything')
  const beyond = requested.find((inner) => !own.some((outer) => holds(outer, inner)))
  if (beyond !== undefined) throw buildTooWideRefusal(field, `the requesting key does not allow ${beyond}`)
  return requested
}

function buildTooWideRefusal(field: string, why: string): Refusal {
  return new Refusal('forbidden', `${field}: a key may not create a key with wider limits: ${why}`, { field })
}

function isWithinNetwork(outer: string, inner: string): boolean {
  const [outerNetwork, innerNetwork] = [parseNetwork(outer), parseNetwork(inner)]
  return outerNetwork !== null && innerNetwork !== null && containsNetwork(outerNetwork, innerNetwork)
}

/** The limits, by the names of the key's fields. */
type KeyBound = 'expires_at' | 'allowed_networks' | 'allowed_domains' | 'scopes'

function findBounds(row: Pick<ApiKeyRow, KeyBound>): readonly KeyBound[] {
  const { expiresAt, allowedNetworks, allowedDomains } = parseKeyLimits(row)
  const scopes = parseJson(row.scopes)
  const bounds: readonly (readonly [bound: KeyBound, isBound: boolean])[] = [
    ['expires_at', expiresAt !== null],
    ['allowed_networks', allowedNetworks.length > 0],
    ['allowed_domains', allowedDomains.length > 0],
    ['scopes', !scopes.includes('full')],
  ]
  return bounds.filter(([, isBound]) => isBound).map(([bound]) => bound)
}

/** The limits of the principal's key; a session has none. */
async function readBounds(read: Read, { workspaceId, keyId }: Principal): Promise<readonly KeyBound[]> {
  if (keyId === null) return []
  const [row] = await keyById(read, { workspaceId, id: keyId })
  if (row === undefined) throw new Refusal('bad-credentials', 'the key is wrong or revoked')
  return findBounds(row)
}

/** Tells whether the principal may see and act on every workspace of its user. A limited key reaches only its own. */
export async function reachesAllWorkspaces(read: Read, principal: Principal): Promise<boolean> {
  return (await readBounds(read, principal)).length === 0
}

/**
 * Throws a Refusal `forbidden` that names the limits of a limited key. `act` says what the key may not do, such as
 * `invite`.
 */
export async function requireUnbound(read: Read, principal: Principal, act: string): Promise<void> {
  const bounds = await readBounds(read, principal)
  if (bounds.length === 0) return
  const message = `not permitted: only an unrestricted key may ${act}, and this key has ${bounds.join(', ')}`
  throw new Refusal('forbidden', message, { bounds })
}
