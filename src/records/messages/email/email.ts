/**
 * An *email* is the record of one message that was sent: its content, its sender and its status.
 *
 * The bytes are in `raw_messages`. They are immutable once accepted, and lists never read them.
 */
import type { Selectable } from 'kysely'
import { prepareInsert, prepareRead, prepareWrite } from '../../../base/storage/db/prepared.js'
import type { Tables } from '../../../base/storage/tables/tables.js'
import { recipientCountColumns } from './recipient-counts.js'

export type Email = Selectable<Tables['emails']>

const columns = [
  'id',
  'workspace_id',
  'source',
  'message_id',
  'envelope_from',
  'envid',
  'ret',
  'from_email',
  'from_name',
  'to_emails',
  'cc_emails',
  'bcc_emails',
  'reply_to',
  'subject',
  'tags',
  'track_opens',
  'track_clicks',
  'tracking_skipped',
  'has_copies',
  'priority',
  'size',
  'smtputf8',
  'tls_required',
  'status',
  'created_at',
  'scheduled_for',
  'sent_at',
  'delivered_at',
  'opened_at',
  'clicked_at',
  'bounced_at',
  'key_id',
  'template_id',
  'from_domain',
  'broadcast_id',
  ...recipientCountColumns,
] as const satisfies readonly (keyof Email)[]

export const insertEmail = prepareInsert<Email>(({ db, slots }) => db.insertInto('emails').values(slots(columns)))

export const emailById = prepareRead<{ workspaceId: string; id: string }>()(({ db, slot }) =>
  db.selectFrom('emails').select(columns).where('id', '=', slot('id')).where('workspace_id', '=', slot('workspaceId')),
)

/** Marks an email as complained. The status stays: no roll-up replaces it. */
export const markComplained = prepareWrite<{ workspaceId: string; id: string }>(({ db, slot }) =>
  db
    .updateTable('emails')
    .set({ status: 'complained' })
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)

/** Reads an email of any workspace, for the operator. */
export const emailOfAnyWorkspace = prepareRead<{ id: string }>()(({ db, slot }) =>
  db.selectFrom('emails').select(columns).where('id', '=', slot('id')),
)
