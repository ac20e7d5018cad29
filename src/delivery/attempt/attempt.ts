/**
 * One attempt to hand one message to a server of its recipient's domain.
 *
 * Walks the hosts in their order; what each answer means and when to stop is decided in
 * attempt-decision. The result speaks of the host whose answer ended the walk, else of the
 * last one that answered, else of the last one called. A host that is remembered as unreachable
 * is passed over; where all are, there was no attempt.
 */
import { assertNever } from '../../mail/assert-never.js'
import type { Clock } from '../../platform/clock.js'
import type { Destination, Host } from '../hosts/destination.js'
import type { CallLimit, StartCallLimit } from '../queue/call-limit.js'
import type { Exchange } from '../smtp/outcome.js'
import { joinTranscripts } from '../smtp/transcript.js'
import {
  type AttemptLimits,
  judgeSendResult,
  mayTryAnother,
  pickMoreInformative,
  type Verdict,
} from './attempt-decision.js'
import type { AttemptResult } from './attempt-result.js'
import type { OutboundMessage } from './outbound-message.js'
import type { Outage } from './unreachable-hosts.js'

export interface AttemptDeps {
  /** `SessionPool.send`; `begin`: as in its terms. */
  readonly send: (
    host: Host,
    message: OutboundMessage,
    signal: AbortSignal,
    begin: () => AbortSignal,
  ) => Promise<Exchange | Outage>
  readonly clock: Clock
  readonly limits: AttemptLimits
  readonly limit: StartCallLimit
}

/** Rejects with the signal's reason when that strikes, and only then: the attempt then says nothing. */
export async function attemptDelivery(
  message: OutboundMessage,
  destination: Destination,
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

/** The clock runs from the moment at which the message has its place at the host. */
async function tryHost(
  message: OutboundMessage,
  host: Host,
  { send, clock, limit }: AttemptDeps,
  signal: AbortSignal,
): Promise<HostAttempt | Outage> {
  const begun: { at: number; limited: CallLimit | null } = { at: clock(), limited: null }
  const begin = (): AbortSignal => {
    begun.at = clock()
    begun.limited = limit(signal)
    return begun.limited.signal
  }
  const exchange = await send(host, message, signal, begin).catch((error: unknown) => {
    if (begun.limited === null) throw error
    return begun.limited.timeoutOrRethrow(error)
  })
  return 'until' in exchange
    ? exchange
    : { ...exchange, ...judgeSendResult(exchange.sent, host), host, begunAt: begun.at }
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
