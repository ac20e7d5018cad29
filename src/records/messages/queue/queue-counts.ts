/**
 * Counts how many recipients of a workspace wait in the queue, and for what.
 *
 * The entries are counted in steps, 10,000 of each kind of hold at most: what the counts are of a longer queue is
 * `isComplete: false`, and the counts are those of the entries that are due first.
 */
import { prepareRead, type Read } from '../../../base/storage/db/prepared.js'
import { ROW_STEP, waitForStep } from '../../../base/storage/db/stepped-walk.js'
import type { Hold } from '../../../base/storage/tables/email-tables.js'

/** Entries that are counted of each kind of hold. */
const MAX_COUNTED = 10_000

interface Position {
  readonly workspaceId: string
  readonly held: Hold
  readonly afterTime: number
  readonly afterId: string
  readonly limit: number
}

const nextEntries = prepareRead<Position>()(({ db, slot }) =>
  db
    .selectFrom('queue')
    .select(['id', 'attempts', 'leased', 'next_attempt_at', 'waits_for'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('held', '=', slot('held'))
    .where((eb) => eb(eb.refTuple('next_attempt_at', 'id'), '>', eb.tuple(slot('afterTime'), slot('afterId'))))
    .orderBy('next_attempt_at')
    .orderBy('id')
    .limit(slot('limit')),
)

type Entry = ReturnType<typeof nextEntries>[number]

const noCounts = {
  /** Due, not attempted yet. */
  waiting: 0,
  /** Being attempted. */
  sending: 0,
  /** An attempt failed for now; they are retried. */
  deferred: 0,
  /** All hosts of the recipient are known to be down. */
  unreachable: 0,
  /** To be sent later. */
  scheduled: 0,
  /** Held by the operator, by hand or by a rule. */
  held: 0,
  /** Held by members of the workspace. */
  heldByMembers: 0,
  /** The entries of a paused or cancelled broadcast. */
  paused: 0,
}

type Counts = Readonly<typeof noCounts>

interface QueueCounts extends Counts {
  /** False: the queue is longer than what was counted. */
  readonly isComplete: boolean
}

export async function countQueue(read: Read, workspaceId: string, now: number): Promise<QueueCounts> {
  const counts = { ...noCounts }
  let isComplete = true
  const count = async (held: Hold): Promise<void> => {
    let position: Position = { workspaceId, held, afterTime: -1, afterId: '', limit: ROW_STEP }
    for (let counted = 0; ; counted += ROW_STEP) {
      if (counted >= MAX_COUNTED) {
        isComplete = false
        return
      }
      if (counted > 0) await waitForStep()
      const entries = nextEntries(read, position)
      for (const entry of entries) counts[kindOf(entry, held, now)] += 1
      const last = entries.at(-1)
      if (last === undefined || entries.length < ROW_STEP) return
      position = { ...position, afterTime: last.next_attempt_at, afterId: last.id }
    }
  }
  for (const held of [0, 1, 2, 3, 4] as const) await count(held)
  return { ...counts, isComplete }
}

function kindOf(
  { attempts, leased, next_attempt_at: at, waits_for: host }: Entry,
  held: Hold,
  now: number,
): keyof Counts {
  if (held === 1 || held === 4) return 'held'
  if (held === 2) return 'paused'
  if (held === 3) return 'heldByMembers'
  if (leased === 1 && at > now) return 'sending'
  if (host !== null) return 'unreachable'
  if (attempts > 0) return 'deferred'
  return at > now ? 'scheduled' : 'waiting'
}
