/**
 * Takes the steps of a broadcast: start, expand, hold, unhold, cancel and finish. Each step is at most one commit,
 * which misses if the broadcast has changed since it was read. The decision depends only on what is on disk. Times are
 * epoch milliseconds.
 */
import type { Read } from '../../base/storage/db/prepared.js'
import { tryCommit, type Write } from '../../base/storage/db/write.js'
import {
  cancelPortion,
  hasAttempts,
  hasEntries,
  hasEntriesToHold,
  hasFreshEntriesOver,
  hasPausedEntries,
  hasRemovableEntries,
  holdPortion,
  unholdPortion,
} from '../../records/messages/queue/broadcast-entries.js'
import {
  type BroadcastRef,
  type BroadcastSummary,
  broadcastSummaryById,
  finishBroadcast,
  finishCancelled,
  startScheduled,
} from './broadcast-records.js'
import { readTotals } from './broadcast-resource.js'
import { ContactExpander, type ExpanderDeps } from './contact-expander.js'

/** `done` means that there may be more to do at once; `rest` that there is nothing to do until the status changes. */
export type StepResult = 'done' | 'wait' | 'rest'

export class BroadcastSteps {
  private readonly expander: ContactExpander

  constructor(private readonly deps: ExpanderDeps) {
    this.expander = new ContactExpander(deps)
  }

  async take(ref: BroadcastRef, options: StepOptions): Promise<StepResult> {
    const { read, clock } = this.deps
    const [broadcast] = await broadcastSummaryById(read, ref)
    if (broadcast === undefined) return 'rest'
    const now = clock()
    const { id } = broadcast
    switch (await decideStep(broadcast, readQueue(read, id), { now, ...options })) {
      case 'start':
        return this.start(broadcast, now)
      case 'expand':
        return this.expander.expand(broadcast, options.chunk)
      case 'hold':
        return this.commitPortion([holdPortion(id)])
      case 'unhold':
        return this.commitPortion([unholdPortion(id)])
      case 'cancel':
        return this.commitPortion(cancelPortion(id, now))
      case 'finish':
        return this.finish(broadcast, now)
      case 'rest':
        return (await hasAttempts(read, { broadcastId: id })) ? 'wait' : 'rest'
      case 'wait':
        return 'wait'
    }
  }

  private async commitPortion(writes: readonly Write[]): Promise<StepResult> {
    await this.deps.commit(writes)
    return 'done'
  }

  private async start({ id, workspace_id: workspaceId }: BroadcastSummary, now: number): Promise<StepResult> {
    return (await tryCommit(this.deps.commit([startScheduled({ workspaceId, id, now })]))) ? 'done' : 'wait'
  }

  private async finish(broadcast: BroadcastSummary, now: number): Promise<StepResult> {
    const { read, commit, log } = this.deps
    const { id, workspace_id: workspaceId, status, started_at: startedAt } = broadcast
    const change = { workspaceId, id, now }
    const write = status === 'cancelled' ? finishCancelled(change) : finishBroadcast(change)
    if (!(await tryCommit(commit([write])))) return 'wait'
    const { recipients, sent, delivered, bounced, failed, cancelled } = await readTotals(read, change)
    const seconds = Math.round((now - (startedAt ?? now)) / 1000)
    const what = status === 'cancelled' ? 'a broadcast is cancelled' : 'a broadcast is sent'
    const counts = { recipients, sent, delivered, bounced, failed, cancelled }
    log.info({ workspace: workspaceId, broadcast: id, seconds, ...counts }, what)
    return 'rest'
  }
}

function readQueue(read: Read, broadcastId: string): QueueState {
  const of = { broadcastId }
  return {
    hasFreshOver: (count) => hasFreshEntriesOver(read, { ...of, count }),
    hasEntries: () => hasEntries(read, of),
    hasPaused: () => hasPausedEntries(read, of),
    hasToHold: () => hasEntriesToHold(read, of),
    hasRemovable: () => hasRemovableEntries(read, of),
  }
}

/** Reads of the queue. The decision calls one only where it needs the answer. */
export interface QueueState {
  /** Tells whether more than `count` entries were never attempted and wait for no host that is down. */
  readonly hasFreshOver: (count: number) => Promise<boolean>
  readonly hasEntries: () => Promise<boolean>
  /** Tells whether a pause has held entries. */
  readonly hasPaused: () => Promise<boolean>
  /** Tells whether a pause still has to hold entries. */
  readonly hasToHold: () => Promise<boolean>
  /** Tells whether there are entries that are not being attempted. */
  readonly hasRemovable: () => Promise<boolean>
}

type Step =
  /** The scheduled time has come. */
  | 'start'
  /** Makes the messages of the next contacts. */
  | 'expand'
  /** Gives back entries that a pause has held. */
  | 'unhold'
  | 'hold'
  /** Removes entries. */
  | 'cancel'
  /** All work is done. */
  | 'finish'
  /** The pause holds all entries except those that are being attempted. */
  | 'rest'
  | 'wait'

type StepFields = Pick<BroadcastSummary, 'status' | 'scheduled_for' | 'expanded' | 'waits_until'>

export interface StepOptions {
  /** The contacts for which one step makes messages. */
  readonly chunk: number
  /** The most entries that wait for their first attempt. The step looks at more contacts while there are fewer. */
  readonly window: number
  /** True if an exhausted limit may have been raised. */
  readonly isRecheck: boolean
  /** False if the disk is nearly full and takes no new mail. */
  readonly hasDiskSpace: boolean
}

export async function decideStep(
  broadcast: StepFields,
  queue: QueueState,
  { now, chunk, window, isRecheck, hasDiskSpace }: StepOptions & { readonly now: number },
): Promise<Step> {
  switch (broadcast.status) {
    case 'scheduled':
      return (broadcast.scheduled_for ?? 0) <= now ? 'start' : 'wait'
    case 'sending':
      if (await queue.hasPaused()) return 'unhold'
      if (broadcast.expanded === 1) return (await queue.hasEntries()) ? 'wait' : 'finish'
      if (broadcast.waits_until !== null && broadcast.waits_until > now && !isRecheck) return 'wait'
      return !hasDiskSpace || (await queue.hasFreshOver(window - chunk)) ? 'wait' : 'expand'
    case 'paused':
      return (await queue.hasToHold()) ? 'hold' : 'rest'
    case 'cancelled':
      if (await queue.hasRemovable()) return 'cancel'
      return (await queue.hasEntries()) ? 'wait' : 'finish'
    case 'draft':
    case 'sent':
      return 'wait'
  }
}
