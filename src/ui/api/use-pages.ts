/**
 * Lists in pages, forwards and backwards. `load` gets the position of a page, or undefined for the first. It answers
 * with the rows of the page and the position of the next page: the cursor of a list, or its offset
 * (`loadOffsetPage`).
 */
import { useEffect, useState } from 'preact/hooks'
import { type Loading, useLoad } from './use-load.ts'

export interface ListPage<Row> {
  readonly rows: readonly Row[]
  /** Null means that this is the last page. */
  readonly next: string | null
  /** True if the list leaves out rows that the user may expect, such as emails of broadcasts. */
  readonly leavesOut?: boolean
}

export interface Pages<Row> extends Loading<ListPage<Row>> {
  /** The number of the page, from 1. */
  readonly number: number
  readonly showNext: (() => void) | null
  readonly showPrevious: (() => void) | null
}

/** The user's place in the pages. It belongs to one set of keys, because other filters begin at the first page. */
interface Place {
  readonly key: string
  /** Positions of the pages from the second to the present one. */
  readonly positions: readonly string[]
}

export function usePages<Row>(
  load: (position: string | undefined) => Promise<ListPage<Row>>,
  keys: readonly (string | number | boolean | null | undefined)[] = [],
  options: { readonly every?: (page: ListPage<Row>) => number | null } = {},
): Pages<Row> {
  const key = JSON.stringify(keys)
  const [place, setPlace] = useState<Place>({ key, positions: [] })
  const positions = place.key === key ? place.positions : []
  // If the user returns to earlier keys, the list begins at the first page again.
  useEffect(() => setPlace((before) => (before.key === key ? before : { key, positions: [] })), [key])
  const position = positions.at(-1)
  const loading = useLoad(() => load(position), [key, position], options)
  const next = loading.data?.next ?? null
  return {
    ...loading,
    number: positions.length + 1,
    showNext: next === null ? null : () => setPlace({ key, positions: [...positions, next] }),
    showPrevious: positions.length === 0 ? null : () => setPlace({ key, positions: positions.slice(0, -1) }),
  }
}

/** Makes a page of a list with `next_cursor`. */
export function toCursorPage<Row>(answer: {
  readonly data: readonly Row[]
  readonly next_cursor?: string | null
}): ListPage<Row> {
  return { rows: answer.data, next: answer.next_cursor ?? null }
}

/** Rows on a page of a list. Narrow screens show fewer, because there each row is a card. */
export const PAGE_SIZE = window.matchMedia('(max-width: 47rem)').matches ? 20 : 50

interface Range {
  readonly limit: number
  readonly offset: number
}

/** Loads a page of a list with `limit` and `offset`. It loads one row more, which says whether another page follows. */
export async function loadOffsetPage<Row>(
  position: string | undefined,
  load: (range: Range) => Promise<{ readonly data: readonly Row[] }>,
): Promise<ListPage<Row>> {
  const offset = Number(position ?? 0)
  const { data } = await load({ limit: PAGE_SIZE + 1, offset })
  return { rows: data.slice(0, PAGE_SIZE), next: data.length > PAGE_SIZE ? String(offset + PAGE_SIZE) : null }
}
