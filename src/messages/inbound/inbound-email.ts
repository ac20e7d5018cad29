/**
 * Inbound mail, one record for each workspace that a message was sent to.
 *
 *   received -> processed | failed        on disk before the 250; processed after it
 *
 * Mail to a return path is stored in the same way until it was read, as a `report`: it belongs to no workspace,
 * and no list or id of the API finds it. A report about other recipients alone stays until retention removes it. A
 * message that cannot be read has failed, and its bytes stay.
 */
import { type Selectable, sql } from 'kysely'
import { prepareRead, prepareWrite, type Read } from '../../storage/prepared.js'
import { storedBytes } from '../../storage/spool/stored-bytes.js'
import { parseJson, toJson } from '../../storage/tables/columns.js'
import type { Arrival } from '../../storage/tables/inbound-tables.js'
import type { Tables } from '../../storage/tables/tables.js'
import type { MovedBytes, Write } from '../../storage/writer/write.js'

export type InboundEmail = Selectable<Tables['inbound_emails']>

/** What is known before the message is processed. */
export type NewInbound = Pick<
  InboundEmail,
  | 'id'
  | 'workspace_id'
  | 'kind'
  | 'domain'
  | 'envelope_from'
  | 'envelope_to'
  | 'client_address'
  | 'helo'
  | 'spf_result'
  | 'dkim_result'
  | 'dmarc_result'
  | 'authentication'
  | 'received_at'
> & { readonly arrival: Arrival }

/** The fields that processing adds. */
export type InboundContent = Pick<
  InboundEmail,
  | 'message_id'
  | 'reference_ids'
  | 'from_email'
  | 'from_name'
  | 'to_emails'
  | 'cc_emails'
  | 'subject'
  | 'has_html'
  | 'has_text'
  | 'attachment_count'
  | 'spam_status'
  | 'spam_score'
  | 'spam_report'
>

type ProcessedInbound = InboundContent & Pick<InboundEmail, 'id' | 'workspace_id'> & { readonly at: number }

/** What processing fills in. */
const unprocessed = {
  status: 'received',
  message_id: null,
  reference_ids: toJson([]),
  from_email: '',
  from_key: '',
  from_name: '',
  to_emails: toJson([]),
  cc_emails: toJson([]),
  subject: '',
  has_html: 0,
  has_text: 0,
  attachment_count: 0,
  spam_status: null,
  spam_score: null,
  spam_report: toJson([]),
  processed_at: null,
} as const

const insertInbound = prepareWrite<InboundEmail>(({ db, slot }) =>
  db.insertInto('inbound_emails').values({
    id: slot('id'),
    workspace_id: slot('workspace_id'),
    kind: slot('kind'),
    ...unprocessed,
    domain: slot('domain'),
    envelope_from: slot('envelope_from'),
    envelope_to: slot('envelope_to'),
    client_address: slot('client_address'),
    helo: slot('helo'),
    spf_result: slot('spf_result'),
    dkim_result: slot('dkim_result'),
    dmarc_result: slot('dmarc_result'),
    authentication: slot('authentication'),
    arrival: slot('arrival'),
    size: slot('size'),
    received_at: slot('received_at'),
  }),
)

type NewInboundRaw = Pick<Tables['inbound_raw'], 'inbound_id' | 'workspace_id' | 'received_at'> & {
  readonly raw: Buffer | MovedBytes
}

/** The writer may put the bytes, which are the last value, into a spool file. */
const insertInboundRaw = prepareWrite<NewInboundRaw>(({ db, slot }) =>
  db.insertInto('inbound_raw').values({
    inbound_id: slot('inbound_id'),
    workspace_id: slot('workspace_id'),
    received_at: slot('received_at'),
    raw: sql<Buffer>`${slot('raw')}`,
  }),
)

/** The record and its bytes, for the commit before the 250. */
export function storeInbound(newInbound: NewInbound, raw: Buffer | MovedBytes): Write[] {
  return storeUnprocessed(toUnprocessed(newInbound, raw.length), raw)
}

/** The same for a record of `toUnprocessed`. */
export function storeUnprocessed(email: InboundEmail, raw: Buffer | MovedBytes): Write[] {
  const { id: inbound_id, workspace_id, received_at } = email
  return [insertInbound(email), insertInboundRaw({ inbound_id, workspace_id, received_at, raw })]
}

/** The record as it is until it is processed. `size`: of the message as stored. */
export function toUnprocessed({ arrival, ...known }: NewInbound, size: number): InboundEmail {
  return { ...known, ...unprocessed, size, arrival: toJson(arrival) }
}

export function parseArrival({ arrival }: Pick<InboundEmail, 'arrival'>): Arrival {
  return { earlyTalker: false, listings: [], allowListings: [], spamReason: null, ...parseJson(arrival) }
}

