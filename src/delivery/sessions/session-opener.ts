/**
 * Opening a session with what is remembered of the host: unreachable ones are not called
 * again for a while, and broken TLS falls back to plain text where it may.
 *
 * A host that holds sessions with us is there: one more connection that it does not take says
 * that it takes no more, and is not remembered as an outage.
 */
import { isIPv6 } from 'node:net'
import type { Clock } from '../../platform/clock.js'
import type { Host } from '../hosts/destination.js'
import type { Outage, UnreachableHosts } from '../hosts/unreachable-hosts.js'
import { type OpenResult, openSession, type SmtpClientDeps } from '../smtp/smtp-client.js'
import { joinTranscripts } from '../smtp/transcript.js'
import { BrokenTlsHosts, mayFallBackToPlain } from './tls-policy.js'

export interface OpenOptions {
  readonly signal: AbortSignal
  /** The host is called even if it is remembered as unreachable. */
  readonly ignoreOutages: boolean
  /** Is there a session with the host? */
  readonly hasSession: () => boolean
}

export type OpenSession = (host: Host, opening: OpenOptions) => Promise<OpenResult | Outage>

export interface OpenerDeps extends SmtpClientDeps {
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

/**
 * From which of our addresses a host is called: the configured ones of its family, in turn; null
 * leaves it to the system.
 */
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
