/**
 * What a key that makes a key may give it: at most what it has itself. Pure.
 *
 * Without this a key that is bound to a network, a domain or a date could make itself a
 * free one. Scopes need no rule here: only scope `full` may make keys. What is not asked
 * for is taken over from the key that asks.
 */
import { Refusal } from '../../mail/refusal.js'
import { containsNetwork, parseNetwork } from '../../platform/ip-address.js'
import { parseJson } from '../../storage/tables/columns.js'
import type { ApiKeyRow } from './api-keys.js'

export interface KeyLimits {
  /** Null: never. */
  readonly expiresAt: number | null
  /** CIDRs; empty: from anywhere. */
  readonly allowedNetworks: readonly string[]
  /** Empty: all of the workspace. */
  readonly allowedDomains: readonly string[]
}

/** Undefined: not asked for. */
export type RequestedLimits = { readonly [Limit in keyof KeyLimits]: KeyLimits[Limit] | undefined }

export function parseKeyLimits(row: Pick<ApiKeyRow, 'expires_at' | 'allowed_networks' | 'allowed_domains'>): KeyLimits {
  return {
    expiresAt: row.expires_at,
    allowedNetworks: parseJson(row.allowed_networks),
    allowedDomains: parseJson(row.allowed_domains),
  }
}

/** The limits of the new key; throws a Refusal `forbidden` where it would be wider than `own`. */
export function narrowLimits(own: KeyLimits, wanted: RequestedLimits): KeyLimits {
  return {
    expiresAt: narrowExpiry(own.expiresAt, wanted.expiresAt),
    allowedNetworks: narrowList('allowed_networks', own.allowedNetworks, wanted.allowedNetworks, isWithinNetwork),
    allowedDomains: narrowList('allowed_domains', own.allowedDomains, wanted.allowedDomains, (a, b) => a === b),
  }
}

function narrowExpiry(own: number | null, wanted: number | null | undefined): number | null {
  if (wanted === undefined) return own
  if (own !== null && (wanted === null || wanted > own))
    throw buildTooWideRefusal('expires_at', 'it would outlast the key')
  return wanted
}

function narrowList(
  field: string,
  own: readonly string[],
  wanted: readonly string[] | undefined,
  holds: (outer: string, inner: string) => boolean,
): readonly string[] {
  if (wanted === undefined) return own
  if (own.length === 0) return wanted
  if (wanted.length === 0) throw buildTooWideRefusal(field, 'an empty list allows all')
  const beyond = wanted.find((inner) => !own.some((outer) => holds(outer, inner)))
  if (beyond !== undefined) throw buildTooWideRefusal(field, `${beyond} is not allowed to the key`)
  return wanted
}

function buildTooWideRefusal(field: string, why: string): Refusal {
  return new Refusal('forbidden', `${field}: a key may not make one that may do more than itself; ${why}`, { field })
}

function isWithinNetwork(outer: string, inner: string): boolean {
  const [outerNetwork, innerNetwork] = [parseNetwork(outer), parseNetwork(inner)]
  return outerNetwork !== null && innerNetwork !== null && containsNetwork(outerNetwork, innerNetwork)
}