/** Misses if it was processed before, or deleted in the meantime. A verdict that a person has given by then stays. */
export const markProcessed = prepareWrite<ProcessedInbound>(
  ({ db, slot }) =>
    db
      .updateTable('inbound_emails')
      .set((eb) => ({
        status: 'processed',
        message_id: slot('message_id'),
        reference_ids: slot('reference_ids'),
        from_email: slot('from_email'),
        from_key: eb.fn<string>('lower', [eb.val(slot('from_email'))]),
        from_name: slot('from_name'),
        to_emails: slot('to_emails'),
        cc_emails: slot('cc_emails'),
        subject: slot('subject'),
        has_html: slot('has_html'),
        has_text: slot('has_text'),
        attachment_count: slot('attachment_count'),
        spam_status: eb.fn.coalesce('spam_status', eb.val(slot('spam_status'))),
        spam_score: slot('spam_score'),
        spam_report: slot('spam_report'),
        processed_at: slot('at'),
      }))
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspace_id'))
      .where('status', '=', 'received'),
  1,
)

/** Sets the verdict of a person; score and report stay. No effect if it is deleted. */
export const setSpamStatus = prepareWrite<{ id: string; workspaceId: string; status: 'clean' | 'spam' }>(
  ({ db, slot }) =>
    db
      .updateTable('inbound_emails')
      .set({ spam_status: slot('status') })
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('kind', '=', 'mail'),
)

/** The message cannot be read. Misses like `markProcessed`. */
export const markFailed = prepareWrite<{ id: string; workspaceId: string; at: number }>(
  ({ db, slot }) =>
    db
      .updateTable('inbound_emails')
      .set({ status: 'failed', processed_at: slot('at') })
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('status', '=', 'received'),
  1,
)

/** A report that was read and changed nothing: it stays until retention removes it. Misses like `markProcessed`. */
export const markReportProcessed = prepareWrite<{ id: string; workspaceId: string; at: number }>(
  ({ db, slot }) =>
    db
      .updateTable('inbound_emails')
      .set({ status: 'processed', processed_at: slot('at') })
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('kind', '=', 'report')
      .where('status', '=', 'received'),
  1,
)

/** Misses if the workspace has no such email. Its bytes are removed by `removeInboundRaw`, in the same commit. */
export const removeInbound = prepareWrite<{ id: string; workspaceId: string }>(
  ({ db, slot }) =>
    db.deleteFrom('inbound_emails').where('id', '=', slot('id')).where('workspace_id', '=', slot('workspaceId')),
  1,
)

export const removeInboundRaw = prepareWrite<{ id: string; workspaceId: string }>(({ db, slot }) =>
  db.deleteFrom('inbound_raw').where('inbound_id', '=', slot('id')).where('workspace_id', '=', slot('workspaceId')),
)

/** An email of the workspace, not a report. */
export const inboundById = prepareRead<{ id: string; workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('inbound_emails')
    .selectAll()
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('kind', '=', 'mail'),
)

export const rawOfInbound = prepareRead<{ id: string; workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('inbound_raw')
    .select(storedBytes.as('raw'))
    .where('inbound_id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)

// A literal, so that the partial index is used.
const unprocessedStatus = sql.lit('received' as const)

/** Unprocessed messages, oldest first. */
export const unprocessedOfWorkspace = prepareRead<{
  workspaceId: string
  afterTime: number
  afterId: string
  limit: number
}>()(({ db, slot }) =>
  db
    .selectFrom('inbound_emails')
    .selectAll()
    .where('status', '=', unprocessedStatus)
    .where('workspace_id', '=', slot('workspaceId'))
    .where((eb) => eb(eb.refTuple('received_at', 'id'), '>', eb.tuple(slot('afterTime'), slot('afterId'))))
    .orderBy('received_at')
    .orderBy('id')
    .limit(slot('limit')),
)

/** An unprocessed email or report. */
export const unprocessedById = prepareRead<{ id: string; workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('inbound_emails')
    .selectAll()
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('status', '=', unprocessedStatus),
)

/** The next workspace with unprocessed messages. */
export const nextUnprocessedWorkspace = prepareRead<{ after: string }>()(({ db, slot }) =>
  db
    .selectFrom('inbound_emails')
    .select('workspace_id')
    .where('status', '=', unprocessedStatus)
    .where('workspace_id', '>', slot('after'))
    .orderBy('workspace_id')
    .limit(1),
)

/** Whether the email or report exists and is unprocessed. */
export function isUnprocessed(
  read: Read,
  { id, workspace_id: workspaceId }: Pick<InboundEmail, 'id' | 'workspace_id'>,
): boolean {
  return statusOf(read, { id, workspaceId })[0]?.status === 'received'
}

const statusOf = prepareRead<{ id: string; workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('inbound_emails')
    .select('status')
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)
