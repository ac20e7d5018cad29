/**
 * The signal under which a message is sent to one host: it strikes with the runner's, and when
 * that has taken too long. Waiting for a session of the host is over by then, and does not count.
 *
 * Calls that begin together share it: a signal with listeners and a timer of its own costs
 * more than the rest of an attempt's bookkeeping. So an attempt is cut off later than it should
 * be, by up to a sixtieth of its time, and never earlier.
 */
import { setMaxListeners } from 'node:events'
import type { Exchange } from '../smtp/send-result.js'

export interface CallLimit {
  readonly signal: AbortSignal
  /** For a call that was rejected: what it means if the limit struck, else the rejection again. */
  readonly timeoutOrRethrow: (error: unknown) => Exchange
}

/** The limit of a call that begins now and follows `signal`. */
export type StartCallLimit = (signal: AbortSignal) => CallLimit

/** `time`: milliseconds that a call may take. */
export function createCallLimiter(time: number): StartCallLimit {
  let joinable: { readonly follows: AbortSignal; readonly limited: CallLimit } | null = null
  return (signal) => {
    if (joinable?.follows === signal) return joinable.limited
    const limited = startLimit(signal, time, () => {
      if (joinable?.limited === limited) joinable = null
    })
    joinable = { follows: signal, limited }
    return limited
  }
}

/** `full`: called once nobody more may join. */
function startLimit(follows: AbortSignal, time: number, full: () => void): CallLimit {
  const controller = new AbortController()
  const follow = (): void => controller.abort(follows.reason)
  // One signal stops hundreds of attempts: that many listeners are no leak.
  setMaxListeners(0, follows, controller.signal)
  follows.addEventListener('abort', follow, { once: true })
  if (follows.aborted) follow()
  const strike = (): void => {
    follows.removeEventListener('abort', follow)
    controller.abort()
  }
  // The time begins when the last one has joined.
  setTimeout(() => {
    full()
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
