/**
 * The query parameters and answers of lists: a limit with an offset, a page number, or a cursor.
 *
 * A cursor is opaque to clients. It has the position of the last row of the page before and nothing
 * else: a cursor of another workspace, or a forged one, can only change where the page begins.
 */
import { z } from 'zod'
import type { PageSlice } from '../../../../base/storage/db/paging.js'
import { wholeNumber } from './values.js'

export const limit = wholeNumber(1, 100).default(50).meta({ description: 'How many at most. Default 50.' })

/** How clients of Resend ask for the next page. */
export const after = z
  .string('allowed: the id of an item')
  .max(100, 'allowed: the id of an item')
  .optional()
  .meta({ description: 'The id of the last item of the page before, in place of `offset`.' })

/** The query of lists with `limit` and `offset`, without totals. */
export const sliceQuery = z.strictObject({
  limit: wholeNumber(1, 100).default(20).meta({ description: 'How many at most. Default 20.' }),
  offset: wholeNumber(0, 10_000_000).default(0).meta({ description: 'How many to skip. Default 0.' }),
})

/** The same, and the id of the item before. */
export const sliceAfterQuery = sliceQuery.extend({ after })

/** The query of a list that is complete if it says nothing. */
export const partQuery = z.strictObject({
  limit: wholeNumber(1, 100).optional().meta({ description: 'How many at most. Default: all.' }),
  after,
})

/** The slice with one row more, which shows whether there are more. */
export function withNext(slice: PageSlice): PageSlice {
  return { ...slice, limit: slice.limit + 1 }
}

const CURSOR_RULE = 'allowed: the next_cursor of an answer'

/** A cursor whose position, in US-ASCII, matches `form`. */
export function cursorSchema<Place>(
  form: RegExp,
  parse: (text: string) => Place,
): z.ZodOptional<z.ZodType<Place, string>> {
  const schema = z.string(CURSOR_RULE).transform((given, context): Place => {
    const place = Buffer.from(given, 'base64url').toString('latin1')
    if (given === encodeCursor(place) && form.test(place)) return parse(place)
    context.addIssue({ code: 'custom', message: CURSOR_RULE })
    return z.NEVER
  })
  return schema.optional().meta({ description: '`next_cursor` of the page before.' })
}

/** The cursor of a list that is ordered by id. */
export const idCursor = cursorSchema(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, (text) => text)
/** The cursor of a list that is ordered by slug. */
export const slugCursor = cursorSchema(/^[a-z0-9-]{1,80}$/, (text) => text)
/** The cursor of a list that is ordered by a growing number. */
export const seqCursor = cursorSchema(/^[1-9]\d{0,14}$/, Number)

function encodeCursor(place: string | number): string {
  return Buffer.from(String(place), 'latin1').toString('base64url')
}

/** The cursor of a page that begins after this place, or null if there is none. */
export function toCursor(place: string | number | null): string | null {
  return place === null ? null : encodeCursor(place)
}

interface Page<Shown> {
  readonly data: readonly Shown[]
  readonly has_more: boolean
  readonly next_cursor: string | null
}

/** `rows` has up to `limit` + 1 rows; the extra row shows that there are more. */
export function buildPage<Row, Shown>(
  rows: readonly Row[],
  limit: number,
  show: (row: Row) => Shown,
  placeOf: (row: Row) => string | number,
): Page<Shown> {
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return {
    data: shown.map(show),
    has_more: last !== undefined,
    next_cursor: toCursor(last === undefined ? null : placeOf(last)),
  }
}

/** The answer of a list without totals. `rows` has up to `limit` + 1 rows. */
export function buildList<Row, Shown>(
  rows: readonly Row[],
  limit: number,
  show: (row: Row) => Shown,
): { readonly object: 'list'; readonly data: readonly Shown[]; readonly has_more: boolean } {
  return { object: 'list', data: rows.slice(0, limit).map(show), has_more: rows.length > limit }
}

/** The same page or list, when its items have been read. */
export async function awaitItems<Item, Items extends { readonly data: readonly Promise<Item>[] }>(
  items: Items & { readonly data: readonly Promise<Item>[] },
): Promise<Omit<Items, 'data'> & { readonly data: readonly Item[] }> {
  return { ...items, data: await Promise.all(items.data) }
}

/** A part of a complete list. */
export function buildPart<Row extends { readonly id: string }, Shown>(
  rows: readonly Row[],
  { limit = rows.length, after: id }: z.output<typeof partQuery>,
  show: (row: Row) => Shown,
): ReturnType<typeof buildList<Row, Shown>> {
  const begin = id === undefined ? 0 : rows.findIndex((row) => row.id === id) + 1 || rows.length
  return buildList(rows.slice(begin), limit, show)
}

