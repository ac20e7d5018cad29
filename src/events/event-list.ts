/**
 * The events of a workspace, newest first, in pages.
 *
 * They are ordered by `seq`, which never changes, so a reader of all pages gets each event exactly once. Each index
 * has the events of one type in this order; the newest of each type are merged. So a page costs the same however many
 * events there are and however few match. Internal types are never read.
 *
 * Limit: with an email and a recipient, all events of this email and type are checked, in steps.
 */
import { sql } from 'kysely'
import { prepareRead, type Read } from '../storage/prepared.js'
import { ROW_STEP, waitForStep } from '../storage/stepped-walk.js'
import type { Timestamp } from '../storage/tables/columns.js'
import type { EventsTable, EventType } from '../storage/tables/email-tables.js'
import { seqAtTime } from './event-times.js'
import { eventTypes } from './payloads.js'

/** Undefined: any. */
export interface EventFilter {
  readonly workspaceId: string
  readonly type?: EventType | undefined
  readonly emailId?: string | undefined
  /** In any case. */
  readonly recipient?: string | undefined
  /** At this time or later. */
  readonly from?: Timestamp | undefined
  /** Before this time. */
  readonly to?: Timestamp | undefined
}

const columns = ['seq', 'id', 'type', 'created_at', 'email_id', 'recipient', 'data'] as const

export type ListedEvent = Pick<EventsTable, Exclude<(typeof columns)[number], 'seq'>> & { readonly seq: number }

interface PageRequest {
  /** Only events with a smaller `seq`; undefined: from the newest. */
  readonly before: number | undefined
  readonly limit: number
}

export async function listEvents(
  read: Read,
  filter: EventFilter,
  { before, limit }: PageRequest,
): Promise<readonly ListedEvent[]> {
  const { workspaceId, type, emailId, from, to } = filter
  if (emailId !== undefined && !isEmailOfWorkspace(read, emailId, workspaceId)) return []
  const end = to === undefined ? Number.MAX_SAFE_INTEGER : seqAtTime(read, to)
  const range = {
    from: from === undefined ? 0 : seqAtTime(read, from),
    before: Math.min(before ?? Number.MAX_SAFE_INTEGER, end),
    limit,
  }
  const types = type === undefined ? eventTypes : [type]
  const newest: SeqRow[] = []
  for (const one of types) newest.push(...(await newestOfType(read, filter, { ...range, type: one })))
  const page = newest.sort((left, right) => right.seq - left.seq).slice(0, limit)
  return page.flatMap(({ seq }) => eventBySeq(read, { seq }))
}

/** An email belongs to one workspace, and so do all of its events. */
function isEmailOfWorkspace(read: Read, emailId: string, workspaceId: string): boolean {
  return firstOfEmail(read, { emailId })[0]?.workspace_id === workspaceId
}

const firstOfEmail = prepareRead<{ emailId: string }>()(({ db, slot }) =>
  db.selectFrom('events').select('workspace_id').where('email_id', '=', slot('emailId')).limit(1),
)

const eventBySeq = prepareRead<{ seq: number }>()(({ db, slot }) =>
  db.selectFrom('events').select(columns).where('seq', '=', slot('seq')),
)

/** The newest `limit` events of one type from `from` on and before `before`; both are values of `seq`. */
interface TypePage {
  readonly type: EventType
  readonly from: number
  readonly before: number
  readonly limit: number
}

type OfRecipient = TypePage & { readonly workspaceId: string; readonly recipient: string }

async function newestOfType(read: Read, filter: EventFilter, page: TypePage): Promise<readonly SeqRow[]> {
  const { workspaceId, emailId, recipient } = filter
  if (emailId === undefined) {
    return recipient === undefined
      ? seqsOfType(read, { ...page, workspaceId })
      : seqsOfRecipient(read, { ...page, workspaceId, recipient })
  }
  return recipient === undefined
    ? seqsOfEmail(read, { ...page, emailId })
    : scanEmail(read, { ...page, emailId, recipient })
}

interface SeqRow {
  readonly seq: number
}

const seqsOfType = prepareRead<TypePage & { readonly workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('events')
    .select('seq')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('type', '=', slot('type'))
    .where('seq', '>=', slot('from'))
    .where('seq', '<', slot('before'))
    .orderBy('seq', 'desc')
    .limit(slot('limit')),
)

const seqsOfRecipient = prepareRead<OfRecipient>()(({ db, slot }) =>
  db
    .selectFrom('events')
    .select('seq')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('recipient', '=', sql<string>`${slot('recipient')} collate nocase`)
    .where('type', '=', slot('type'))
    .where('seq', '>=', slot('from'))
    .where('seq', '<', slot('before'))
    .orderBy('seq', 'desc')
    .limit(slot('limit')),
)

type OfEmail = TypePage & { readonly emailId: string }

const seqsOfEmail = prepareRead<OfEmail>()(({ db, slot }) =>
  db
    .selectFrom('events')
    .select('seq')
    .where('email_id', '=', slot('emailId'))
    .where('type', '=', slot('type'))
    .where('seq', '>=', slot('from'))
    .where('seq', '<', slot('before'))
    .orderBy('seq', 'desc')
    .limit(slot('limit')),
)

type OfEmailAndRecipient = OfEmail & { readonly recipient: string }

const stepOfEmail = prepareRead<OfEmailAndRecipient>()(({ db, slot }) =>
  db
    .selectFrom('events')
    .select('seq')
    .select(sql<number>`recipient is ${slot('recipient')} collate nocase`.as('fits'))
    .where('email_id', '=', slot('emailId'))
    .where('type', '=', slot('type'))
    .where('seq', '>=', slot('from'))
    .where('seq', '<', slot('before'))
    .orderBy('seq', 'desc')
    .limit(slot('limit')),
)

/** Checks the recipient of each event. It is no condition of the read, so that a step ends after its rows. */
async function scanEmail(read: Read, page: OfEmailAndRecipient): Promise<readonly SeqRow[]> {
  const found: SeqRow[] = []
  let { before } = page
  for (;;) {
    const rows = stepOfEmail(read, { ...page, before, limit: ROW_STEP })
    found.push(...rows.filter(({ fits }) => fits === 1))
    const last = rows[ROW_STEP - 1]
    if (last === undefined || found.length >= page.limit) return found
    before = last.seq
    await waitForStep()
  }
}
