/**
 * Opening a session with what is remembered of the host: unreachable ones are not called
 * again for a while, and broken TLS falls back to plain text where it may.
 *
 * A host that holds sessions with us is there: one more connection that it does not take says
 * that it takes no more, and is not remembered as an outage.
 */
import type { Clock } from '../../platform/clock.js'
import type { Outage, UnreachableHosts } from '../attempt/attempt-unreachable.js'
import type { Host } from '../hosts/destination.js'
import { type Opened, openSession, type SmtpClientDeps } from '../smtp/smtp-client.js'
import { joinedTranscripts } from '../smtp/transcript.js'
import { BrokenTls, fallsBackToPlain } from './tls-policy.js'

export interface Opening {
  readonly signal: AbortSignal
  /** The host is called even if it is remembered as unreachable. */
  readonly insists: boolean
  /** Is there a session with the host? */
  readonly hasSession: () => boolean
}

export type OpenHost = (host: Host, opening: Opening) => Promise<Opened | Outage>

export interface OpenerDeps extends SmtpClientDeps {
  readonly clock: Clock
  readonly unreachable: UnreachableHosts
}

export function hostOpener(deps: OpenerDeps): OpenHost {
  const { unreachable, clock } = deps
  const brokenTls = new BrokenTls()
  return async (host, { signal, insists, hasSession }) => {
    const outage = insists ? null : unreachable.outage(host, clock())
    if (outage !== null) return outage
    const opened = await openWithFallback(host, deps, signal, brokenTls)
    if (opened.kind === 'open') unreachable.learn(host, null, clock())
    else if (!hasSession()) unreachable.learn(host, opened.trouble, clock())
    return opened
  }
}

async function openWithFallback(
  host: Host,
  deps: OpenerDeps,
  signal: AbortSignal,
  brokenTls: BrokenTls,
): Promise<Opened> {
  const encryption = brokenTls.encryption(host, deps.clock())
  const first = await openSession(host, deps, signal, encryption)
  if (first.kind === 'open' || encryption === 'none' || !fallsBackToPlain(host, first.trouble)) return first
  brokenTls.note(host, deps.clock())
  const second = await openSession(host, deps, signal, 'none')
  if (second.kind === 'open') return second
  return { ...second, transcript: joinedTranscripts([first.transcript, second.transcript]) }
}
