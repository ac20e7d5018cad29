/** The addresses that mail leaves from, as the world sees them. Pure. */
import type { Config } from '../../base/config/complete.js'
import { listConfiguredSources } from '../../base/config/configured-sources.js'
import { parseIpAddress } from '../../base/platform/ip-address.js'
import type { CheckDeps } from './check.js'

export function isPublicAddress(address: string): boolean {
  return parseIpAddress(address)?.range() === 'unicast'
}

/**
 * The public ones among `outbound.source_addresses` and `outbound.sources`; behind NAT, or without these settings,
 * `service.public_addresses`; without both the public addresses of the interfaces.
 */
export function listSourceAddresses({
  config,
  ownAddresses,
}: Pick<CheckDeps, 'ownAddresses'> & { readonly config: Pick<Config, 'outbound' | 'service'> }): readonly string[] {
  const configured = listConfiguredSources(config.outbound).flatMap(({ address }) =>
    isPublicAddress(address) ? [address] : [],
  )
  if (configured.length > 0) return unique(configured)
  const { public_addresses: published } = config.service
  return unique(published.length > 0 ? published : ownAddresses.filter(isPublicAddress))
}

type Names = Pick<Config, 'outbound' | 'service'>

/** The name that sessions from this address say at EHLO. */
export function findHelloName({ outbound, service }: Names, address: string): string {
  const source = listConfiguredSources(outbound).find((own) => isSameAddress(own.address, address))
  return source?.hello ?? service.hostname
}

/** Lists each address once, in its canonical form. */
function unique(addresses: readonly string[]): readonly string[] {
  return [...new Set(addresses.map((address) => parseIpAddress(address)?.toString() ?? address))]
}

export function isSameAddress(one: string, other: string): boolean {
  return (parseIpAddress(one)?.toString() ?? one) === (parseIpAddress(other)?.toString() ?? other)
}
