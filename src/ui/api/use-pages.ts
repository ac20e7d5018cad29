/**
 * Lists in pages, forwards and backwards. `load` gets the position of a page, undefined for the first, and answers
 * with its rows and the position of the next page: the cursor of a list, or its offset (`toOffsetPage`).
 */
import { useEffect, useState } from 'preact/hooks'
import { type Loading, useLoad } from './use-load.ts'

export interface ListPage<Row> {
  readonly rows: readonly Row[]
  /** Null: this is the last page. */
  readonly next: string | null
}

export interface Pages<Row> extends Loading<ListPage<Row>> {
  /** Counted from 1. */
  readonly number: number
  readonly showNext: (() => void) | null
  readonly showPrevious: (() => void) | null
}

/** Where the user is, which belongs to one set of keys: other filters begin at the first page. */
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
  // Keys that were used before begin at the first page again.
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

/** A page of a list with `next_cursor`. */
export function toCursorPage<Row>(answer: {
  readonly data: readonly Row[]
  readonly next_cursor?: string | null
}): ListPage<Row> {
  return { rows: answer.data, next: answer.next_cursor ?? null }
}

/** A page of a list with `limit` and `offset`, which was loaded with one row more than `limit` if there is one. */
export function toOffsetPage<Row>(data: readonly Row[], position: string | undefined, limit: number): ListPage<Row> {
  const next = data.length > limit ? String(Number(position ?? 0) + limit) : null
  return { rows: data.slice(0, limit), next }
}
