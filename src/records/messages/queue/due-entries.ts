/**
 * Reads the queue in the order in which it is served, in small pages.
 *
 * Each read walks an index: `queue_due` for all of a workspace, `queue_lanes` for one lane (workspace, domain,
 * priority), so that its cost does not grow with the queue.
 */
import type { DomainName } from '../../../base/mail/address.js'
import { prepareRead } from '../../../base/storage/db/prepared.js'
import { HOLD } from '../../../base/storage/tables/hold.js'

interface DueQuery {
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
    .where('workspace_id', '=', slot('workspaceId'))
    .where('held', '=', HOLD.none)
    .where('next_attempt_at', '<=', slot('now'))
    .where((eb) => eb(eb.refTuple('next_attempt_at', 'id'), '>', eb.tuple(slot('afterTime'), slot('afterId'))))
    .orderBy('next_attempt_at')
    .orderBy('id')
    .limit(slot('limit')),
)

interface LaneQuery {
  readonly workspaceId: string
  readonly domain: DomainName
  readonly priority: 0 | 1 | 2
  readonly now: number
  readonly limit: number
}

/** Reads ids of due entries of one lane, oldest first, only from the index. */
export const dueIdsOfLane = prepareRead<LaneQuery>()(({ db, slot }) =>
  db
    .selectFrom('queue')
    .select('id')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('domain', '=', slot('domain'))
    .where('priority', '=', slot('priority'))
    .where('held', '=', HOLD.none)
    .where('next_attempt_at', '<=', slot('now'))
    .orderBy('next_attempt_at')
    .limit(slot('limit')),
)

/** Reads the next workspace that has entries in the queue, in one step of an index. */
export const nextWorkspaceInQueue = prepareRead<{ after: string }>()(({ db, slot }) =>
  db
    .selectFrom('queue')
    .select('workspace_id')
    .where('workspace_id', '>', slot('after'))
    .orderBy('workspace_id')
    .limit(1),
)
