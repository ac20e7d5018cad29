/** All rows of a list, for fields in which one of them is chosen. */

/** The most that an answer has. */
const PAGE_SIZE = 100
/** More cannot be chosen from in a field. */
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
