/**
 * Sends one message to a server of its recipient's domain: one attempt.
 *
 * It calls the hosts in their order; `judge-exchange` says what each answer means and when to stop. The result is that
 * of the host whose answer ended the attempt, else that of the last host that answered, else that of the last one
 * called. A host that is remembered as unreachable is skipped; if all are, there was no attempt.
 */
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../../../base/config/complete.js'
import { assertNever } from '../../../base/mail/assert-never.js'
import type { Clock } from '../../../base/platform/clock.js'
import { type Destination, type Host, pathOf } from '../hosts/destination.js'
import { isIpv6Refusal } from '../hosts/ipv6-refusal.js'
import type { AcquireSlot } from '../queue/pace-permit.js'
import type { SessionPool } from '../sessions/session-pool.js'
import { providerKeyOf } from '../shaping/provider-key.js'
import type { Outage } from '../shaping/unreachable-hosts.js'
import { attemptScripted } from '../simulator/scripted-attempt.js'
import type { AttemptResult } from '../smtp/attempt-result.js'
import type { OutboundMessage } from '../smtp/outbound-message.js'
import type { Exchange, SendResult } from '../smtp/send-result.js'
import { joinTranscripts } from '../smtp/transcript.js'
import { applyMessageDemand } from '../transport-security/message-demand.js'
import { type OnTlsResult, toRefusedResult } from '../transport-security/session-result.js'
import {
  type AttemptLimits,
  defaultAttemptLimits,
  judgeSendResult,
  mayTryAnother,
  pickMoreInformative,
  type Verdict,
  withRetryTime,
} from './judge-exchange.js'

interface SenderDeps {
  readonly pool: Pick<SessionPool, 'send'>
  readonly clock: Clock
  /** The simulator's name in what it stores, and its zone. */
  readonly names: Pick<Config['service'], 'hostname' | 'zone'>
  readonly onTlsResult: OnTlsResult
}

export interface Call {
  /** True if hosts that are remembered as unreachable are called too. */
  readonly ignoreOutages: boolean
  readonly acquireSlot: AcquireSlot
  /** Called for each host that was called. */
  readonly onSent: (host: Host, sent: SendResult) => void
  /** The number of the attempt; 1 is the first. */
  readonly number: number
}

interface HostAttempt extends Exchange, Verdict {
  readonly host: Host
  readonly begunAt: number
}

export class MessageSender {
  private readonly callLimiter: CallLimiter

  constructor(
    private readonly deps: SenderDeps,
    private readonly limits: AttemptLimits = defaultAttemptLimits,
  ) {
    this.callLimiter = new CallLimiter(limits.cutOff)
  }

