/**
 * Opens sessions with what is remembered of the host: an unreachable host is not called for a while,
 * and broken TLS falls back to plain text where that is allowed.
 *
 * If a host has an open session with us and refuses another connection, it is at its limit and not
 * down: that is not remembered as an outage.
 */
import type { Clock } from '../../platform/clock.js'
import type { Host } from '../hosts/destination.js'
import type { Outage, UnreachableHosts } from '../hosts/unreachable-hosts.js'
import { type OpenResult, openSession, type SmtpClientDeps } from '../smtp/smtp-client.js'
import { joinTranscripts } from '../smtp/transcript.js'
import { BrokenTlsHosts, mayFallBackToPlain } from './tls-policy.js'

interface OpenOptions {
  readonly signal: AbortSignal
  /** The host is called even if it is remembered as unreachable. */
  readonly ignoreOutages: boolean
  /** Is there an open session with the host? */
  readonly hasSession: () => boolean
}

export type OpenSession = (host: Host, options: OpenOptions) => Promise<OpenResult | Outage>

interface OpenerDeps extends SmtpClientDeps {
  readonly clock: Clock
  readonly unreachableHosts: UnreachableHosts
}

export function createSessionOpener(deps: OpenerDeps): OpenSession {
  const { unreachableHosts, clock } = deps
  const brokenTls = new BrokenTlsHosts()
  return async (host, { signal, ignoreOutages, hasSession }) => {
    const outage = ignoreOutages ? null : unreachableHosts.findOutage(host, clock())
    if (outage !== null) return outage
    const opened = await openWithFallback(host, deps, signal, brokenTls)
    if (opened.kind === 'open') unreachableHosts.recordResult(host, null, clock())
    else if (!hasSession()) unreachableHosts.recordResult(host, opened.failure, clock())
    return opened
  }
}

async function openWithFallback(
  host: Host,
  deps: OpenerDeps,
  signal: AbortSignal,
  brokenTls: BrokenTlsHosts,
): Promise<OpenResult> {
  const encryption = brokenTls.encryptionFor(host, deps.clock())
  const first = await openSession(host, deps, signal, encryption)
  if (first.kind === 'open' || encryption === 'none' || !mayFallBackToPlain(host, first.failure)) return first
  brokenTls.remember(host, deps.clock())
  const second = await openSession(host, deps, signal, 'none')
  if (second.kind === 'open') return second
  return { ...second, transcript: joinTranscripts([first.transcript, second.transcript]) }
}
