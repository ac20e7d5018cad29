/** Values of a loaded configuration from their texts. Throws for a text that `posthorn check` refuses. */
import { parseRoute, type Route } from '../../src/base/mail/route.js'
import { type DnsServer, parseDnsServer } from '../../src/base/platform/dns/transport.js'
import { type Network, parseNetwork } from '../../src/base/platform/ip-address.js'

export function networks(...texts: readonly string[]): readonly Network[] {
  return texts.map((text) => requireValue(text, parseNetwork(text)))
}

export function dnsServers(...texts: readonly string[]): readonly DnsServer[] {
  return texts.map((text) => requireValue(text, parseDnsServer(text)))
}

/** By domain or `*`. */
export function routes(texts: Readonly<Record<string, string>>): Readonly<Record<string, Route>> {
  return Object.fromEntries(
    Object.entries(texts).map(([domain, text]) => {
      const parsed = parseRoute(text)
      return [domain, requireValue(text, parsed.kind === 'route' ? parsed.route : null)]
    }),
  )
}

function requireValue<T>(text: string, value: T | null): T {
  if (value === null) throw new Error(`not a value of the configuration: ${text}`)
  return value
}
