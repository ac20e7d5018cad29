/**
 * Opens sessions with what is remembered of the host: an unreachable host is not called for a while,
 * and broken TLS falls back to plain text where that is allowed.
 *
 * If a host has an open session with us and refuses another connection, it is at its limit and not
 * down: that is not remembered as an outage.
 */
import type { Host } from '../hosts/destination.js'
import type { Outage, UnreachableHosts } from '../shaping/unreachable-hosts.js'
import { type OpenResult, openSession, type SmtpClientDeps } from '../smtp/smtp-client.js'
import { joinTranscripts } from '../smtp/transcript.js'
import { type OnTlsResult, toSessionResult } from '../transport-security/session-result.js'
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

interface OpenerDeps extends SmtpClientDeps {
  readonly unreachableHosts: UnreachableHosts
  /** Called for each session with an MX host that says something about TLS. */
  readonly onTlsResult?: OnTlsResult | undefined
}

export class SessionOpener {
  private readonly brokenTls = new BrokenTlsHosts()

  constructor(private readonly deps: OpenerDeps) {}

  async open(host: Host, options: OpenOptions): Promise<OpenResult | Outage> {
    const { reportedDomain, signal, ignoreOutages, hasSession } = options
    const { unreachableHosts, clock } = this.deps
    const outage = ignoreOutages ? null : unreachableHosts.findOutage(host, clock())
    if (outage !== null) return outage
    const opened = await openWithFallback(host, this.deps, signal, this.brokenTls)
    if (reportedDomain !== null) reportTls(host, reportedDomain, opened, this.deps)
    if (opened.kind === 'open') unreachableHosts.recordResult(host, null, clock())
    else if (!hasSession()) unreachableHosts.recordResult(host, opened.failure, clock())
    return opened
  }
}

/** Hosts of routes and messages that ignore policies are not reported. */
function reportTls(host: Host, domain: string, opened: OpenResult, { clock, onTlsResult }: OpenerDeps): void {
  const { tlsFailure: failure, localAddress: sendingAddress } = opened
  if (host.security === undefined || (opened.kind === 'shut' && failure === null)) return
  onTlsResult?.(toSessionResult(host, { domain, failure, sendingAddress, at: clock() }))
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
  const { tlsFailure } = first
  const second = await openSession(host, deps, signal, 'none')
  if (second.kind === 'open') return { ...second, tlsFailure }
  return { ...second, tlsFailure, transcript: joinTranscripts([first.transcript, second.transcript]) }
}
