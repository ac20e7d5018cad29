/**
 * Decides what a broadcast needs next: start, expand, hold, unhold, cancel or finish. Pure over what is on disk; times
 * are epoch milliseconds.
 */
import type { BroadcastSummary } from './broadcast-records.js'

/** Reads of the queue, made only where the decision needs them. */
export interface QueueState {
  /** More entries than this that were never attempted and wait for no host that is down. */
  readonly hasFreshOver: (count: number) => boolean
  readonly hasEntries: () => boolean
  /** Entries that a pause has held. */
  readonly hasPaused: () => boolean
  /** Entries that a pause has to hold. */
  readonly hasToHold: () => boolean
  /** Entries that are not being attempted. */
  readonly hasRemovable: () => boolean
}

type Step =
  /** Its scheduled time has come. */
  | 'start'
  /** Makes the messages of the next contacts. */
  | 'expand'
  /** Gives back entries that a pause has held. */
  | 'unhold'
  | 'hold'
  /** Removes entries. */
  | 'cancel'
  /** All is done. */
  | 'finish'
  /** A pause holds all entries but those that are being attempted. */
  | 'rest'
  | 'wait'

type StepFields = Pick<BroadcastSummary, 'status' | 'scheduled_for' | 'expanded' | 'waits_until'>

export interface StepOptions {
  /** Contacts that one step makes messages of. */
  readonly chunk: number
  /** Entries in the queue that may wait for their first attempt: more contacts are looked at when there are fewer. */
  readonly window: number
  /** A limit that is used up may have been raised. */
  readonly isRecheck: boolean
  /** False: the disk is nearly full, and takes no new mail. */
  readonly hasDiskSpace: boolean
}

export function decideStep(
  broadcast: StepFields,
  queue: QueueState,
  { now, chunk, window, isRecheck, hasDiskSpace }: StepOptions & { readonly now: number },
): Step {
  switch (broadcast.status) {
    case 'scheduled':
      return (broadcast.scheduled_for ?? 0) <= now ? 'start' : 'wait'
    case 'sending':
      if (queue.hasPaused()) return 'unhold'
      if (broadcast.expanded === 1) return queue.hasEntries() ? 'wait' : 'finish'
      if (broadcast.waits_until !== null && broadcast.waits_until > now && !isRecheck) return 'wait'
      return !hasDiskSpace || queue.hasFreshOver(window - chunk) ? 'wait' : 'expand'
    case 'paused':
      return queue.hasToHold() ? 'hold' : 'rest'
    case 'cancelled':
      if (queue.hasRemovable()) return 'cancel'
      return queue.hasEntries() ? 'wait' : 'finish'
    case 'draft':
    case 'sent':
      return 'wait'
  }
}
