/**
 * The rows of a report: groups with the same properties are one row, and what exceeds the limits is summed up in two
 * more, one of what passed and one of what failed.
 *
 * Limits: 1,000 rows, 256 KB of their JSON. A count is a claim: more than 100 million messages of a row, or 500 million
 * of a report that passed, or as many that failed, are counted as that many. This holds for the sum of the rows, too. No
 * sum over the reports of a domain then leaves the safe integers.
 */
import { toJson } from '../../../base/storage/tables/columns.js'
import type { DomainReportRow, DomainReportRowsTable } from '../../../base/storage/tables/domain-report-tables.js'

const MAX_ROWS = 1_000
/** Characters. */
const MAX_LENGTH = 262_144
/** Messages of one row. */
export const MAX_ROW_COUNT = 100_000_000
/** Messages of one report that passed, and as many that failed. */
const MAX_COUNT = 500_000_000

interface Group<Row> {
  readonly row: Row
  count: number
}

export interface RowTotals {
  readonly messages: number
  readonly passed: number
}

/** The totals of two parts of one report. */
export function addTotals(one: RowTotals, other: RowTotals): RowTotals {
  const passed = Math.min(one.passed + other.passed, MAX_COUNT)
  const failed = Math.min(one.messages - one.passed + other.messages - other.passed, MAX_COUNT)
  return { messages: passed + failed, passed }
}

export class ReportRows<Row extends DomainReportRow> {
  private readonly groups = new Map<string, Group<Row>>()
  private length = 0
  private passed = 0
  private failed = 0

  /**
   * `rest` makes the row for all that exceeds the limits. `withCount` makes the row with a number of messages, which is
   * 0 in the rows that are added.
   */
  constructor(
    private readonly rest: (passed: boolean) => Row,
    private readonly withCount: (row: Row, count: number) => Row,
  ) {}

  add(row: Row, count: number): void {
    const key = JSON.stringify(row)
    if (this.groups.has(key)) this.raise(key, row, count)
    else if (this.groups.size < MAX_ROWS && this.length + key.length <= MAX_LENGTH) {
      this.length += key.length
      this.raise(key, row, count)
    } else {
      const rest = this.rest(row.passed)
      this.raise(JSON.stringify(rest), rest, count)
    }
  }

  sum(): RowTotals {
    return { messages: this.passed + this.failed, passed: this.passed }
  }

  encode(): DomainReportRowsTable['rows'] {
    return toJson([...this.groups.values()].map(({ row, count }) => this.withCount(row, count)))
  }

  private raise(key: string, row: Row, count: number): void {
    const group = this.groups.get(key) ?? { row, count: 0 }
    const left = MAX_COUNT - (row.passed ? this.passed : this.failed)
    const added = Math.min(count, MAX_ROW_COUNT - group.count, left)
    group.count += added
    if (row.passed) this.passed += added
    else this.failed += added
    this.groups.set(key, group)
  }
}
