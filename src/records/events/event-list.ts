/**
 * Lists the events of a workspace in pages, newest first or oldest first.
 *
 * They are ordered by `seq`, which never changes, so a reader of all pages gets each event exactly once. Where several
 * writers store events, one may become visible after an event with a greater `seq`. So the oldest first, as a reader gets
 * them who comes again for what is new, are only those before which none can appear (`readLastSettled`). Each index has
 * the events of one type in this order, and the first of each type are merged. So a page costs the same however many
 * events there are and however few match; a page of a recipient costs one more look-up for each 131,072 events.
 * Internal types are never read.
 *
 * Limit: with an email and a recipient, all events of this email and type are checked, in steps.
 */
import { equalsIgnoringCase } from '../../base/storage/db/dialect.js'
import { readLastSettled } from '../../base/storage/db/event-slots.js'
import { prepareRead, type Read, type StatementBuilder } from '../../base/storage/db/prepared.js'
import { ROW_STEP, waitForStep } from '../../base/storage/db/stepped-walk.js'
import type { Timestamp } from '../../base/storage/tables/columns.js'
import type { EventsTable, EventType } from '../../base/storage/tables/email-tables.js'
import { findSeqRange, isInTime } from './event-times.js'
import { eventTypes } from './payloads.js'
import { firstOfRecipient, type Order } from './recipient-events.js'

/** Undefined fields match any event. */
export interface EventFilter {
  readonly workspaceId: string
  readonly type?: EventType | undefined
  /** In place of `type`: events of any of these types. */
  readonly types?: readonly EventType[] | undefined
  readonly emailId?: string | undefined
  /** Upper and lower case are equal. */
  readonly recipient?: string | undefined
  /** The event is at this time or later. */
  readonly from?: Timestamp | undefined
  /** The event is before this time. */
  readonly to?: Timestamp | undefined
}

const columns = ['seq', 'id', 'type', 'created_at', 'email_id', 'recipient', 'data'] as const

export type ListedEvent = Pick<EventsTable, Exclude<(typeof columns)[number], 'seq'>> & { readonly seq: number }

interface PageRequest {
  /** The page has only events with a smaller `seq`. Undefined starts from the newest. */
  readonly before?: number | undefined
  /** The page has only events with a greater `seq`. Undefined ends with the oldest. */
  readonly after?: number | undefined
  /** `desc` is newest first, and the default. */
  readonly order?: Order
  readonly limit: number
}

export async function listEvents(
  read: Read,
  filter: EventFilter,
  { before, after = -1, order = 'desc', limit }: PageRequest,
): Promise<readonly ListedEvent[]> {
  const { workspaceId, type, types = type === undefined ? eventTypes : [type], emailId, from, to } = filter
  if (emailId !== undefined && !(await isEmailOfWorkspace(read, emailId, workspaceId))) return []
  const settled = order === 'asc' ? await readLastSettled(read) : Number.POSITIVE_INFINITY
  const { first, end: last } = await findSeqRange(read, { from, to })
  const end = Math.min(last, settled + 1)
  const range = { types, from: Math.max(after + 1, first), before: Math.min(before ?? end, end), order, limit }
  const found: ListedEvent[] = []
  for (;;) {
    const page = await findPage(read, filter, range)
    const events = (await Promise.all(page.map(async ({ seq }) => eventBySeq(read, { seq, workspaceId })))).flat()
    found.push(...events.filter((event) => isInTime({ from, to }, event)))
    const last = page[limit - 1]
    if (last === undefined || found.length >= limit) return found.slice(0, limit)
    if (order === 'desc') range.before = last.seq
    else range.from = last.seq + 1
    await waitForStep()
  }
}

/** Tells whether an email belongs to the workspace. All events of an email belong to its workspace. */
async function isEmailOfWorkspace(read: Read, emailId: string, workspaceId: string): Promise<boolean> {
  return (await firstOfEmail(read, { emailId }))[0]?.workspace_id === workspaceId
}

const firstOfEmail = prepareRead<{ emailId: string }>()(({ db, slot }) =>
  db.selectFrom('events').select('workspace_id').where('email_id', '=', slot('emailId')).limit(1),
)

