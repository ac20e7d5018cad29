/**
 * Checks whether a name leads to this machine, before an order: a failed validation counts against a rate limit of the
 * ACME server.
 *
 * Each address of the name must be one of `service.public_addresses` or of a network interface, because the server
 * chooses the address that it connects to. Behind NAT without `public_addresses` the public address is unknown; then
 * any address will do.
 */

import type { Resolver } from '../../base/platform/dns/resolver.js'
import { parseIpAddress } from '../../base/platform/ip-address.js'

interface NameCheckDeps {
  readonly resolveAddresses: Resolver['resolveAddresses']
  readonly publicAddresses: readonly string[]
  /** The addresses of the network interfaces. */
  readonly readOwnAddresses: () => readonly string[]
}

/** Resolves to the reason why the name does not lead here. Null if it does. Never rejects if the resolver does not. */
export async function checkName(
  name: string,
  { resolveAddresses, publicAddresses, readOwnAddresses }: NameCheckDeps,
): Promise<string | null> {
  const found = await resolveAddresses(name)
  if (found.kind === 'failure') return `DNS does not answer for ${name}: ${found.detail}`
  if (found.kind === 'no-domain') return `${name} does not exist in DNS`
  if (found.kind === 'no-data') return `${name} has no A or AAAA record`
  const own = readOwnAddresses()
  const isUnknown = publicAddresses.length === 0 && !own.some(isPublic)
  const known = new Set([...publicAddresses, ...own].map(toUsualForm))
  const foreign = found.records.filter((address) => !known.has(toUsualForm(address)))
  if (foreign.length === 0 || isUnknown) return null
  return `${name} leads to ${foreign.join(', ')}, which is not an address of this machine (service.public_addresses)`
}

function isPublic(address: string): boolean {
  return parseIpAddress(address)?.range() === 'unicast'
}

function toUsualForm(address: string): string {
  return parseIpAddress(address)?.toString() ?? address
}
