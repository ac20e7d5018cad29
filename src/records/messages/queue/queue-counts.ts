/**
 * Counts how many recipients of a workspace wait in the queue, and for what.
 *
 * The entries are counted in steps, at most 10,000 of each kind of hold. If the queue is longer, `isComplete` is false,
 * and of each node only the entries that are due first are counted.
 */
import { prepareRead, type Read } from '../../../base/storage/db/prepared.js'
import { ROW_STEP, waitForStep } from '../../../base/storage/db/stepped-walk.js'
import { allHolds, type Hold } from '../../../base/storage/tables/hold.js'
import { listQueueNodes } from './queue-nodes.js'
import { type WaitReason, waitReasonOf } from './wait-reason.js'

/** The most entries that are counted of each kind of hold. */
const MAX_COUNTED = 10_000

interface Position {
  readonly node: string
  readonly workspaceId: string
  readonly held: Hold
  readonly afterTime: number
  readonly afterId: string
  readonly limit: number
}

const nextEntries = prepareRead<Position>()(({ db, slot }) =>
  db
    .selectFrom('queue')
    .select(['id', 'attempts', 'leased', 'held', 'next_attempt_at', 'waits_for'])
    .where('node', '=', slot('node'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('held', '=', slot('held'))
    .where((eb) => eb(eb.refTuple('next_attempt_at', 'id'), '>', eb.tuple(slot('afterTime'), slot('afterId'))))
    .orderBy('next_attempt_at')
    .orderBy('id')
    .limit(slot('limit')),
)

type Entry = Awaited<ReturnType<typeof nextEntries>>[number]

const noCounts = {
  /** Entries that are due, and were not attempted yet. */
  waiting: 0,
  /** Entries that are being attempted. */
  sending: 0,
  /** Entries whose attempt failed for now. They are retried. */
  deferred: 0,
  /** Entries whose hosts are all known to be down, or for which a provider or a warm-up allows nothing more for now. */
  unreachable: 0,
  /** Entries that will be sent later. */
  scheduled: 0,
  /** Entries that the operator holds, by hand or by a rule. */
  held: 0,
  /** Entries that members of the workspace hold. */
  heldByMembers: 0,
  /** The entries of a paused or cancelled broadcast. */
  paused: 0,
}

type Counts = Readonly<typeof noCounts>

interface QueueCounts extends Counts {
  /** False if the queue is longer than what was counted. */
  readonly isComplete: boolean
}

export async function countQueue(read: Read, workspaceId: string, now: number): Promise<QueueCounts> {
  const counts = { ...noCounts }
  let isComplete = true
  const nodes = await listQueueNodes(read)
  for (const held of allHolds) {
    let counted = 0
    for await (const entries of walkEntries(read, nodes, { workspaceId, held })) {
      if (counted >= MAX_COUNTED) {
        isComplete = false
        break
      }
      for (const entry of entries) counts[kindOf(entry, now)] += 1
      counted += entries.length
    }
  }
  return { ...counts, isComplete }
}

/** Yields the entries in portions that are not empty, of one node after the other. */
async function* walkEntries(
  read: Read,
  nodes: readonly string[],
  of: Pick<Position, 'workspaceId' | 'held'>,
): AsyncGenerator<readonly Entry[]> {
  for (const node of nodes) {
    let position: Position = { ...of, node, afterTime: -1, afterId: '', limit: ROW_STEP }
    for (;;) {
      const entries = await nextEntries(read, position)
      const last = entries.at(-1)
      if (last === undefined) break
      yield entries
      if (entries.length < ROW_STEP) break
      await waitForStep()
      position = { ...position, afterTime: last.next_attempt_at, afterId: last.id }
    }
  }
}

const kinds: Readonly<Partial<Record<WaitReason, keyof Counts>>> = {
  held: 'held',
  'hold-rule': 'held',
  'paused-broadcast': 'paused',
  'held-by-workspace': 'heldByMembers',
  sending: 'sending',
  'provider-pause': 'unreachable',
  'warming-up': 'unreachable',
  'host-down': 'unreachable',
  scheduled: 'scheduled',
  'not-tried': 'waiting',
}

/** Judges an entry alone: it is scheduled if it was never attempted and is not due. An expired lease does not count. */
function kindOf(entry: Entry, now: number): keyof Counts {
  const isLater = entry.next_attempt_at > now
  const leased = isLater ? entry.leased : 0
  const reason = waitReasonOf({ ...entry, leased, recipient_status: isLater ? 'scheduled' : 'queued', reason: null })
  return kinds[reason] ?? 'deferred'
}
