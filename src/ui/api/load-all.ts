/** Loads all rows of a list, for a field in which the user chooses one. */

/** Rows that an answer has at most. */
const PAGE_SIZE = 100
/** Rows that a field offers at most. */
const MAX_ROWS = 1_000

interface Range {
  readonly limit: number
  readonly offset: number
}

export async function loadAll<Row>(
  load: (range: Range) => Promise<{ readonly data: readonly Row[] }>,
): Promise<readonly Row[]> {
  const rows: Row[] = []
  while (rows.length < MAX_ROWS) {
    const { data } = await load({ limit: PAGE_SIZE, offset: rows.length })
    rows.push(...data)
    if (data.length < PAGE_SIZE) break
  }
  return rows
}
