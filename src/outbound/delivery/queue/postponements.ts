/**
 * Postpones entries whose hosts are all remembered as unreachable. A *postponed* entry waits in the database with a
 * note of what it waits for, and no attempt is counted.
 *
 * The first such entry takes the due entries of its lane along, 500 in one commit. So thousands of entries for one dead
 * host cost one statement for each portion, and not one turn for each entry. The lane is then empty in memory and is
 * refilled with what is still due: the next portion, or entries that are attempted nevertheless
 * (`forcedAttemptTimeOf`).
 */

import { type Clock, formatTimestamp } from '../../../base/platform/clock.js'
import type { Log } from '../../../base/platform/log.js'
import type { Commit } from '../../../base/storage/db/write.js'
import { postponeEntry } from '../../../records/messages/queue/postpone-entry.js'
import { postponeLane, type QueueEntry } from '../../../records/messages/queue/queue.js'
import type { Outage } from '../shaping/unreachable-hosts.js'
import type { Lanes } from './lanes.js'
import type { Leases } from './leases.js'
import { forcedAttemptTimeOf, type RetryPolicy } from './retry-schedule.js'

/** The most entries in one commit, which takes the writer a few milliseconds. */
const PORTION_SIZE = 500

interface PostponementDeps {
  /** The name of this node. */
  readonly node: string
  readonly commit: Commit
  readonly clock: Clock
  readonly log: Log
  readonly retryPolicy: () => RetryPolicy
  readonly lanes: Pick<Lanes, 'drop'>
  readonly leases: Pick<Leases, 'has' | 'postpone'>
  /** Releases the message of an entry that does not need it soon. */
  readonly releaseMessage: (entry: QueueEntry) => void
  /** Called when entries of the workspace may be due at this moment or later. */
  readonly onDueMoved: (workspaceId: string, from: number) => void
}

export class Postponements {
  /** The portion that is being written, by lane. */
  private readonly pendingByLane = new Map<string, Promise<void>>()

  constructor(private readonly deps: PostponementDeps) {}

  /** Resolves when the postponement is on disk. Entries beyond the portion are still due. */
  async postpone(entry: QueueEntry, { until, why, isOfEntry }: Outage): Promise<void> {
    const { commit, leases, retryPolicy, log } = this.deps
    const isLeased = leases.has(entry.id)
    if (isLeased || isOfEntry === true) {
      const age = { enqueuedAt: entry.enqueued_at, noticed: entry.noticed === 1 }
      const at = Math.min(until, forcedAttemptTimeOf(age, retryPolicy()))
      if (isLeased) await leases.postpone(entry, at, why)
      else {
        const { id, attempts, next_attempt_at: dueAt } = entry
        await commit([postponeEntry({ id, attempts, dueAt, until: at, waitsFor: why })])
      }
      log.info(
        { email: entry.email_id, recipient: entry.recipient, host: why, next: formatTimestamp(until) },
        'postponed',
      )
      return
    }
    const key = `${entry.workspace_id} ${entry.domain} ${entry.priority}`
    const pendingPortion =
      this.pendingByLane.get(key) ??
      this.postponePortion(entry, until, why).finally(() => this.pendingByLane.delete(key))
    this.pendingByLane.set(key, pendingPortion)
    return pendingPortion
  }

  private async postponePortion(entry: QueueEntry, until: number, waitsFor: string): Promise<void> {
    const { node, commit, clock, log, retryPolicy, lanes, leases, releaseMessage, onDueMoved } = this.deps
    const { workspace_id: workspaceId, domain, priority } = entry
    const now = clock()
    const { delay_notice_after: noticeAfter, expire_after: expireAfter } = retryPolicy()
    const limits = { firstLimit: Math.min(noticeAfter, expireAfter), lastLimit: expireAfter }
    const lane = { node, workspaceId, domain, priority }
    await commit([postponeLane({ ...lane, ...limits, now, until, waitsFor, maxEntries: PORTION_SIZE })])
    for (const dropped of lanes.drop(entry, ({ id }) => leases.has(id))) releaseMessage(dropped)
    onDueMoved(workspaceId, now + 1)
    log.info(
      { workspace: workspaceId, domain, host: waitsFor, next: formatTimestamp(until) },
      'due entries of a domain are postponed',
    )
  }
}
