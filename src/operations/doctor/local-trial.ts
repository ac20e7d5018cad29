/**
 * Recognises a *local trial*, such as the quickstart: no other machine connects to it, its mail goes to a host on this
 * machine, and its name cannot be in the public DNS. Pure.
 */
import type { Config } from '../../base/config/complete.js'
import { isLoopback } from '../../base/platform/ip-address.js'
import type { Check } from './check.js'

type TrialConfig = Pick<Config, 'service' | 'api' | 'submission' | 'inbound' | 'outbound'>

/** Endings that the public DNS never has (RFC 6761 section 6). */
const RESERVED = /\.(?:test|example|invalid|localhost)$/

export function isLocalTrial({ service, api, submission, inbound, outbound }: TrialConfig): boolean {
  const relay = outbound.routes['*']?.host
  const hosts = [
    ...api.listen.flatMap((listen) => (listen.kind === 'unix' ? [] : [listen.host])),
    ...[...submission.listen, ...submission.listen_tls, ...inbound.listen].map(({ host }) => host),
  ]
  return RESERVED.test(service.hostname) && relay !== undefined && [relay, ...hosts].every(isLocal)
}

function isLocal(host: string): boolean {
  return host === 'localhost' || isLoopback(host)
}

/** The checks of what only the public DNS, other servers and public authorities know. */
const publicChecks: ReadonlySet<string> = new Set([
  ...['dns', 'dnssec', 'source', 'ptr', 'helo', 'port25-out', 'port25-in', 'blocklist', 'tls', 'acme'],
  ...['delegation', 'zone', 'service-dkim', 'mta-sts', 'spf', 'dkim', 'dmarc', 'mx'],
])

/** Leaves out the checks that say nothing about a local trial. */
export function chooseChecks(checks: readonly Check[], config: TrialConfig): readonly Check[] {
  return isLocalTrial(config) ? checks.filter(({ name }) => !publicChecks.has(name)) : checks
}
