/**
 * An act on all queue entries that match a filter, in portions, one such work at a time.
 *
 * Each portion is on disk before the next is read. Progress is kept in memory: a restart of the daemon ends the work,
 * and leaves the entries that it had not reached as they were.
 */
import type { Actor } from '../../accounts/audit-log.js'
import { Refusal } from '../../mail/refusal.js'
import type { Clock } from '../../platform/clock.js'
import { errorMessageOf } from '../../platform/errors.js'
import type { Store } from '../../storage/database.js'
import { changeEntries, type QueueAct } from './change-entries.js'
import type { QueueFilter } from './queue-admin.js'
import { readQueuePage } from './queue-pages.js'

const PORTION = 100

export interface QueueWorkState {
  readonly act: QueueAct
  readonly filter: QueueFilter
  readonly state: 'running' | 'completed' | 'stopped' | 'failed'
  readonly changed: number
  readonly missed: number
  readonly startedAt: number
  /** Null: it is running. */
  readonly endedAt: number | null
  /** Why it failed. */
  readonly error: string | null
}

interface QueueWorkDeps extends Store {
  readonly clock: Clock
  /** Called after each portion. */
  readonly onQueueChanged: () => void
}

export class QueueWork {
  private state: QueueWorkState | null = null
  private running: Promise<void> = Promise.resolve()
  private stopping = false

  constructor(private readonly deps: QueueWorkDeps) {}

  /** The present or the last one; null: none since the start. */
  show(): QueueWorkState | null {
    return this.state
  }

  /** Throws a Refusal `conflict` while another is running. */
  start(act: QueueAct, filter: QueueFilter, actor: Actor): QueueWorkState {
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
    this.state = begun
    this.stopping = false
    this.running = this.perform(begun, actor)
    return begun
  }

  /** Ends it after its portion. */
  async stop(): Promise<void> {
    this.stopping = true
    await this.running
  }

  private async perform(begun: QueueWorkState, actor: Actor): Promise<void> {
    const { act, filter } = begun
    const { clock } = this.deps
    let state = begun
    const update = (change: Partial<QueueWorkState>): void => {
      state = { ...state, ...change }
      this.state = state
    }
    try {
      const work = { act, filter, actor, isStopping: () => this.stopping }
      const ended = await changeAll(this.deps, work, (changed, missed) =>
        update({ changed: state.changed + changed, missed: state.missed + missed }),
      )
      update({ state: ended, endedAt: clock() })
    } catch (error) {
      update({ state: 'failed', endedAt: clock(), error: errorMessageOf(error) })
    }
  }
}

interface Performed {
  readonly act: QueueAct
  readonly filter: QueueFilter
  readonly actor: Actor
  readonly isStopping: () => boolean
}

async function changeAll(
  { read, commit, clock, onQueueChanged }: QueueWorkDeps,
  { act, filter, actor, isStopping }: Performed,
  onPortion: (changed: number, missed: number) => void,
): Promise<'completed' | 'stopped'> {
  for (let after: string | null = ''; after !== null; ) {
    const { entries, next } = await readQueuePage(read, { filter, after, limit: PORTION })
    if (isStopping()) return 'stopped'
    const { changed, missed } = await changeEntries(commit, entries, { act, actor, now: clock() })
    onPortion(changed.length, missed.length)
    if (changed.length > 0) onQueueChanged()
    after = next
  }
  return 'completed'
}
