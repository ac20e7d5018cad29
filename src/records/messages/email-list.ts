/**
 * Lists emails of a workspace, newest first, in pages: emails of one broadcast, or emails that belong to none.
 *
 * Each read walks one index backwards (`emails_listed`, or one of a status) and sorts nothing. Triggers maintain
 * counters for the totals, so no list counts rows. The total of a broadcast does not fall when its old emails are
 * removed.
 *
 * An offset has to be walked over. The walk uses only the index, in steps (`base/storage/db/stepped-walk.ts`), so an
 * offset of a million emails blocks nothing. Emails that arrive during the walk may shift a page's rows, as they do
 * between two pages.
 */
import { type PageSlice, seekOffset } from '../../base/storage/db/paging.js'
import { prepareLongRead, prepareRead, type Read } from '../../base/storage/db/prepared.js'
import type { EmailStatus } from '../../base/storage/tables/email-tables.js'
import { type Email, emailById } from './email/email.js'
import { type RecipientCountColumn, recipientCountColumns } from './email/recipient-counts.js'
import { findsByRecipient, prepareFilteredRead } from './email/status-filter.js'

export type ListedEmail = Pick<
  Email,
  | 'id'
  | 'message_id'
  | 'from_email'
  | 'from_name'
  | 'to_emails'
  | 'cc_emails'
  | 'bcc_emails'
  | 'reply_to'
  | 'subject'
  | 'status'
  | 'created_at'
  | 'scheduled_for'
  | 'sent_at'
  | 'opened_at'
  | 'clicked_at'
  | RecipientCountColumn
>

export interface EmailFilter {
  readonly workspaceId: string
  /** Null for any status. See `status-filter.ts`. */
  readonly status: EmailStatus | null
  /** Null for the emails that belong to no broadcast. */
  readonly broadcastId: string | null
}

/** A place in the order of the index. The list continues below it. */
interface Cursor {
  readonly createdAt: number
  readonly id: string
}

const START_CURSOR: Cursor = { createdAt: Number.MAX_SAFE_INTEGER, id: '' }

export async function countEmails(read: Read, { workspaceId, status, broadcastId }: EmailFilter): Promise<number> {
  if (broadcastId !== null) return countOfBroadcast(read, workspaceId, broadcastId, status)
  const counts = await countsOf(read, { workspaceId })
  if (status === null) return counts.reduce((sum, { count }) => sum + count, 0)
  const counted = counts.find((row) => row.status === status)
  return (findsByRecipient(status) ? counted?.listed : counted?.count) ?? 0
}

export async function listEmails(
  read: Read,
  filter: EmailFilter,
  { after, offset, limit }: PageSlice,
): Promise<readonly ListedEmail[]> {
  if (offset >= (await countEmails(read, filter))) return []
  const top = after === undefined ? START_CURSOR : await cursorOf(read, { workspaceId: filter.workspaceId, id: after })
  if (top === null) return []
  const place = await seekOffset(
    top,
    offset,
    async (from, skip) => (await findCursorAfter(read, { ...filter, ...from, skip }))[0],
  )
  return place === null ? [] : readPageAfter(read, { ...filter, ...place, limit })
}

/** The newest email of a workspace, of a broadcast or not. */
export const newestEmail = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('emails')
    .select(['id', 'status', 'subject', 'created_at'])
    .where('workspace_id', '=', slot('workspaceId'))
    .orderBy('created_at', 'desc')
    .limit(1),
)

async function cursorOf(
  read: Read,
  email: { readonly workspaceId: string; readonly id: string },
): Promise<Cursor | null> {
  const [row] = await emailById(read, email)
  return row === undefined ? null : { createdAt: row.created_at, id: row.id }
}

type FilteredCursor = Pick<EmailFilter, 'workspaceId' | 'broadcastId'> & Cursor

const countsOf = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('email_counts')
    .select((eb) => ['status', eb.fn.sum<number>('count').as('count'), eb.fn.sum<number>('listed').as('listed')])
    .where('workspace_id', '=', slot('workspaceId'))
    .groupBy('status'),
)

const broadcastColumns = [
  ...([
    'recipients',
    'scheduled',
    'queued',
    'sent',
    'delivered',
    'bounced',
    'failed',
    'cancelled',
    'complained',
  ] as const),
]

const countsOfBroadcast = prepareRead<{ workspaceId: string; broadcastId: string }>()(({ db, slot }) =>
  db
    .selectFrom('broadcast_counts')
    .select((eb) => broadcastColumns.map((column) => eb.fn.sum<number | null>(column).as(column)))
    .where('broadcast_id', '=', slot('broadcastId'))
    .where('workspace_id', '=', slot('workspaceId')),
)

async function countOfBroadcast(
  read: Read,
  workspaceId: string,
  broadcastId: string,
  status: EmailStatus | null,
): Promise<number> {
  return (await countsOfBroadcast(read, { workspaceId, broadcastId }))[0]?.[status ?? 'recipients'] ?? 0
}

const columns = [
  'id',
  'message_id',
  'from_email',
  'from_name',
  'to_emails',
  'cc_emails',
  'bcc_emails',
  'reply_to',
  'subject',
  'status',
  'created_at',
  'scheduled_for',
  'sent_at',
  'opened_at',
  'clicked_at',
  ...recipientCountColumns,
] as const

const readPageAfter = prepareFilteredRead<FilteredCursor & { limit: number }>()(({ db, slot }, condition) =>
  db
    .selectFrom('emails')
    .select(columns)
    .where('workspace_id', '=', slot('workspaceId'))
    .where(condition)
    .where((eb) => eb(eb.refTuple('created_at', 'id'), '<', eb.tuple(slot('createdAt'), slot('id'))))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(slot('limit')),
)

const findCursorAfter = prepareFilteredRead<FilteredCursor & { skip: number }>(prepareLongRead)(
  ({ db, slot }, condition) =>
    db
      .selectFrom('emails')
      .select(['id', 'created_at as createdAt'])
      .where('workspace_id', '=', slot('workspaceId'))
      .where(condition)
      .where((eb) => eb(eb.refTuple('created_at', 'id'), '<', eb.tuple(slot('createdAt'), slot('id'))))
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(1)
      .offset(slot('skip')),
)
