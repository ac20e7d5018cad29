/** Builds the result of an attempt that failed because of this server: a deferral like any other. */
import type { AttemptTurn, FinishedAttempt } from './make-attempt.js'
import type { ReadyMessage } from './message-preparer.js'

/** Returns `changed` if the email is gone, because nothing can be recorded about it then. */
export function buildLocalDeferral(
  { entry, at }: AttemptTurn,
  readyMessage: ReadyMessage | null,
  response: string,
): FinishedAttempt | 'changed' {
  if (readyMessage === null) return 'changed'
  const outcome = { kind: 'deferred', reason: 'local-error', response, reached: false } as const
  const result = { outcome, peer: null, transcript: '' }
  return { entry, readyMessage, pendingWrites: [], result, number: entry.attempts + 1, at }
}