/** Its schema. `object` and `has_more` are what clients of Resend read. */
export function listSchema<Item extends z.ZodType>(
  item: Item,
): z.ZodObject<{ object: z.ZodLiteral<'list'>; data: z.ZodArray<Item>; has_more: z.ZodBoolean }, z.core.$strict> {
  return z.strictObject({
    object: z.literal('list'),
    data: z.array(item),
    has_more: z.boolean().meta({ example: false, description: 'Whether there are more after these.' }),
  })
}

/** The schema of a page with a cursor. */
export function pageSchema<Item extends z.ZodType>(
  item: Item,
): z.ZodObject<{ data: z.ZodArray<Item>; has_more: z.ZodBoolean; next_cursor: z.ZodNullable<z.ZodString> }> {
  return z.strictObject({
    data: z.array(item),
    has_more: z.boolean().meta({ example: false }),
    next_cursor: z.string().nullable(),
  })
}

/** Bounds of lists that have two forms: `limit` and `offset`, or numbered pages with totals. */
const MAX_OFFSET = 10_000_000
const MAX_LIMIT = 100
const DEFAULT_PER_PAGE = 50

interface ListQuery {
  readonly after?: string | undefined
  readonly limit?: number | undefined
  readonly offset?: number | undefined
  readonly page?: number | undefined
  readonly per_page?: number | undefined
}

type OptionalNumber = z.ZodOptional<z.ZodType<number, string>>

/** The query fields of such a list; `checkListForm` checks their combination. */
export function listQueryFields(
  defaultLimit: number,
): Readonly<Record<'limit' | 'offset' | 'page' | 'per_page', OptionalNumber>> & { readonly after: typeof after } {
  return {
    after,
    limit: wholeNumber(1, MAX_LIMIT)
      .optional()
      .meta({ description: `How many at most, without \`page\`. Default ${defaultLimit}.` }),
    offset: wholeNumber(0, MAX_OFFSET).optional().meta({ description: 'How many to skip, without `page`. Default 0.' }),
    page: wholeNumber(1, MAX_OFFSET).optional().meta({ description: 'Which page, from 1. Default 1.' }),
    per_page: wholeNumber(1, MAX_LIMIT)
      .optional()
      .meta({ description: `How many on a page. Default ${DEFAULT_PER_PAGE}.` }),
  }
}

/** Refuses both forms at once, and a page beyond `MAX_OFFSET`. */
export function checkListForm({ after, limit, offset, page, per_page }: ListQuery, context: z.RefinementCtx): void {
  const addProblem = (field: string, message: string): void => {
    context.addIssue({ code: 'custom', path: [field], message })
  }
  if (page === undefined && per_page === undefined) return
  if (after !== undefined) addProblem('after', 'cannot be combined with page and per_page')
  if (limit !== undefined) addProblem('limit', 'cannot be combined with page and per_page')
  if (offset !== undefined) addProblem('offset', 'cannot be combined with page and per_page')
  const { offset: skipped } = toSlice(page, per_page)
  if (skipped > MAX_OFFSET) addProblem('page', `must not skip more than ${MAX_OFFSET} items`)
}

interface PageMeta {
  readonly total: number
  readonly page: number
  readonly page_size: number
  readonly pages: number
}

/** The requested slice, and for numbered pages the metadata of the answer. */
interface ListRequest {
  readonly slice: PageSlice
  /** Null for a list with `limit` and `offset`. */
  readonly metaOf: ((total: number) => PageMeta) | null
}

export function toListRequest(
  { after, limit, offset = 0, page, per_page }: ListQuery,
  defaultLimit: number,
): ListRequest {
  if (page === undefined && per_page === undefined) {
    return { slice: { after, offset, limit: limit ?? defaultLimit }, metaOf: null }
  }
  const slice = toSlice(page, per_page)
  const size = slice.limit
  return { slice, metaOf: (total) => ({ total, page: page ?? 1, page_size: size, pages: Math.ceil(total / size) }) }
}

/** The slice of a complete list. */
export function sliceOf<Row>(rows: readonly Row[], { offset, limit }: PageSlice): readonly Row[] {
  return rows.slice(offset, offset + limit)
}

function toSlice(page = 1, perPage = DEFAULT_PER_PAGE): PageSlice {
  return { offset: (page - 1) * perPage, limit: perPage }
}

const meta = z.object({ total: z.int(), page: z.int(), page_size: z.int(), pages: z.int() })

/** The schema of a numbered page. */
export function numberedPageSchema<Item extends z.ZodType>(
  item: Item,
): z.ZodObject<{ success: z.ZodLiteral<true>; data: z.ZodArray<Item>; meta: typeof meta }> {
  return z.object({ success: z.literal(true), data: z.array(item), meta })
}
