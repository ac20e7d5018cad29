/**
 * One attempt to hand one message to a server of its recipient's domain.
 *
 * Walks the hosts in their order; what each answer means and when to stop is decided in
 * attempt-decision. The result speaks of the host whose answer ended the walk, else of the
 * last one that answered, else of the last one called.
 */
import { assertNever } from '../mail/assert-never.js'
import type { Clock } from '../platform/clock.js'
import { type AttemptLimits, judge, mayCallAnother, moreTelling, type Verdict } from './attempt-decision.js'
import type { LimitAttempt } from './attempt-limit.js'
import type { AttemptResult } from './attempt-result.js'
import type { Destination, Host } from './destination.js'
import type { OutboundMessage } from './outbound-message.js'
import type { Exchange } from './smtp-client-outcome.js'
import { joinedTranscripts } from './transcript.js'

export interface AttemptDeps {
  /** `SessionPool.send`. */
  readonly send: (host: Host, message: OutboundMessage, signal: AbortSignal) => Promise<Exchange>
  readonly clock: Clock
  readonly limits: AttemptLimits
  readonly limit: LimitAttempt
}

/** Rejects with the signal's reason when that strikes, and only then: the attempt then says nothing. */
export async function attempt(
  message: OutboundMessage,
  destination: Destination,
  deps: AttemptDeps,
  signal: AbortSignal,
): Promise<AttemptResult> {
  switch (destination.kind) {
    case 'hosts':
      return callHosts(message, destination.hosts, deps, signal)
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

interface Call extends Exchange, Verdict {
  readonly host: Host
}

async function callHosts(
  message: OutboundMessage,
  hosts: readonly Host[],
  deps: AttemptDeps,
  signal: AbortSignal,
): Promise<AttemptResult> {
  const { clock, limits } = deps
  const begun = clock()
  const calls: Call[] = []
  let told: Call | null = null
  const limited = deps.limit(signal)
  for (const host of hosts) {
    const exchange = await deps.send(host, message, limited.signal).catch(limited.cutOff)
    const call = { ...exchange, ...judge(exchange.sent, host), host }
    calls.push(call)
    if (!call.onward) return resultOf(call, calls)
    told = moreTelling(told, call)
    if (!mayCallAnother(calls, clock() - begun, limits)) break
  }
  if (told === null) throw new TypeError('a destination without hosts')
  return resultOf(told, calls)
}

function resultOf({ outcome, host, tls }: Call, calls: readonly Call[]): AttemptResult {
  const reached = calls.some((call) => call.outcome.kind === 'deferred' && call.outcome.reached)
  return {
    outcome: outcome.kind === 'deferred' ? { ...outcome, reached } : outcome,
    peer: { mx: host.mx, address: host.address, tls },
    transcript: joinedTranscripts(calls.map(({ transcript }) => transcript)),
  }
}
