/**
 * Stores inbound mail: one record for each workspace to which a message was sent.
 *
 *   received -> processed | failed
 *
 * The record is on disk before the 250. Small mail is processed before the 250, other mail after it. Mail to a return
 * path is stored in the same way until it was read, as a `report`: it belongs to no workspace, and no list or id of the
 * API finds it. A report that is only about other recipients stays until retention removes it. A message that cannot be
 * read has failed, and its bytes stay.
 */
import { sql } from 'kysely'
import { lowerCaseOf } from '../../../base/storage/db/dialect.js'
import type { MessageBytes } from '../../../base/storage/db/message-bytes.js'
import { prepareRead, prepareWrite, type Read } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import {
  type PieceAt,
  readStoredBytes,
  storedBytes,
  storedPiece,
  storedPlace,
  storedSize,
} from '../../../base/storage/spool/stored-bytes.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import type { Arrival } from '../../../base/storage/tables/inbound-tables.js'
import type { Tables } from '../../../base/storage/tables/tables.js'
import { type InboundEmail, type NewInbound, type ProcessedInbound, toUnprocessed } from './inbound-record.js'

/** All columns except `from_key`, which is made from `from_email`. */
const columns = [
  ...(['id', 'workspace_id', 'kind', 'status', 'domain', 'envelope_from', 'envelope_to', 'client_address'] as const),
  ...(['helo', 'spf_result', 'dkim_result', 'dmarc_result', 'authentication', 'arrival', 'message_id'] as const),
  ...(['reference_ids', 'from_email', 'from_name', 'to_emails', 'cc_emails', 'subject', 'has_html'] as const),
  ...(['has_text', 'attachment_count', 'size', 'spam_status', 'spam_score', 'spam_report'] as const),
  ...(['received_at', 'processed_at'] as const),
]

const insertInbound = prepareWrite<InboundEmail>(({ db, slot, slots }) =>
  db.insertInto('inbound_emails').values({ ...slots(columns), from_key: lowerCaseOf(slot('from_email')) }),
)

type NewInboundRaw = Pick<Tables['inbound_raw'], 'inbound_id' | 'workspace_id' | 'received_at'> & {
  readonly raw: Buffer | MessageBytes
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

/** Stores the record and its bytes, in the commit before the 250. */
export function storeInbound(newInbound: NewInbound, raw: Buffer | MessageBytes): Write[] {
  return storeRecord(toUnprocessed(newInbound, raw.length), raw)
}

/** Stores a record of `toUnprocessed` or `toProcessed`. */
export function storeRecord(email: InboundEmail, raw: Buffer | MessageBytes): Write[] {
  const { id: inbound_id, workspace_id, received_at } = email
  return [insertInbound(email), insertInboundRaw({ inbound_id, workspace_id, received_at, raw })]
}

export function parseArrival({ arrival }: Pick<InboundEmail, 'arrival'>): Arrival {
  return { earlyTalker: false, listings: [], allowListings: [], spamReason: null, ...parseJson(arrival) }
}

/** Misses if the message was processed or deleted before. A verdict that a person has given stays. */
export const markProcessed = prepareWrite<ProcessedInbound>(
  ({ db, slot }) =>
    db
      .updateTable('inbound_emails')
      .set((eb) => ({
        status: 'processed',
        message_id: slot('message_id'),
        reference_ids: slot('reference_ids'),
        from_email: slot('from_email'),
        from_key: lowerCaseOf(slot('from_email')),
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

/** Sets the verdict of a person; score and report stay. Has no effect if the email is deleted. */
export const setSpamStatus = prepareWrite<{ id: string; workspaceId: string; status: 'clean' | 'spam' }>(
  ({ db, slot }) =>
    db
      .updateTable('inbound_emails')
      .set({ spam_status: slot('status') })
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('kind', '=', 'mail'),
)

/** Marks a message that cannot be read. Misses like `markProcessed`. */
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

/** Marks a report that changed nothing. It stays until retention removes it. Misses like `markProcessed`. */
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

/** Reads an email of the workspace, but no report. */
export const inboundById = prepareRead<{ id: string; workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('inbound_emails')
    .selectAll()
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('kind', '=', 'mail'),
)

type InboundKey = { readonly id: string; readonly workspaceId: string }

const rawOfInbound = prepareRead<InboundKey>()(({ db, slot }) =>
  db
    .selectFrom('inbound_raw')
    .select(storedBytes().as('raw'))
    .where('inbound_id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)

const pieceOfInbound = prepareRead<InboundKey & PieceAt>()(({ db, slot }) =>
  db
    .selectFrom('inbound_raw')
    .select(storedPiece(slot('at')).as('raw'))
    .where('inbound_id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)

const placeOfInbound = prepareRead<InboundKey>()(({ db, slot }) =>
  db
    .selectFrom('inbound_raw')
    .select([...storedPlace, storedSize().as('size')])
    .where('inbound_id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)

/** Reads the message without blocking the thread. Resolves to undefined if it is no longer stored. */
export function readInboundRaw(read: Read, key: InboundKey): Promise<Buffer | undefined> {
  return readStoredBytes(read, key, { place: placeOfInbound, bytes: rawOfInbound, piece: pieceOfInbound })
}

export async function hasInboundRaw(read: Read, key: InboundKey): Promise<boolean> {
  return (await placeOfInbound(read, key)).length > 0
}

// The condition is a literal, so that SQLite uses the partial index.
const unprocessedStatus = sql.lit('received' as const)

/** Reads unprocessed messages of a node, oldest first. */
export const unprocessedOfWorkspace = prepareRead<{
  node: string
  workspaceId: string
  afterTime: number
  afterId: string
  limit: number
}>()(({ db, slot }) =>
  db
    .selectFrom('inbound_emails')
    .selectAll()
    .where('status', '=', unprocessedStatus)
    .where('node', '=', slot('node'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where((eb) => eb(eb.refTuple('received_at', 'id'), '>', eb.tuple(slot('afterTime'), slot('afterId'))))
    .orderBy('received_at')
    .orderBy('id')
    .limit(slot('limit')),
)

/** Reads an unprocessed email or report of a node. */
export const unprocessedById = prepareRead<{ node: string; id: string; workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('inbound_emails')
    .selectAll()
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('node', '=', slot('node'))
    .where('status', '=', unprocessedStatus),
)

/** Reads the next workspace with unprocessed messages of a node. */
export const nextUnprocessedWorkspace = prepareRead<{ node: string; after: string }>()(({ db, slot }) =>
  db
    .selectFrom('inbound_emails')
    .select('workspace_id')
    .where('status', '=', unprocessedStatus)
    .where('node', '=', slot('node'))
    .where('workspace_id', '>', slot('after'))
    .orderBy('workspace_id')
    .limit(1),
)

/** Tells whether the email or report exists and is unprocessed. */
export async function isUnprocessed(
  read: Read,
  { id, workspace_id: workspaceId }: Pick<InboundEmail, 'id' | 'workspace_id'>,
): Promise<boolean> {
  return (await statusOf(read, { id, workspaceId }))[0]?.status === 'received'
}

const statusOf = prepareRead<{ id: string; workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('inbound_emails')
    .select('status')
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)
