/** The addresses that mail leaves from, as the world sees them. Pure. */
import type { Config } from '../config/complete.js'
import { parseIpAddress } from '../platform/ip-address.js'
import type { CheckDeps } from './check.js'

export function isPublicAddress(address: string): boolean {
  return parseIpAddress(address)?.range() === 'unicast'
}

/**
 * The public ones among `outbound.source_addresses`; behind NAT, or without that setting, `service.public_addresses`;
 * without both the public addresses of the interfaces.
 */
export function listSourceAddresses({
  config,
  ownAddresses,
}: Pick<CheckDeps, 'ownAddresses'> & { readonly config: Pick<Config, 'outbound' | 'service'> }): readonly string[] {
  const configured = config.outbound.source_addresses.filter(isPublicAddress)
  if (configured.length > 0) return unique(configured)
  const { public_addresses: published } = config.service
  return unique(published.length > 0 ? published : ownAddresses.filter(isPublicAddress))
}

/** Each address once, in its canonical form. */
function unique(addresses: readonly string[]): readonly string[] {
  return [...new Set(addresses.map((address) => parseIpAddress(address)?.toString() ?? address))]
}

export function isSameAddress(one: string, other: string): boolean {
  return (parseIpAddress(one)?.toString() ?? one) === (parseIpAddress(other)?.toString() ?? other)
}
