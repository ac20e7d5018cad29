/** Takes one step of a broadcast: at most one commit, which misses if the broadcast has changed since it was read. */

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
import { decideStep, type QueueState, type StepOptions } from './broadcast-step.js'
import { type ExpandDeps, expandContacts } from './expand-contacts.js'

/** `done`: there may be more to do at once. `rest`: nothing until its status changes. */
type StepResult = 'done' | 'wait' | 'rest'

export async function takeStep(deps: ExpandDeps, ref: BroadcastRef, options: StepOptions): Promise<StepResult> {
  const [broadcast] = broadcastSummaryById(deps.read, ref)
  if (broadcast === undefined) return 'rest'
  const now = deps.clock()
  const { id } = broadcast
  switch (decideStep(broadcast, readQueue(deps.read, id), { now, ...options })) {
    case 'start':
      return start(deps, broadcast, now)
    case 'expand':
      return expandContacts(deps, broadcast, options.chunk)
    case 'hold':
      return commitPortion(deps, [holdPortion(id)])
    case 'unhold':
      return commitPortion(deps, [unholdPortion(id)])
    case 'cancel':
      return commitPortion(deps, cancelPortion(id, now))
    case 'finish':
      return finish(deps, broadcast, now)
    case 'rest':
      return hasAttempts(deps.read, { broadcastId: id }) ? 'wait' : 'rest'
    case 'wait':
      return 'wait'
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

async function commitPortion({ commit }: ExpandDeps, writes: readonly Write[]): Promise<StepResult> {
  await commit(writes)
  return 'done'
}

async function start(deps: ExpandDeps, broadcast: BroadcastSummary, now: number): Promise<StepResult> {
  const { id, workspace_id: workspaceId } = broadcast
  const started = deps.commit([startScheduled({ workspaceId, id, now })])
  return (await tryCommit(started)) ? 'done' : 'wait'
}

async function finish(deps: ExpandDeps, broadcast: BroadcastSummary, now: number): Promise<StepResult> {
  const { id, workspace_id: workspaceId, status, started_at: startedAt } = broadcast
  const change = { workspaceId, id, now }
  const write = status === 'cancelled' ? finishCancelled(change) : finishBroadcast(change)
  if (!(await tryCommit(deps.commit([write])))) return 'wait'
  const { recipients, sent, delivered, bounced, failed, cancelled } = readTotals(deps.read, change)
  const seconds = Math.round((now - (startedAt ?? now)) / 1000)
  const what = status === 'cancelled' ? 'a broadcast is cancelled' : 'a broadcast is sent'
  const counts = { recipients, sent, delivered, bounced, failed, cancelled }
  deps.log.info({ workspace: workspaceId, broadcast: id, seconds, ...counts }, what)
  return 'rest'
}
