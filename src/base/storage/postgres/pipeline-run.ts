/**
 * One run of a pipeline: its statements, and what the server has answered so far.
 *
 * The answers come in the order of the statements, so the next one to be completed is the one that the server speaks of.
 */
import { errorMessageOf, toError } from '../../platform/errors.js'
import { ConnectionLost, ServerError, type ServerReport } from './server-errors.js'
import type { PreparedStatement } from './statement-names.js'
import { type Column, type Row, readRow } from './wire-values.js'

export interface Statement {
  readonly sql: string
  readonly parameters: readonly unknown[]
}

export interface StatementResult {
  /** Objects by the names of the columns. */
  readonly rows: readonly Row[]
  /** The number of rows that an insert, update or delete has changed. */
  readonly changes: number
}

const CHANGED = /^(?:INSERT \d+|UPDATE|DELETE|MERGE) (\d+)$/

export class PipelineRun {
  readonly outcome: Promise<readonly StatementResult[]>
  private readonly results: StatementResult[] = []
  private rows: Row[] = []
  private report: ServerReport | null = null
  /** A value that the server sent could not be read. */
  private unreadable: Error | null = null
  private readonly settle = Promise.withResolvers<readonly StatementResult[]>()

  constructor(readonly used: readonly PreparedStatement[]) {
    this.outcome = this.settle.promise
  }

  /** The statement that the server was at when it reported an error. Undefined if it reported none, or the commit. */
  get failed(): PreparedStatement | undefined {
    return this.report === null ? undefined : this.current
  }

  get hasFailed(): boolean {
    return this.report !== null
  }

  describe(columns: readonly Column[]): void {
    if (this.current !== undefined) this.current.columns = columns
  }

  addRow(texts: readonly (string | null)[]): void {
    try {
      this.rows.push(readRow(this.current?.columns ?? [], texts))
    } catch (error) {
      this.unreadable ??= toError(error)
    }
  }

  complete(tag: string): void {
    this.results.push({ rows: this.rows, changes: Number(CHANGED.exec(tag)?.[1] ?? 0) })
    this.rows = []
  }

  fail(report: ServerReport): void {
    this.report ??= report
  }

  /** The server is ready for the next run: whatever this one did is decided. */
  end(): void {
    if (this.report !== null) {
      this.settle.reject(new ServerError(this.report, this.results.length, this.current?.sql))
    } else if (this.unreadable !== null) this.settle.reject(this.unreadable)
    else this.settle.resolve(this.results)
  }

  lose(reason: Error): void {
    const said = this.report === null ? errorMessageOf(reason) : `${this.report.message} (${this.report.code})`
    this.settle.reject(new ConnectionLost(said, true))
  }

  private get current(): PreparedStatement | undefined {
    return this.used[this.results.length]
  }
}
