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

export interface QueueWork {
  /** Throws a Refusal `conflict` while another is running. */
  readonly start: (act: QueueAct, filter: QueueFilter, actor: Actor) => QueueWorkState
  /** The present or the last one; null: none since the start. */
  readonly show: () => QueueWorkState | null
  /** Ends it after its portion. */
  readonly stop: () => Promise<void>
}

interface QueueWorkDeps extends Store {
  readonly clock: Clock
  /** Called after each portion. */
  readonly onQueueChanged: () => void
}

export function createQueueWork(deps: QueueWorkDeps): QueueWork {
  let state: QueueWorkState | null = null
  let running: Promise<void> = Promise.resolve()
  let stopping = false
  const update = (change: Partial<QueueWorkState>): void => {
    if (state !== null) state = { ...state, ...change }
  }
  const perform = async (act: QueueAct, filter: QueueFilter, actor: Actor): Promise<void> => {
    try {
      const ended = await changeAll(deps, { act, filter, actor, isStopping: () => stopping }, (changed, missed) =>
        update({ changed: (state?.changed ?? 0) + changed, missed: (state?.missed ?? 0) + missed }),
      )
      update({ state: ended, endedAt: deps.clock() })
    } catch (error) {
      update({ state: 'failed', endedAt: deps.clock(), error: errorMessageOf(error) })
    }
  }
  return {
    show: () => state,
    start: (act, filter, actor) => {
      if (state?.state === 'running') throw new Refusal('conflict', 'another act on the queue is running')
      stopping = false
      const startedAt = deps.clock()
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
      state = begun
      running = perform(act, filter, actor)
      return begun
    },
    stop: async () => {
      stopping = true
      await running
    },
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
