/**
 * Opens sessions with what is remembered of the host: an unreachable host is not called for a while,
 * and broken TLS falls back to plain text where that is allowed.
 *
 * If a host has an open session with us and refuses another connection, it is at its limit and not
 * down: that is not remembered as an outage.
 */
import { isIPv6 } from 'node:net'
import type { Clock } from '../../platform/clock.js'
import type { Host } from '../hosts/destination.js'
import type { Outage, UnreachableHosts } from '../hosts/unreachable-hosts.js'
import { type OpenResult, openSession, type SmtpClientDeps } from '../smtp/smtp-client.js'
import { joinTranscripts } from '../smtp/transcript.js'
import type { TlsSessionResult } from '../transport-security/tls-result.js'
import { describeSession } from './opportunistic-result.js'
import { BrokenTlsHosts, mayFallBackToPlain } from './tls-policy.js'

interface OpenOptions {
  readonly signal: AbortSignal
  /** The recipient's domain, whose TLS reports count the session; null: none does. */
  readonly reportedDomain: string | null
  /** The host is called even if it is remembered as unreachable. */
  readonly ignoreOutages: boolean
  /** Is there an open session with the host? */
  readonly hasSession: () => boolean
}

export type OpenSession = (host: Host, options: OpenOptions) => Promise<OpenResult | Outage>

interface OpenerDeps extends SmtpClientDeps {
  readonly clock: Clock
  readonly unreachableHosts: UnreachableHosts
  /** Called once for each session whose TLS says something about a policy of its domain. */
  readonly onTlsResult?: ((result: TlsSessionResult) => void) | undefined
}

export function createSessionOpener(deps: OpenerDeps): OpenSession {
  const { unreachableHosts, clock } = deps
  const brokenTls = new BrokenTlsHosts()
  return async (host, { signal, ignoreOutages, hasSession, reportedDomain }) => {
    const outage = ignoreOutages ? null : unreachableHosts.findOutage(host, clock())
    if (outage !== null) return outage
    const { opened, first } = await openWithFallback(host, deps, signal, brokenTls)
    const result = describeSession({ host, domain: reportedDomain, first, opened, at: clock() })
    if (result !== null) deps.onTlsResult?.(result)
    if (opened.kind === 'open') unreachableHosts.recordResult(host, null, clock())
    else if (!hasSession()) unreachableHosts.recordResult(host, opened.failure, clock())
    return opened
  }
}

/** Chooses among the configured addresses of the host's family, in turn; null leaves it to the system. */
export function createSourceAddressChooser(configured: readonly string[]): (address: string) => string | null {
  const byFamily = { 4: configured.filter((own) => !isIPv6(own)), 6: configured.filter((own) => isIPv6(own)) }
  let turn = 0
  return (address) => {
    const own = byFamily[isIPv6(address) ? 6 : 4]
    if (own.length === 0) return null
    turn += 1
    return own[turn % own.length] ?? null
  }
}

interface OpenTries {
  readonly opened: OpenResult
  /** The try with TLS; null: TLS was not tried, because it had failed before. */
  readonly first: OpenResult | null
}

async function openWithFallback(
  host: Host,
  deps: OpenerDeps,
  signal: AbortSignal,
  brokenTls: BrokenTlsHosts,
): Promise<OpenTries> {
  const encryption = brokenTls.encryptionFor(host, deps.clock())
  const first = await openSession(host, deps, signal, encryption)
  if (first.kind === 'open' || encryption === 'none' || !mayFallBackToPlain(host, first.failure)) {
    return { opened: first, first: encryption === 'none' ? null : first }
  }
  brokenTls.remember(host, deps.clock())
  const second = await openSession(host, deps, signal, 'none')
  if (second.kind === 'open') return { opened: second, first }
  return { opened: { ...second, transcript: joinTranscripts([first.transcript, second.transcript]) }, first }
}
