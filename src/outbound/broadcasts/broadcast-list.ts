/** Reads the broadcasts of a workspace: pages of them, their number, and one that must exist. */
import { sql } from 'kysely'
import { formatForDisplay } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import { MAX_ID, type PageSlice, seekOffset } from '../../base/storage/db/paging.js'
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'
import {
  type Broadcast,
  type BroadcastRef,
  type BroadcastSummary,
  broadcastById,
  broadcastSummaryById,
  summaryColumns,
} from './broadcast-records.js'

interface PageQuery {
  readonly workspaceId: string
  readonly before: string
}

const skipBroadcasts = prepareRead<PageQuery & { skip: number }>()(({ db, slot }) =>
  db
    .selectFrom('broadcasts')
    .select('id')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('id', '<', slot('before'))
    .orderBy('id', 'desc')
    .limit(1)
    .offset(slot('skip')),
)

const broadcastsBefore = prepareRead<PageQuery & { limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('broadcasts')
    .select(summaryColumns)
    .where('workspace_id', '=', slot('workspaceId'))
    .where('id', '<', slot('before'))
    .orderBy('id', 'desc')
    .limit(slot('limit')),
)

/** Lists the newest broadcasts first, without their bodies. */
export async function listBroadcasts(
  read: Read,
  workspaceId: string,
  { after, offset, limit }: PageSlice,
): Promise<readonly BroadcastSummary[]> {
  const findSkippedId = async (before: string, skip: number) =>
    (await skipBroadcasts(read, { workspaceId, before, skip }))[0]?.id
  const before = await seekOffset(after ?? MAX_ID, offset, findSkippedId)
  return before === null ? [] : await broadcastsBefore(read, { workspaceId, before, limit })
}

const countAll = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('broadcasts')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('workspace_id', '=', slot('workspaceId')),
)

export async function countBroadcasts(read: Read, workspaceId: string): Promise<number> {
  return (await countAll(read, { workspaceId }))[0]?.count ?? 0
}

/** The first two conditions must be the same as in the index `broadcasts_active`. */
const countActive = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('broadcasts')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('status', '<>', sql.lit('draft'))
    .where('finished_at', 'is', null)
    .where('workspace_id', '=', slot('workspaceId')),
)

/** Counts the broadcasts that are scheduled, sending, paused, or being cancelled. */
export async function countActiveBroadcasts(read: Read, workspaceId: string): Promise<number> {
  return (await countActive(read, { workspaceId }))[0]?.count ?? 0
}

/** Throws a Refusal `not-found`. */
export async function requireBroadcast(read: Read, ref: BroadcastRef): Promise<Broadcast> {
  const [found] = await broadcastById(read, ref)
  if (found === undefined) throw buildBroadcastNotFound(ref.id)
  return found
}

const findCounts = prepareRead<BroadcastRef>()(({ db, slot }) =>
  db
    .selectFrom('broadcast_counts')
    .select('recipients')
    .where('broadcast_id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId'))
    .limit(1),
)

/** Throws a Refusal `not-found` unless the broadcast exists, or was deleted and had recipients. */
export async function requireKnownBroadcast(read: Read, ref: BroadcastRef): Promise<void> {
  if ((await broadcastSummaryById(read, ref))[0] === undefined && (await findCounts(read, ref))[0] === undefined) {
    throw buildBroadcastNotFound(ref.id)
  }
}

function buildBroadcastNotFound(id: string): Refusal {
  return new Refusal('not-found', `no such broadcast: ${formatForDisplay(id)}`, { id: formatForDisplay(id) })
}
