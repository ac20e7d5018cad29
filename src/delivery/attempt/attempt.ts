/**
 * One attempt to deliver one message to a server of its recipient's domain.
 *
 * Calls the hosts in their order; `attempt-decision` says what each answer means and when to stop.
 * The result is that of the host whose answer ended the attempt, else of the last host that
 * answered, else of the last one called. A host that is remembered as unreachable is skipped; if
 * all are, no attempt was made.
 */
import { assertNever } from '../../mail/assert-never.js'
import type { Clock } from '../../platform/clock.js'
import type { Destination, Host } from '../hosts/destination.js'
import type { Outage } from '../hosts/unreachable-hosts.js'
import type { AcquireSlot } from '../queue/host-concurrency.js'
import type { OutboundMessage } from '../smtp/outbound-message.js'
import type { Exchange } from '../smtp/send-result.js'
import { joinTranscripts } from '../smtp/transcript.js'
import {
  type AttemptLimits,
  judgeSendResult,
  mayTryAnother,
  pickMoreInformative,
  type Verdict,
} from './attempt-decision.js'
import type { AttemptResult } from './attempt-result.js'
import type { StartCallLimit } from './call-limit.js'

export interface AttemptDeps {
  readonly acquireSlot: AcquireSlot
  /** `SessionPool.send`. */
  readonly send: (host: Host, message: OutboundMessage, signal: AbortSignal) => Promise<Exchange | Outage>
  readonly clock: Clock
  readonly limits: AttemptLimits
  readonly startCallLimit: StartCallLimit
}

/** Rejects only when the signal strikes, with its reason; nothing is then known about the message. */
export async function attemptDelivery(
  message: OutboundMessage,
  destination: Exclude<Destination, { kind: 'scripted' }>,
  deps: AttemptDeps,
  signal: AbortSignal,
): Promise<AttemptResult | Outage> {
  switch (destination.kind) {
    case 'hosts':
      return tryHosts(message, destination.hosts, deps, signal)
    case 'refused': {
      const { reason, status, response, recipientsFault } = destination
      return { outcome: { kind: 'refused', reason, response, status, recipientsFault }, peer: null, transcript: '' }
    }
    case 'temporary': {
      const { reason, response } = destination
      return { outcome: { kind: 'deferred', reason, response, reached: false }, peer: null, transcript: '' }
    }
    default:
      return assertNever(destination)
  }
}

interface HostAttempt extends Exchange, Verdict {
  readonly host: Host
  readonly begunAt: number
}

async function tryHosts(
  message: OutboundMessage,
  hosts: readonly Host[],
  deps: AttemptDeps,
  signal: AbortSignal,
): Promise<AttemptResult | Outage> {
  const calls: HostAttempt[] = []
  let lastDeferral: HostAttempt | null = null
  let outage: Outage | null = null
  let elapsed = 0
  for (const host of hosts) {
    const call = await tryHost(message, host, deps, signal)
    if ('until' in call) {
      if (outage === null || call.until < outage.until) outage = call
      continue
    }
    calls.push(call)
    if (!call.shouldTryNext) return resultOf(call, calls)
    lastDeferral = pickMoreInformative(lastDeferral, call)
    elapsed += deps.clock() - call.begunAt
    if (!mayTryAnother(calls, elapsed, deps.limits)) break
  }
  if (lastDeferral !== null) return resultOf(lastDeferral, calls)
  if (outage !== null) return outage
  throw new TypeError('a destination without hosts')
}

/** Waiting for a slot takes nothing off the time of the attempt. */
async function tryHost(
  message: OutboundMessage,
  host: Host,
  { acquireSlot, send, clock, startCallLimit }: AttemptDeps,
  signal: AbortSignal,
): Promise<HostAttempt | Outage> {
  const releaseSlot = await acquireSlot(host.mx, signal)
  try {
    const begunAt = clock()
    const limit = startCallLimit(signal)
    const exchange = await send(host, message, limit.signal).catch(limit.timeoutOrRethrow)
    return 'until' in exchange ? exchange : { ...exchange, ...judgeSendResult(exchange.sent, host), host, begunAt }
  } finally {
    releaseSlot()
  }
}

function resultOf({ outcome, host, tls }: HostAttempt, calls: readonly HostAttempt[]): AttemptResult {
  const reached = calls.some((call) => call.outcome.kind === 'deferred' && call.outcome.reached)
  return {
    outcome: outcome.kind === 'deferred' ? { ...outcome, reached } : outcome,
    peer: { mx: host.mx, address: host.address, tls },
    transcript: joinTranscripts(calls.map(({ transcript }) => transcript)),
    ...(calls[0] === undefined ? {} : { begunAt: calls[0].begunAt }),
  }
}
