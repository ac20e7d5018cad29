/**
 * The signal for the call of one host. It aborts with the runner's signal, or when the call takes too long. The time
 * begins with the call, after the wait for a slot.
 *
 * Calls that begin together share a signal, because a signal for each, with listeners and a timer, would cost more than
 * the rest of an attempt's bookkeeping. So a call is cut off late by up to a sixtieth of its time, and never early.
 */
import { setMaxListeners } from 'node:events'
import type { Exchange } from '../smtp/send-result.js'

interface CallLimit {
  readonly signal: AbortSignal
  /** Turns the rejection of a call into a timeout if the limit aborted it; throws any other error again. */
  readonly timeoutOrRethrow: (error: unknown) => Exchange
}

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
