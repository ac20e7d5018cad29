/**
 * Runs an act on all queue entries that match a filter, in portions. One such work runs at a time on a node.
 *
 * Each portion is on disk before the next is read, and then the progress. A restart of the daemon interrupts the work.
 * It is then shown as interrupted, and can be started again, because entries that were changed are not changed twice.
 */

import { Refusal } from '../../../base/mail/refusal.js'
import type { Clock } from '../../../base/platform/clock.js'
import { errorMessageOf } from '../../../base/platform/errors.js'
import type { Database } from '../../../base/storage/db/database.js'
import type { NodeState } from '../../../base/storage/db/node-state.js'
import type { Awaitable } from '../../../base/storage/db/prepared.js'
import { nodeKeyOf, readServiceState, setServiceState } from '../../../base/storage/db/service-state.js'
import type { Write } from '../../../base/storage/db/write.js'
import type { Actor } from '../../../workspaces/accounts/access/audit-log.js'
import { changeEntries, type QueueAct } from './change-entries.js'
import type { QueueFilter } from './queue-admin.js'
import { readQueuePage } from './queue-pages.js'

const PORTION = 100
const STATE_KEY = 'queue_work'

export interface QueueWorkState {
  readonly act: QueueAct
  readonly filter: QueueFilter
  /** `interrupted` means that a restart ended the work. The counts may lack its last portion. */
  readonly state: 'running' | 'completed' | 'stopped' | 'failed' | 'interrupted'
  readonly changed: number
  readonly missed: number
  readonly startedAt: number
  /** Null if the work is running, or was interrupted. */
  readonly endedAt: number | null
  /** The reason why the work failed. */
  readonly error: string | null
}

interface QueueWorkDeps extends Pick<Database, 'read' | 'commit'> {
  readonly node: Pick<NodeState, 'name'>
  readonly clock: Clock
  /** Called after each portion. */
  readonly onQueueChanged: () => Awaitable<void>
}

export class QueueWork {
  private state: QueueWorkState | null = null
  private running: Promise<void> = Promise.resolve()
  private ending: 'no' | 'stopped' | 'interrupted' = 'no'

  private constructor(private readonly deps: QueueWorkDeps) {}

  static async open(deps: QueueWorkDeps): Promise<QueueWork> {
    const work = new QueueWork(deps)
    work.state = await readInterrupted(deps)
    return work
  }

  /** Returns the running work, the last one since the start, or one that the start interrupted, or null. */
  show(): QueueWorkState | null {
    return this.state
  }

  /** Rejects with a Refusal `conflict` while another work is running. */
  async start(act: QueueAct, filter: QueueFilter, actor: Actor): Promise<QueueWorkState> {
    if (this.state?.state === 'running') throw new Refusal('conflict', 'another act on the queue is running')
    const startedAt = this.deps.clock()
    const begun = {
      act,
      filter,
      state: 'running',
      changed: 0,
      missed: 0,
      startedAt,
      endedAt: null,
      error: null,
    } as const
    const before = this.state
    this.state = begun
    this.ending = 'no'
    try {
      await this.deps.commit([this.storeState(begun)])
    } catch (error) {
      this.state = before
      throw error
    }
    this.running = this.perform(begun, actor)
    return begun
  }

  /** Ends the work after its portion. */
  async stop(): Promise<void> {
    this.ending = 'stopped'
    await this.running
  }

  /** Stops at the end of the process. The next process shows the work as interrupted. */
  async close(): Promise<void> {
    this.ending = 'interrupted'
    await this.running
  }

  private storeState(state: QueueWorkState): Write {
    return setServiceState({ key: nodeKeyOf(STATE_KEY, this.deps.node.name), value: JSON.stringify(state) })
  }

  private async perform(begun: QueueWorkState, actor: Actor): Promise<void> {
    const { act, filter } = begun
    const { clock, commit } = this.deps
    let state = begun
    const update = async (change: Partial<QueueWorkState>): Promise<void> => {
      state = { ...state, ...change }
      await commit([this.storeState(state)])
      this.state = state
    }
    try {
      const work = { act, filter, actor, isEnding: () => this.ending !== 'no' }
      const isComplete = await changeAll(this.deps, work, (changed, missed) =>
        update({ changed: state.changed + changed, missed: state.missed + missed }),
      )
      if (isComplete) await update({ state: 'completed', endedAt: clock() })
      else if (this.ending === 'stopped') await update({ state: 'stopped', endedAt: clock() })
    } catch (error) {
      // On disk the work is still running, so after a restart it is shown as interrupted.
      this.state = { ...state, state: 'failed', endedAt: clock(), error: errorMessageOf(error) }
    }
  }
}

/** Returns the work that was running when the process before ended. Null if none was. */
async function readInterrupted({ read, node }: QueueWorkDeps): Promise<QueueWorkState | null> {
  const value = (await readServiceState(read, { key: nodeKeyOf(STATE_KEY, node.name) }))[0]?.value
  if (value === undefined) return null
  const stored: QueueWorkState = JSON.parse(value)
  return stored.state === 'running' ? { ...stored, state: 'interrupted' } : null
}

interface Performed {
  readonly act: QueueAct
  readonly filter: QueueFilter
  readonly actor: Actor
  readonly isEnding: () => boolean
}

/** Resolves to true if all entries were reached. */
async function changeAll(
  { read, commit, clock, onQueueChanged }: QueueWorkDeps,
  { act, filter, actor, isEnding }: Performed,
  onPortion: (changed: number, missed: number) => Promise<void>,
): Promise<boolean> {
  for (let after: string | null = ''; after !== null; ) {
    const { entries, next } = await readQueuePage(read, { filter, after, limit: PORTION })
    if (isEnding()) return false
    const { changed, missed } = await changeEntries(commit, entries, { act, actor, now: clock() })
    if (changed.length > 0) await onQueueChanged()
    await onPortion(changed.length, missed.length)
    after = next
  }
  return true
}