const eventBySeq = prepareRead<{ seq: number; workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('events')
    .select(columns)
    .where('seq', '=', slot('seq'))
    .where('workspace_id', '=', slot('workspaceId')),
)

interface SeqRow {
  readonly seq: number
}

/** A range of `seq`: `from` is inside, `before` is not. */
interface SeqRange {
  readonly from: number
  readonly before: number
  readonly limit: number
}

type OrderedRange = SeqRange & { readonly order: Order }
type TypesPage = OrderedRange & { readonly types: readonly EventType[] }

async function findPage(read: Read, filter: EventFilter, page: TypesPage): Promise<readonly SeqRow[]> {
  const { workspaceId, emailId, recipient } = filter
  if (emailId === undefined) {
    if (recipient !== undefined) return firstOfRecipient(read, { ...page, workspaceId, recipient })
    return mergeTypes(page, async (ofType) => seqsOfType[page.order](read, { ...ofType, workspaceId }))
  }
  if (recipient === undefined)
    return mergeTypes(page, async (ofType) => seqsOfEmail[page.order](read, { ...ofType, emailId }))
  return mergeTypes(page, (ofType) => scanEmail(read, { ...ofType, emailId, recipient }, page.order))
}

/** The first `limit` events of one type in the range. */
type TypePage = SeqRange & { readonly type: EventType }

async function mergeTypes(
  { types, order, ...range }: TypesPage,
  find: (page: TypePage) => readonly SeqRow[] | Promise<readonly SeqRow[]>,
): Promise<readonly SeqRow[]> {
  const found: SeqRow[] = []
  for (const type of types) found.push(...(await find({ ...range, type })))
  return found
    .sort((one, other) => (order === 'desc' ? other.seq - one.seq : one.seq - other.seq))
    .slice(0, range.limit)
}

function selectFirst<Values extends TypePage>({ db, slot }: StatementBuilder<Values>, order: Order) {
  return db
    .selectFrom('events')
    .select('seq')
    .where('type', '=', slot('type'))
    .where('seq', '>=', slot('from'))
    .where('seq', '<', slot('before'))
    .orderBy('seq', order)
    .limit(slot('limit'))
}

/** Makes the same read for each order. */
function inBothOrders<Reader>(prepare: (order: Order) => Reader): Readonly<Record<Order, Reader>> {
  return { asc: prepare('asc'), desc: prepare('desc') }
}

const seqsOfType = inBothOrders((order) =>
  prepareRead<TypePage & { readonly workspaceId: string }>()((builder) =>
    selectFirst(builder, order).where('workspace_id', '=', builder.slot('workspaceId')),
  ),
)

type OfEmail = TypePage & { readonly emailId: string }

const seqsOfEmail = inBothOrders((order) =>
  prepareRead<OfEmail>()((builder) => selectFirst(builder, order).where('email_id', '=', builder.slot('emailId'))),
)

type OfEmailAndRecipient = OfEmail & { readonly recipient: string }

const stepOfEmail = inBothOrders((order) =>
  prepareRead<OfEmailAndRecipient>()((builder) =>
    selectFirst(builder, order)
      .select(equalsIgnoringCase('recipient', builder.slot('recipient')).$castTo<0 | 1 | null>().as('fits'))
      .where('email_id', '=', builder.slot('emailId')),
  ),
)

/** Checks the recipient of each event. The read itself has no such condition, so that a step ends after its rows. */
async function scanEmail(read: Read, page: OfEmailAndRecipient, order: Order): Promise<readonly SeqRow[]> {
  const found: SeqRow[] = []
  let { from, before } = page
  for (;;) {
    const rows = await stepOfEmail[order](read, { ...page, from, before, limit: ROW_STEP })
    found.push(...rows.filter(({ fits }) => fits === 1))
    const last = rows[ROW_STEP - 1]
    if (last === undefined || found.length >= page.limit) return found
    if (order === 'desc') before = last.seq
    else from = last.seq + 1
    await waitForStep()
  }
}
