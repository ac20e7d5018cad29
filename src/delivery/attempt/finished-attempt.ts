/** An attempt that was made: what the runner hands to be written down. */
import type { QueueEntry } from '../../messages/queue/queue.js'
import type { Write } from '../../storage/writer/write.js'
import type { AttemptResult } from './attempt-result.js'
import type { ReadyMessage } from './ready-message.js'

/** How long an outcome that cannot be written down is kept. */
export interface SettleOptions {
  /** The process ends: it is given up. */
  readonly signal: AbortSignal
  /** Told each time that the database does not take it. */
  readonly onStorageFault: () => void
}

export interface FinishedAttempt {
  readonly entry: QueueEntry
  readonly readyMessage: ReadyMessage
  /** Of the writes of `ready`, what did not go into the commit of the lease. */
  readonly pendingWrites: readonly Write[]
  readonly result: AttemptResult
  readonly number: number
  readonly at: number
}
