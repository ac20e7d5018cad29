/**
 * Networks from which providers load the images of messages on behalf of their users.
 *
 * These lists age. A network that is missing here makes an open of a machine count as a person's; that is why agents
 * are looked at first. They cannot be fetched at run time: the daemon contacts nothing that it was not configured for.
 */
import { isInSomeNetwork, type Network, parseNetwork } from '../../base/platform/ip-address.js'

/**
 * Egress networks of Apple's Mail Privacy Protection, which shares them with iCloud Private Relay. Source:
 * https://mask-api.icloud.com/egress-ip-ranges.csv, as of February 2026: its 280,000 entries of three operators
 * (Akamai, Cloudflare, Fastly) in the smallest common networks. They also hold people who browse with Private
 * Relay, so a network alone decides nothing: see `machine.ts`.
 */
const APPLE_EGRESS_NETWORKS = parseAll([
  '104.28.0.0/16',
  '140.248.0.0/16',
  '146.75.128.0/17',
  '172.224.0.0/14',
  '2606:54c0::/30',
  '2a02:26f7::/32',
  '2a04:4e41::/32',
  '2a09:bac2::/31',
])

/**
 * Networks of Google's own servers, from which Gmail loads images, sometimes with the agent of a browser. Source:
 * the SPF records _netblocks.google.com, _netblocks2 and _netblocks3, as of 2025. Google Cloud's customers have
 * other networks.
 */
const GOOGLE_NETWORKS = parseAll([
  ...['64.233.160.0/19', '66.102.0.0/20', '66.249.80.0/20', '72.14.192.0/18', '74.125.0.0/16', '108.177.8.0/21'],
  ...['108.177.96.0/19', '172.217.0.0/19', '172.217.32.0/20', '172.217.128.0/19', '172.217.160.0/20'],
  ...['172.217.192.0/19', '172.253.56.0/21', '172.253.112.0/20', '173.194.0.0/16', '209.85.128.0/17'],
  ...['216.58.192.0/19', '216.239.32.0/19', '2001:4860:4000::/36', '2404:6800:4000::/36', '2607:f8b0:4000::/36'],
  ...['2800:3f0:4000::/36', '2a00:1450:4000::/36', '2c0f:fb50:4000::/36'],
])

export function isAppleEgress(address: string): boolean {
  return isInSomeNetwork(APPLE_EGRESS_NETWORKS, address)
}

export function isGoogleServer(address: string): boolean {
  return isInSomeNetwork(GOOGLE_NETWORKS, address)
}

function parseAll(texts: readonly string[]): readonly Network[] {
  return texts.map((text) => {
    const network = parseNetwork(text)
    if (network === null) throw new Error(`not a network: ${text}`)
    return network
  })
}
