/** Reads lists to their end: by `limit` and `offset`, or by the cursor that each answer gives. */
import { isObject } from './posthorn-error.js'

type Values = Readonly<Record<string, unknown>>

const MAX_PAGE = 100

/** `query` may have the size of a page, `limit`, and the place of the first one, `offset` or `cursor`. */
export async function* readPages<Item>(
  readPage: (place: Values) => Promise<unknown>,
  query: Values = {},
): AsyncGenerator<Item, void, undefined> {
  const limit = Number(query['limit'] ?? MAX_PAGE)
  let offset = Number(query['offset'] ?? 0)
  let place: Values = { limit }
  let before: ReadonlySet<unknown> = new Set()
  while (true) {
    const page = await readPage(place)
    if (!isObject(page) || !Array.isArray(page['data'])) throw new TypeError('the answer is no page of a list')
    const items: readonly Item[] = page['data']
    // Items that were added at the front in the meantime move items of the last page to this one.
    for (const item of items) if (!before.has(idOf(item))) yield item
    if ('next_cursor' in page) {
      if (page['next_cursor'] === null) return
      place = { limit, cursor: page['next_cursor'] }
    } else {
      if (items.length < limit) return
      offset += items.length
      place = { limit, offset }
      before = new Set(items.map(idOf))
    }
  }
}

/** What has no id is never taken for another item. */
function idOf(item: unknown): unknown {
  return isObject(item) && 'id' in item ? item['id'] : item
}
