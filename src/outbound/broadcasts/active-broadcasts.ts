/**
 * Reads that find the broadcasts with work to do, and the contacts of one. Each read walks an index, so its cost grows
 * with the broadcasts that are under way, not with waiting or finished ones.
 */
import { sql } from 'kysely'
import { prepareRead, type Read } from '../../base/storage/db/prepared.js'

/** The condition must be the same as in the index `broadcasts_running`. */
const runningPage = prepareRead<{ after: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('broadcasts')
    .select(['id', 'workspace_id', 'status'])
    .where(sql<boolean>`status in ('sending', 'paused', 'cancelled')`)
    .where('finished_at', 'is', null)
    .where('id', '>', slot('after'))
    .orderBy('id')
    .limit(slot('limit')),
)

export type RunningBroadcast = Awaited<ReturnType<typeof runningPage>>[number]

const PAGE_SIZE = 200

/** Lists all broadcasts that are sending, paused, or cancelled with entries left in the queue, the oldest first. */
export async function listRunningBroadcasts(read: Read): Promise<readonly RunningBroadcast[]> {
  const running: RunningBroadcast[] = []
  for (let after = ''; ; ) {
    const page = await runningPage(read, { after, limit: PAGE_SIZE })
    running.push(...page)
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_SIZE) return running
    after = last.id
  }
}

/** Reads the scheduled broadcasts whose time has come, the oldest first. */
export const dueBroadcasts = prepareRead<{ now: number; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('broadcasts')
    .select(['id', 'workspace_id', 'status'])
    .where('status', '=', sql.lit('scheduled'))
    .where('scheduled_for', '<=', slot('now'))
    .orderBy('scheduled_for')
    .limit(slot('limit')),
)

interface ContactsQuery {
  readonly workspaceId: string
  readonly audienceId: string
  /** The read returns contacts after this id, up to and including the other id. */
  readonly after: string
  readonly ceiling: string
  readonly limit: number
}

/** Reads contacts of an audience in the order of their ids. */
export const nextContacts = prepareRead<ContactsQuery>()(({ db, slot }) =>
  db
    .selectFrom('contacts')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('audience_id', '=', slot('audienceId'))
    .where('id', '>', slot('after'))
    .where('id', '<=', slot('ceiling'))
    .orderBy('id')
    .limit(slot('limit')),
)
