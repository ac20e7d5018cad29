/**
 * The rows of a report: groups with the same properties are one row, and what exceeds the limits is summed up in two
 * more, one of what passed and one of what failed.
 *
 * Limits: 1,000 rows, 256 KB of their JSON. A count is a claim: more than 100 million messages of a row, or a
 * billion of a report, are counted as that many. No sum over the reports of a domain then leaves the safe integers.
 */
import { toJson } from '../../storage/tables/columns.js'
import type { DomainReportRow, DomainReportRowsTable } from '../../storage/tables/domain-report-tables.js'

const MAX_ROWS = 1_000
/** Characters. */
const MAX_LENGTH = 262_144
/** Messages of one row, and of one report. */
export const MAX_ROW_COUNT = 100_000_000
export const MAX_COUNT = 1_000_000_000

interface Group<Row> {
  readonly row: Row
  count: number
}

export interface RowTotals {
  readonly messages: number
  readonly passed: number
}

export class ReportRows<Row extends DomainReportRow> {
  private readonly groups = new Map<string, Group<Row>>()
  private length = 0

  /**
   * `rest`: the row of what exceeds the limits. `withCount`: the row with a number of messages, which is 0 in those that
   * are added.
   */
  constructor(
    private readonly rest: (passed: boolean) => Row,
    private readonly withCount: (row: Row, count: number) => Row,
  ) {}

  add(row: Row, count: number): void {
    const key = JSON.stringify(row)
    const known = this.groups.get(key)
    if (known !== undefined) known.count = Math.min(known.count + count, MAX_ROW_COUNT)
    else if (this.groups.size < MAX_ROWS && this.length + key.length <= MAX_LENGTH) {
      this.groups.set(key, { row, count: Math.min(count, MAX_ROW_COUNT) })
      this.length += key.length
    } else this.addToRest(row.passed, count)
  }

  sum(): RowTotals {
    let [messages, passed] = [0, 0]
    for (const { row, count } of this.groups.values()) {
      messages += count
      if (row.passed) passed += count
    }
    return { messages: Math.min(messages, MAX_COUNT), passed: Math.min(passed, MAX_COUNT) }
  }

  encode(): DomainReportRowsTable['rows'] {
    return toJson([...this.groups.values()].map(({ row, count }) => this.withCount(row, count)))
  }

  private addToRest(passed: boolean, count: number): void {
    const row = this.rest(passed)
    const key = JSON.stringify(row)
    const known = this.groups.get(key)
    if (known === undefined) this.groups.set(key, { row, count: Math.min(count, MAX_ROW_COUNT) })
    else known.count = Math.min(known.count + count, MAX_ROW_COUNT)
  }
}
