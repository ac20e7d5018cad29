/**
 * The addresses of a URL's host that may be dialled. A connection to them alone, and to no address that a second look-up
 * finds, is what keeps requests away from private networks.
 */
import { isIP } from 'node:net'
import type { AddressGuard } from '../address-guard.js'
import type { Resolver } from '../dns/resolver.js'

interface HostRules {
  readonly mayConnect: AddressGuard
  readonly resolveAddresses: Resolver['resolveAddresses']
}

export type HostAddresses =
  | { readonly kind: 'addresses'; readonly addresses: readonly string[] }
  /** There are addresses, and none may be dialled. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'unresolved'; readonly reason: string }

/** Never rejects if `resolveAddresses` does not. */
export async function findHostAddresses(url: URL, { mayConnect, resolveAddresses }: HostRules): Promise<HostAddresses> {
  const literal = literalAddressOf(url)
  const found =
    literal === null ? await resolveAddresses(url.hostname) : ({ kind: 'records', records: [literal] } as const)
  if (found.kind === 'failure') return { kind: 'unresolved', reason: `DNS does not answer: ${found.detail}` }
  if (found.kind === 'no-domain') return { kind: 'unresolved', reason: 'the host does not exist' }
  if (found.kind === 'no-data') return { kind: 'unresolved', reason: 'the host has no address' }
  const addresses = found.records.filter(mayConnect)
  return addresses.length === 0 ? { kind: 'refused' } : { kind: 'addresses', addresses }
}

/** Null if the host is a name. `URL` has brought an address into its usual form, whatever its spelling was. */
export function literalAddressOf({ hostname }: URL): string | null {
  const plain = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  return isIP(plain) === 0 ? null : plain
}
