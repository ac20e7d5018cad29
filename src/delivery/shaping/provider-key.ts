/**
 * Which hosts share one pace: those of a known mailbox provider, else those whose names end in the same registrable
 * domain. A host of a route stands for itself.
 */
import { isIP } from 'node:net'
import { getDomain } from 'tldts'
import { providerOfHost } from '../../mail/mailbox-providers.js'
import type { Host } from '../hosts/destination.js'

export function providerKeyOf({ mx, port, isRouted }: Pick<Host, 'mx' | 'port' | 'isRouted'>): string {
  if (isRouted === true) return `${mx}:${port}`
  if (isIP(mx) !== 0) return mx
  return providerOfHost(mx) ?? getDomain(mx, { allowPrivateDomains: false }) ?? mx
}