  /**
   * Resolves to an outage if no attempt was made. Rejects when the signal aborts, with its reason, and with a
   * `SourceAddressError`; nothing is known about the message then.
   */
  async send(
    message: OutboundMessage,
    found: Destination,
    call: Call,
    signal: AbortSignal,
  ): Promise<AttemptResult | Outage> {
    const destination = applyMessageDemand(message, found, (host) => this.reportRefusal(message, host))
    switch (destination.kind) {
      case 'scripted': {
        const { names, clock } = this.deps
        const { number: attempt, acquireSlot } = call
        return attemptScripted(message, { attempt, acquireSlot, signal }, { ...names, clock, sleep: sleepUntilAborted })
      }
      case 'hosts':
        return this.tryHosts(message, destination.hosts, call, signal)
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

  /** Mail of the service has the null return path and must not cause reports. */
  private reportRefusal(message: OutboundMessage, host: Host): void {
    const { clock, onTlsResult } = this.deps
    const result = message.returnPath === '' ? null : toRefusedResult(host, message.domain, clock())
    if (result !== null) onTlsResult(result)
  }

  private async tryHosts(
    message: OutboundMessage,
    hosts: readonly Host[],
    call: Call,
    signal: AbortSignal,
  ): Promise<AttemptResult | Outage> {
    const attempts: HostAttempt[] = []
    let lastDeferral: HostAttempt | null = null
    let outage: Outage | null = null
    let elapsed = 0
    let isIpv6Refused = false
    for (const host of hosts) {
      if (attempts.some((attempt) => refusesForProvider(attempt, host))) continue
      if (isIpv6Refused && host.address.includes(':')) continue
      const attempt = await this.tryHost(message, host, call, signal)
      if ('until' in attempt) {
        if (outage === null || attempt.until < outage.until) outage = attempt
        continue
      }
      attempts.push(attempt)
      if (!attempt.shouldTryNext) return resultOf(attempt, attempts)
      isIpv6Refused ||= attempt.sent.kind === 'refused' && isIpv6Refusal(host, attempt.sent.reply)
      lastDeferral = pickMoreInformative(lastDeferral, attempt)
      elapsed += this.deps.clock() - attempt.begunAt
      if (!mayTryAnother(attempts, elapsed, this.limits)) break
    }
    if (lastDeferral !== null) return resultOf(lastDeferral, attempts)
    if (outage !== null) return outage
    throw new TypeError('a destination without hosts')
  }

  /** Calls one host. The wait for a slot does not count as time of the attempt. */
  private async tryHost(
    message: OutboundMessage,
    host: Host,
    call: Call,
    signal: AbortSignal,
  ): Promise<HostAttempt | Outage> {
    const { clock } = this.deps
    const releaseSlot = await call.acquireSlot(pathOf(host), signal)
    if (typeof releaseSlot !== 'function') return releaseSlot
    try {
      const begunAt = clock()
      const limit = this.callLimiter.start(signal)
      const exchange = await this.callHost(message, host, call, limit.signal).catch(limit.timeoutOrRethrow)
      if ('until' in exchange) return exchange
      const verdict = withRetryTime(judgeSendResult(exchange.sent, host), exchange.retryAt)
      return { ...exchange, ...verdict, host, begunAt }
    } finally {
      releaseSlot()
    }
  }

  private async callHost(
    message: OutboundMessage,
    host: Host,
    { ignoreOutages, onSent }: Call,
    signal: AbortSignal,
  ): Promise<Exchange | Outage> {
    const exchange = await this.deps.pool.send(host, message, signal, ignoreOutages)
    if ('sent' in exchange) onSent(host, exchange.sent)
    return exchange
  }
}

function sleepUntilAborted(milliseconds: number, signal: AbortSignal): Promise<void> {
  return sleep(milliseconds, undefined, { signal })
}

/** Tells whether the other hosts of the provider would refuse too: they share the limits of pace and the greylist. */
function refusesForProvider({ retryAt, outcome, host }: HostAttempt, other: Host): boolean {
  const isGreylisted = outcome.kind === 'deferred' && outcome.reason === 'greylisted'
  return (isGreylisted || retryAt !== undefined) && providerKeyOf(host) === providerKeyOf(other)
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

interface CallLimit {
  readonly signal: AbortSignal
  /** Turns the rejection of a call into a timeout if the limit aborted it; throws any other error again. */
  readonly timeoutOrRethrow: (error: unknown) => Exchange
}

/**
 * Limits the call of one host by a signal. It aborts with the runner's signal, or when the call takes too long. The
 * time begins with the call, after the wait for a slot.
 *
 * Calls that begin together share a signal, because a signal for each, with listeners and a timer, would cost more than
 * the rest of an attempt's bookkeeping. So a call is cut off late by up to a sixtieth of its time, and never early.
 */
export class CallLimiter {
  private joinable: { readonly follows: AbortSignal; readonly limited: CallLimit } | null = null

  /** `time` is the time in milliseconds that a call may take. */
  constructor(private readonly time: number) {}

  /** Starts the limit of a call. Its signal aborts when the given signal does. */
  start(follows: AbortSignal): CallLimit {
    if (this.joinable?.follows === follows) return this.joinable.limited
    const limited = startLimit(follows, this.time, () => {
      if (this.joinable?.limited === limited) this.joinable = null
    })
    this.joinable = { follows, limited }
    return limited
  }
}

/** `onFull` is called when no other call may join. */
function startLimit(follows: AbortSignal, time: number, onFull: () => void): CallLimit {
  const controller = new AbortController()
  const follow = (): void => controller.abort(follows.reason)
  // One signal stops hundreds of attempts, so many listeners are no leak.
  setMaxListeners(0, follows, controller.signal)
  follows.addEventListener('abort', follow, { once: true })
  if (follows.aborted) follow()
  const strike = (): void => {
    follows.removeEventListener('abort', follow)
    controller.abort()
  }
  // The time begins when the last call has joined.
  setTimeout(() => {
    onFull()
    setTimeout(strike, time).unref()
  }, time / 60).unref()
  return {
    signal: controller.signal,
    timeoutOrRethrow: (error) => {
      if (follows.aborted || !controller.signal.aborted) throw error
      const detail = `cut off after ${time / 1000} s`
      const sent = { kind: 'failed', stage: 'data', failure: 'timeout', detail } as const
      return { sent, tls: null, transcript: '' }
    },
  }
}
