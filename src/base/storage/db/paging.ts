/**
 * Pages of lists that may be long. Rows before an offset are walked over along an index alone, in steps
 * (`stepped-walk.ts`), so that a deep page does not delay other requests.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Timestamp } from '../tables/columns.js'
import { type Awaitable, prepareRead, type Read, type StatementBuilder } from './prepared.js'
import { INDEX_STEP, waitForStep } from './stepped-walk.js'

/** The part of a list that is asked for. */
export interface PageSlice {
  /** The id of an item: the list begins after it. */
  readonly after?: string | undefined
  readonly offset: number
  readonly limit: number
}

/** For a statement with an offset and no limit: PostgreSQL refuses -1. */
export const NO_LIMIT = Number.MAX_SAFE_INTEGER

/** It is greater than any id, which is hexadecimal: a list that begins with the newest id starts here. */
export const MAX_ID = 'g'

/**
 * The place of the last of `offset` rows behind `top`, or null if there are fewer. `skip` finds the row that comes
 * behind `place` and `count` more rows.
 */
export async function seekOffset<Place>(
  top: Place,
  offset: number,
  skip: (position: Place, count: number) => Promise<Place | undefined>,
): Promise<Place | null> {
  let position = top
  for (let left = offset; left > 0; left -= INDEX_STEP) {
    if (left < offset) await waitForStep()
    const next = await skip(position, Math.min(left, INDEX_STEP) - 1)
    if (next === undefined) return null
    position = next
  }
  return position
}

/** A place in the order of creation. */
interface CreationPlace {
  readonly created_at: Timestamp
  readonly id: string
}

export type CreationPage = CreationPlace & { readonly workspaceId: string; readonly limit: number }

/** A condition for the `where` of a page in the order of creation: rows after a place. */
export function isAfterPlace<Values extends CreationPlace>({ slot }: StatementBuilder<Values>): RawBuilder<boolean> {
  return sql<boolean>`("created_at", "id") > (${slot('created_at')}, ${slot('id')})`
}

/** Slices of a workspace's rows in the order of creation; `pageAfter` reads those behind a place. */
export function slicesByCreation<Row>(
  table: 'api_keys' | 'domains',
  pageAfter: (read: Read, page: CreationPage) => Awaitable<readonly Row[]>,
): (read: Read, workspaceId: string, slice: PageSlice) => Promise<readonly Row[]> {
  const skipRows = prepareRead<CreationPlace & { workspaceId: string; skip: number }>()((builder) =>
    builder.db
      .selectFrom(table)
      .select(['created_at', 'id'])
      .where('workspace_id', '=', builder.slot('workspaceId'))
      .where(isAfterPlace(builder))
      .orderBy('created_at')
      .orderBy('id')
      .limit(1)
      .offset(builder.slot('skip')),
  )
  const placeOf = prepareRead<{ workspaceId: string; id: string }>()(({ db, slot }) =>
    db
      .selectFrom(table)
      .select(['created_at', 'id'])
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id')),
  )
  return async (read, workspaceId, { after, offset, limit }) => {
    const top = after === undefined ? { created_at: -1, id: '' } : (await placeOf(read, { workspaceId, id: after }))[0]
    if (top === undefined) return []
    const skip = async (position: CreationPlace, count: number) =>
      (await skipRows(read, { workspaceId, ...position, skip: count }))[0]
    const position = await seekOffset<CreationPlace>(top, offset, skip)
    return position === null ? [] : pageAfter(read, { workspaceId, ...position, limit })
  }
}
