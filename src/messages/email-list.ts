/**
 * Emails of a workspace, newest first, in pages.
 *
 * Each read walks one index backwards (`emails_listed`, or `emails_by_status`) and sorts nothing. Totals
 * come from counters that triggers maintain, so no list counts rows.
 *
 * An offset has to be walked over; that is done along the index alone, in steps (`storage/stepped-walk.ts`), so an
 * offset of a million emails blocks nothing. Emails that arrive meanwhile may shift a page's rows, as they do
 * between two pages.
 */
import { type Slice, seekOffset } from '../storage/paging.js'
import { prepareRead, type Read } from '../storage/prepared.js'
import type { EmailStatus } from '../storage/tables/email-tables.js'
import type { Email } from './email.js'

export type ListedEmail = Pick<
  Email,
  'id' | 'from_email' | 'from_name' | 'to_emails' | 'subject' | 'status' | 'created_at' | 'sent_at'
>

export interface EmailFilter {
  readonly workspaceId: string
  /** Null for any. */
  readonly status: EmailStatus | null
}

/** In the order of the index; the list continues below it. */
interface Cursor {
  readonly createdAt: number
  readonly id: string
}

const START_CURSOR: Cursor = { createdAt: Number.MAX_SAFE_INTEGER, id: '' }

export function countEmails(read: Read, { workspaceId, status }: EmailFilter): number {
  const counts = countsOf(read, { workspaceId })
  const counted = status === null ? counts : counts.filter((row) => row.status === status)
  return counted.reduce((sum, { count }) => sum + count, 0)
}

export async function listEmails(
  read: Read,
  filter: EmailFilter,
  { offset, limit }: Slice,
): Promise<readonly ListedEmail[]> {
  if (offset >= countEmails(read, filter)) return []
  const place = await seekOffset(START_CURSOR, offset, (from, skip) => findCursorAfter(read, filter, from, skip)[0])
  return place === null ? [] : readPageAfter(read, filter, place, limit)
}

type WorkspaceCursor = { workspaceId: string } & Cursor
type StatusCursor = WorkspaceCursor & { status: EmailStatus }

function findCursorAfter(
  read: Read,
  { workspaceId, status }: EmailFilter,
  place: Cursor,
  skip: number,
): readonly Cursor[] {
  return status === null
    ? cursorOfAll(read, { workspaceId, ...place, skip })
    : cursorOfStatus(read, { workspaceId, status, ...place, skip })
}

function readPageAfter(
  read: Read,
  { workspaceId, status }: EmailFilter,
  place: Cursor,
  limit: number,
): readonly ListedEmail[] {
  return status === null
    ? pageOfAll(read, { workspaceId, ...place, limit })
    : pageOfStatus(read, { workspaceId, status, ...place, limit })
}

const countsOf = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db.selectFrom('email_counts').select(['status', 'count']).where('workspace_id', '=', slot('workspaceId')),
)

const columns = ['id', 'from_email', 'from_name', 'to_emails', 'subject', 'status', 'created_at', 'sent_at'] as const

const pageOfAll = prepareRead<WorkspaceCursor & { limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('emails')
    .select(columns)
    .where('workspace_id', '=', slot('workspaceId'))
    .where('broadcast_id', 'is', null)
    .where((eb) => eb(eb.refTuple('created_at', 'id'), '<', eb.tuple(slot('createdAt'), slot('id'))))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(slot('limit')),
)

const pageOfStatus = prepareRead<StatusCursor & { limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('emails')
    .select(columns)
    .where('workspace_id', '=', slot('workspaceId'))
    .where('broadcast_id', 'is', null)
    .where('status', '=', slot('status'))
    .where((eb) => eb(eb.refTuple('created_at', 'id'), '<', eb.tuple(slot('createdAt'), slot('id'))))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(slot('limit')),
)

const cursorOfAll = prepareRead<WorkspaceCursor & { skip: number }>()(({ db, slot }) =>
  db
    .selectFrom('emails')
    .select(['id', 'created_at as createdAt'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('broadcast_id', 'is', null)
    .where((eb) => eb(eb.refTuple('created_at', 'id'), '<', eb.tuple(slot('createdAt'), slot('id'))))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .offset(slot('skip')),
)

const cursorOfStatus = prepareRead<StatusCursor & { skip: number }>()(({ db, slot }) =>
  db
    .selectFrom('emails')
    .select(['id', 'created_at as createdAt'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('broadcast_id', 'is', null)
    .where('status', '=', slot('status'))
    .where((eb) => eb(eb.refTuple('created_at', 'id'), '<', eb.tuple(slot('createdAt'), slot('id'))))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .offset(slot('skip')),
)
