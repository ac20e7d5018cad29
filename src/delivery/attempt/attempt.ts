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
import { type Destination, type Host, pathOf } from '../hosts/destination.js'
import type { Outage } from '../hosts/unreachable-hosts.js'
import type { AcquireSlot } from '../shaping/pace-permit.js'
import { providerKeyOf } from '../shaping/provider-key.js'
import type { OutboundMessage } from '../smtp/outbound-message.js'
import type { Exchange } from '../smtp/send-result.js'
import { joinTranscripts } from '../smtp/transcript.js'
import {
  type AttemptLimits,
  judgeSendResult,
  mayTryAnother,
  pickMoreInformative,
  type Verdict,
  withRetryTime,
} from './attempt-decision.js'
import type { AttemptResult } from './attempt-result.js'
import type { StartCallLimit } from './call-limit.js'
import { isIpv6Refusal } from './ipv6-refusal.js'

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
      const { kind: _temporary, ...facts } = destination
      return { outcome: { ...facts, kind: 'deferred', reached: false }, peer: null, transcript: '' }
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
  let isIpv6Refused = false
  for (const host of hosts) {
    if (calls.some((call) => refusesForProvider(call, host))) continue
    if (isIpv6Refused && host.address.includes(':')) continue
    const call = await tryHost(message, host, deps, signal)
    if ('until' in call) {
      if (outage === null || call.until < outage.until) outage = call
      continue
    }
    calls.push(call)
    if (!call.shouldTryNext) return resultOf(call, calls)
    isIpv6Refused ||= call.sent.kind === 'refused' && isIpv6Refusal(host, call.sent.reply)
    lastDeferral = pickMoreInformative(lastDeferral, call)
    elapsed += deps.clock() - call.begunAt
    if (!mayTryAnother(calls, elapsed, deps.limits)) break
  }
  if (lastDeferral !== null) return resultOf(lastDeferral, calls)
  if (outage !== null) return outage
  throw new TypeError('a destination without hosts')
}

/** The other hosts of its provider would refuse too: they share the limits of pace, and what is greylisted. */
function refusesForProvider({ retryAt, outcome, host }: HostAttempt, other: Host): boolean {
  const isGreylisted = outcome.kind === 'deferred' && outcome.reason === 'greylisted'
  return (isGreylisted || retryAt !== undefined) && providerKeyOf(host) === providerKeyOf(other)
}

/** Waiting for a slot takes nothing off the time of the attempt. */
async function tryHost(
  message: OutboundMessage,
  host: Host,
  { acquireSlot, send, clock, startCallLimit }: AttemptDeps,
  signal: AbortSignal,
): Promise<HostAttempt | Outage> {
  const releaseSlot = await acquireSlot(pathOf(host), signal)
  if (typeof releaseSlot !== 'function') return releaseSlot
  try {
    const begunAt = clock()
    const limit = startCallLimit(signal)
    const exchange = await send(host, message, limit.signal).catch(limit.timeoutOrRethrow)
    if ('until' in exchange) return exchange
    const verdict = withRetryTime(judgeSendResult(exchange.sent, host), exchange.retryAt)
    return { ...exchange, ...verdict, host, begunAt }
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
