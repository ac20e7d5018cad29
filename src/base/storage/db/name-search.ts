/**
 * Finds the rows of a workspace whose name contains a text, the newest first, in tables whose names are in no index.
 *
 * Rows are compared in steps on a read thread (`stepped-walk.ts`), and a search compares at most MAX_COMPARED of them. It
 * says whether older ones are left. The case of ASCII letters does not matter.
 */
import { type RawBuilder, sql } from 'kysely'
import { containsIgnoringCase, textOf } from './dialect.js'
import { prepareLongRead, type Read, type StatementBuilder } from './prepared.js'
import { THREAD_STEP, waitForStep } from './stepped-walk.js'

interface NamedTable {
  readonly table: 'api_keys' | 'audiences' | 'broadcasts' | 'templates' | 'webhooks'
  /** The order of the index of the workspace: by id, or by the time of creation and then by id. */
  readonly order: 'id' | 'creation'
  readonly title: RawBuilder<string>
  readonly note: RawBuilder<string | null>
  readonly status: RawBuilder<string | null>
  /** The text that is compared. */
  readonly compared: RawBuilder<string>
}

export interface NameQuery {
  readonly workspaceId: string
  readonly text: string
  readonly limit: number
}

interface NamedRow {
  readonly id: string
  readonly title: string
  readonly note: string | null
  readonly status: string | null
}

export interface FoundNames {
  /** At most one more than the limit, which says that there are more. */
  readonly rows: readonly NamedRow[]
  /** True if older rows were not compared. */
  readonly isPartial: boolean
}

/** The most rows that one search compares. */
const MAX_COMPARED = 25_000

interface Place {
  readonly createdAt: number
  readonly id: string
}

/** Its id is greater than all, which are hexadecimal, some behind a prefix such as `wh_`. */
const START: Place = { createdAt: Number.MAX_SAFE_INTEGER, id: 'z' }
const END: Place = { createdAt: -1, id: '' }

type SkipValues = Place & { readonly workspaceId: string }
type CompareValues = SkipValues & {
  readonly endAt: number
  readonly endId: string
  readonly text: string
  readonly limit: number
}

export function prepareNameSearch(named: NamedTable): (read: Read, query: NameQuery) => Promise<FoundNames> {
  const endOfStep = prepareLongRead<SkipValues>()((builder) =>
    walk(builder, named)
      .select(['id', 'created_at as createdAt'])
      .limit(1)
      .offset(THREAD_STEP - 1),
  )
  const rowsOfStep = prepareLongRead<CompareValues>()((builder) => {
    const text = textOf(builder.slot('text'))
    return walk(builder, named)
      .select(['id', named.title.as('title'), named.note.as('note'), named.status.as('status')])
      .where(isUpTo(builder, named))
      .where(sql<boolean>`(${containsIgnoringCase(named.compared, text)} or id = ${text})`)
      .limit(builder.slot('limit'))
  })
  return async (read, { workspaceId, text, limit }) => {
    const rows: NamedRow[] = []
    let place = START
    for (let compared = 0; compared < MAX_COMPARED; compared += THREAD_STEP) {
      if (compared > 0) await waitForStep()
      const [end] = await endOfStep(read, { workspaceId, ...place })
      const { createdAt: endAt, id: endId } = end ?? END
      const step = { workspaceId, ...place, endAt, endId, text, limit: limit + 1 - rows.length }
      rows.push(...(await rowsOfStep(read, step)))
      if (end === undefined || rows.length > limit) return { rows, isPartial: false }
      place = end
    }
    return { rows, isPartial: true }
  }
}

function walk<Values extends SkipValues>({ db, slot }: StatementBuilder<Values>, { table, order }: NamedTable) {
  const before =
    order === 'id'
      ? sql<boolean>`id < ${slot('id')}`
      : sql<boolean>`(created_at, id) < (${slot('createdAt')}, ${slot('id')})`
  return db
    .selectFrom(table)
    .where('workspace_id', '=', slot('workspaceId'))
    .where(before)
    .$if(order === 'creation', (query) => query.orderBy('created_at', 'desc'))
    .orderBy('id', 'desc')
}

function isUpTo({ slot }: StatementBuilder<CompareValues>, { order }: NamedTable): RawBuilder<boolean> {
  return order === 'id'
    ? sql<boolean>`id >= ${slot('endId')}`
    : sql<boolean>`(created_at, id) >= (${slot('endAt')}, ${slot('endId')})`
}
