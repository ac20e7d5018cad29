/**
 * Lists inbound emails of a workspace, newest first, in pages.
 *
 * Each filter has an index in the order of the list. One filter drives the walk: one with few rows, if there is any.
 * The others are checked in its index, or in the rows that the walk passes. A walk proceeds in steps
 * (`base/storage/db/stepped-walk.ts`), so neither a large offset nor filters without a common match block anything.
 *
 * Limit: if filters match many rows each and few together, all rows of the driving filter are checked.
 */
import { type Compilable, sql } from 'kysely'
import type { DomainName } from '../../../base/mail/address.js'
import { lowerCaseOf } from '../../../base/storage/db/dialect.js'
import { type PageSlice, seekOffset } from '../../../base/storage/db/paging.js'
import { prepareRead, queryBuilder, type Read, runQuery } from '../../../base/storage/db/prepared.js'
import { INDEX_STEP, ROW_STEP, waitForStep } from '../../../base/storage/db/stepped-walk.js'
import type { InboundStatus, SpamStatus } from '../../../base/storage/tables/inbound-tables.js'
import type { InboundEmail } from './inbound-record.js'

/** Undefined fields match any email. */
export interface InboundFilter {
  readonly workspaceId: string
  readonly status?: InboundStatus | undefined
  /** A recipient of the envelope. */
  readonly domain?: string | undefined
  /** The address of the From field. Upper and lower case are equal. */
  readonly from?: string | undefined
  readonly spamStatus?: SpamStatus | undefined
  readonly since?: number | undefined
}

const listColumns = [
  'id',
  'message_id',
  'envelope_to',
  'from_email',
  'from_name',
  'to_emails',
  'cc_emails',
  'subject',
  'has_html',
  'has_text',
  'attachment_count',
  'received_at',
  'status',
  'spam_status',
  'spam_score',
] as const

export type ListedInbound = Pick<InboundEmail, (typeof listColumns)[number]>

type Cursor = Pick<InboundEmail, 'received_at' | 'id'>

const START_CURSOR: Cursor = { received_at: Number.MAX_SAFE_INTEGER, id: '' }

/** The filters with an index, the usually narrowest first. */
const indexedFilters = ['from', 'domain', 'spamStatus', 'status'] as const

/** Null stands for the index of the entire list. */
type Driver = (typeof indexedFilters)[number] | null

export async function listInbound(
  read: Read,
  filter: InboundFilter,
  slice: PageSlice,
): Promise<readonly ListedInbound[]> {
  const given = indexedFilters.filter((name) => filter[name] !== undefined)
  if (given.length > 1) return scanRows(read, filter, await chooseDriver(read, filter, given), slice)
  const driver = given[0] ?? null
  const top = slice.after === undefined ? START_CURSOR : (await cursorById(read, { ...filter, id: slice.after }))[0]
  if (top === undefined) return []
  const cursor = await seekOffset(top, slice.offset, (from, count) =>
    findCursorAfter(read, filter, driver, from, count),
  )
  return cursor === null ? [] : await runQuery(read, pageQuery(filter, driver, cursor, slice.limit))
}

const cursorById = prepareRead<{ workspaceId: string; id: string }>()(({ db, slot }) =>
  db
    .selectFrom('inbound_emails')
    .select(['received_at', 'id'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('id', '=', slot('id')),
)

/** Returns the first filter with few rows, else the one that is usually narrowest. */
async function chooseDriver(
  read: Read,
  filter: InboundFilter,
  given: readonly Exclude<Driver, null>[],
): Promise<Driver> {
  for (const name of given) {
    if ((await findCursorAfter(read, filter, name, START_CURSOR, INDEX_STEP - 1)) === undefined) return name
  }
  return given[0] ?? null
}

/** Checks every row of the driving index, in steps. */
async function scanRows(
  read: Read,
  filter: InboundFilter,
  driver: Driver,
  { offset, limit }: PageSlice,
): Promise<readonly ListedInbound[]> {
  const ids: string[] = []
  let toPass = offset
  let cursor: Cursor | undefined = START_CURSOR
  while (cursor !== undefined && ids.length < limit) {
    const rows: readonly ScannedRow[] = await runQuery(read, scanQuery(filter, driver, cursor))
    const fitting = rows.filter(({ fits }) => fits === 1)
    ids.push(...fitting.slice(toPass, toPass + limit - ids.length).map(({ id }) => id))
    toPass = Math.max(0, toPass - fitting.length)
    cursor = rows[ROW_STEP - 1]
    await waitForStep()
  }
  return (await Promise.all(ids.map(async (id) => listRowById(read, { id, workspaceId: filter.workspaceId })))).flat()
}

const listRowById = prepareRead<{ id: string; workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('inbound_emails')
    .select(listColumns)
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)

/** Walks only the driving index. */
async function findCursorAfter(
  read: Read,
  filter: InboundFilter,
  driver: Driver,
  cursor: Cursor,
  count: number,
): Promise<Cursor | undefined> {
  const query = queryAfter(filter, driver, cursor).select(['received_at', 'id']).limit(1).offset(count)
  return (await runQuery(read, query))[0]
}

function pageQuery(filter: InboundFilter, driver: Driver, cursor: Cursor, limit: number): Compilable<ListedInbound> {
  return queryAfter(filter, driver, cursor).select(listColumns).limit(limit)
}

/** `fits` says whether the row matches every filter. */
type ScannedRow = Cursor & { readonly fits: number }

/** Reads the next rows of the driving index. Other filters do not limit the walk, so it ends after its step. */
function scanQuery(filter: InboundFilter, driver: Driver, cursor: Cursor): Compilable<ScannedRow> {
  const { status, domain, from, spamStatus } = filter
  const conditions = [
    ...(driver === 'status' || status === undefined ? [] : [sql`status = ${status}`]),
    ...(driver === 'domain' || domain === undefined ? [] : [sql`domain = ${domain}`]),
    ...(driver === 'spamStatus' || spamStatus === undefined
      ? []
      : [sql`spam_status is not distinct from ${spamStatus}`]),
    ...(driver === 'from' || from === undefined ? [] : [sql`from_key = ${lowerCaseOf(from)}`]),
  ]
  return queryAfter(filter, driver, cursor)
    .select(['received_at', 'id'])
    .select(sql<number>`${sql.join(conditions, sql` and `)}`.as('fits'))
    .limit(ROW_STEP)
}

/** Reads rows that match the driving filter, below a position. */
function queryAfter(
  { workspaceId, status, domain, from, spamStatus, since }: InboundFilter,
  driver: Driver,
  { received_at, id }: Cursor,
) {
  return queryBuilder
    .selectFrom('inbound_emails')
    .where('workspace_id', '=', workspaceId)
    .where('kind', '=', sql.lit('mail' as const))
    .$if(driver === 'status', (query) => query.where('status', '=', status ?? 'received'))
    .$if(driver === 'domain', (query) => query.where('domain', '=', sql<DomainName>`${domain}`))
    .$if(driver === 'spamStatus', (query) => query.where('spam_status', '=', spamStatus ?? 'clean'))
    .$if(driver === 'from', (query) => query.where('from_key', '=', lowerCaseOf(from)))
    .$if(since !== undefined, (query) => query.where('received_at', '>=', since ?? 0))
    .where((eb) => eb(eb.refTuple('received_at', 'id'), '<', eb.tuple(received_at, id)))
    .orderBy('received_at', 'desc')
    .orderBy('id', 'desc')
}
