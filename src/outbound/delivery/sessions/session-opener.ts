/**
 * Opens sessions with what is remembered of the host: an unreachable host is not called for a while, and broken TLS
 * falls back to plain text where that is allowed.
 *
 * A host that has an open session with us and refuses another connection is at its limit, not down. That is not
 * remembered as an outage.
 */

import { createLruCache } from '../../../base/platform/lru-cache.js'
import type { Host } from '../hosts/destination.js'
import { demandsTls } from '../hosts/host-security.js'
import type { Outage, UnreachableHosts } from '../shaping/unreachable-hosts.js'
import type { SmtpFailure } from '../smtp/send-result.js'
import { type Encryption, type OpenResult, openClientSession, type SmtpClientDeps } from '../smtp/smtp-client.js'
import { joinTranscripts } from '../smtp/transcript.js'
import { type OnTlsResult, toSessionResult } from '../transport-security/session-result.js'

const REMEMBER_TIME = 3_600_000

const MAX_HOSTS = 10_000

/** The hosts whose TLS is broken, each for an hour. */
export class BrokenTlsHosts {
  private readonly brokenUntil = createLruCache<number>({ max: MAX_HOSTS })

  remember(host: Host, now: number): void {
    this.brokenUntil.set(keyOf(host), now + REMEMBER_TIME)
  }

  encryptionFor(host: Host, now: number): Encryption {
    if (host.tls === 'implicit' || host.auth !== null || demandsTls(host)) return 'offered'
    return (this.brokenUntil.get(keyOf(host)) ?? 0) > now ? 'none' : 'offered'
  }
}

interface OpenOptions {
  readonly signal: AbortSignal
  /** The recipient's domain, whose TLS reports count the session. Null if no reports count it. */
  readonly reportedDomain: string | null
  /** True if the host is called even though it is remembered as unreachable. */
  readonly ignoreOutages: boolean
  /** Tells whether there is an open session with the host. */
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

/** Reports the session. Hosts of routes and messages that ignore policies are not reported. */
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
  const first = await openClientSession(host, deps, signal, encryption)
  if (first.kind === 'open' || encryption === 'none' || !mayFallBackToPlain(host, first.failure)) return first
  brokenTls.remember(host, deps.clock())
  const { tlsFailure } = first
  const second = await openClientSession(host, deps, signal, 'none')
  if (second.kind === 'open') return { ...second, tlsFailure }
  return { ...second, tlsFailure, transcript: joinTranscripts([first.transcript, second.transcript]) }
}

/**
 * Decides whether a session may fall back to plain text after TLS has failed.
 *
 * STARTTLS is opportunistic (RFC 7435): it is used wherever it is offered. A host that offers STARTTLS and then fails
 * at it would never get mail, so it gets plain text for an hour, like a host without STARTTLS. There is no fallback
 * where credentials are sent, where the route requires TLS, where DANE or MTA-STS demand TLS, or after a protocol
 * violation such as plain text behind the STARTTLS reply, which may be an attack. The mail waits then.
 *
 * Known limit: without such a policy an attacker on the path can provoke the fallback, just as they can strip STARTTLS.
 */
export function mayFallBackToPlain(host: Host, failure: SmtpFailure): boolean {
  if (host.tls === 'implicit' || host.auth !== null || demandsTls(host)) return false
  if (failure.kind === 'failed' && failure.failure === 'protocol') return false
  return failure.stage === 'starttls' || (failure.kind === 'failed' && failure.failure === 'tls')
}

function keyOf({ mx, address, port }: Host): string {
  return `${mx} ${address} ${port}`
}
