/**
 * Decides which hosts share one pace: the hosts of a known mailbox provider, else hosts whose names end in the same
 * registrable domain. The host of a route has a pace for itself.
 *
 * A machine that a provider lets to a customer, and the name that it gives to a customer's line, also have a pace for
 * themselves: the replies of customers must not slow down the mail of all others to the provider.
 */
import { isIP } from 'node:net'
import { providerOfHost } from '../../../base/mail/mailbox-providers.js'
import { findOwnerDomain } from '../../../base/mail/public-suffix.js'
import type { Host } from '../hosts/destination.js'

/** Labels above the names of rented machines: of Amazon, Hetzner, OVHcloud, GoDaddy and others. */
const machineLabels: ReadonlySet<string> = new Set(['compute', 'compute-1', 'elb', 'clients', 'vps', 'ip', 'dip'])
/** Matches the address of a machine in its name, such as `ec2-192-0-2-1` or `static.1.2.0.192`. */
const addressInName = /(?:^|\D)\d{1,3}(?:[.-]\d{1,3}){3}(?:\D|$)/

export function providerKeyOf({ mx, port, isRouted }: Pick<Host, 'mx' | 'port' | 'isRouted'>): string {
  if (isRouted === true) return `${mx}:${port}`
  if (isIP(mx) !== 0) return mx
  const provider = providerOfHost(mx)
  if (provider !== null) return isOfCustomer(mx) ? mx : provider
  // Private suffixes are included, because names under them belong to customers too.
  return findOwnerDomain(mx) ?? mx
}

function isOfCustomer(mx: string): boolean {
  const above = mx.toLowerCase().split('.').slice(1, -2)
  return above.some((label) => machineLabels.has(label)) || addressInName.test(mx)
}
