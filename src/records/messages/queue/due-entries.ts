/**
 * Reads the part of the queue that a node serves, in the order in which it is served, in small pages.
 *
 * Each read walks an index: `queue_due` for all of a workspace, `queue_lanes` for one lane (workspace, domain,
 * priority), so that its cost does not grow with the queue, nor with that of other nodes.
 */
import type { DomainName } from '../../../base/mail/address.js'
import { prepareRead } from '../../../base/storage/db/prepared.js'
import { HOLD } from '../../../base/storage/tables/hold.js'

interface DueQuery {
  readonly node: string
  readonly workspaceId: string
  /** The read returns entries after this time and id, where the last page ended. */
  readonly afterTime: number
  readonly afterId: string
  readonly now: number
  readonly limit: number
}

/** Reads due entries of one workspace in order of time. */
export const dueEntriesOfWorkspace = prepareRead<DueQuery>()(({ db, slot }) =>
  db
    .selectFrom('queue')
    .selectAll()
    .where('node', '=', slot('node'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('held', '=', HOLD.none)
    .where('next_attempt_at', '<=', slot('now'))
    .where((eb) => eb(eb.refTuple('next_attempt_at', 'id'), '>', eb.tuple(slot('afterTime'), slot('afterId'))))
    .orderBy('next_attempt_at')
    .orderBy('id')
    .limit(slot('limit')),
)

interface LaneQuery {
  readonly node: string
  readonly workspaceId: string
  readonly domain: DomainName
  readonly priority: 0 | 1 | 2
  readonly now: number
  readonly limit: number
}

/** Reads an entry, unless another node has it. */
export const ownEntryById = prepareRead<{ id: string; node: string }>()(({ db, slot }) =>
  db.selectFrom('queue').selectAll().where('id', '=', slot('id')).where('node', '=', slot('node')),
)

/** Reads ids of due entries of one lane, oldest first, only from the index. */
export const dueIdsOfLane = prepareRead<LaneQuery>()(({ db, slot }) =>
  db
    .selectFrom('queue')
    .select('id')
    .where('node', '=', slot('node'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('domain', '=', slot('domain'))
    .where('priority', '=', slot('priority'))
    .where('held', '=', HOLD.none)
    .where('next_attempt_at', '<=', slot('now'))
    .orderBy('next_attempt_at')
    .limit(slot('limit')),
)

/** Reads the next workspace of which the node has entries in the queue, in one step of an index. */
export const nextWorkspaceInQueue = prepareRead<{ node: string; after: string }>()(({ db, slot }) =>
  db
    .selectFrom('queue')
    .select('workspace_id')
    .where('node', '=', slot('node'))
    .where('workspace_id', '>', slot('after'))
    .orderBy('workspace_id')
    .limit(1),
)
