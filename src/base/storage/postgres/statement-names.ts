/**
 * The prepared statements of one connection, by their text. Their number is bounded: the one that was used least
 * recently is closed for a new one.
 *
 * A statement has its name for the runs that follow only when the server has answered its parsing, since an error
 * earlier in the run skips that. A run that is sent before the answer parses the text without a name. No name is used
 * twice.
 */
import type { MessageWriter } from './message-writer.js'
import type { Column } from './wire-values.js'

/** A statement as a run uses it. */
export interface PreparedStatement {
  readonly sql: string
  /** Empty if it has no name. */
  readonly name: string
  /** Null until the server has described its rows. */
  columns: readonly Column[] | null
  /** The last run that used it. */
  run: number
}

export class StatementNames {
  private readonly statements = new Map<string, PreparedStatement>()
  private run = 0
  private names = 0
  /** Names to close at the beginning of the next run, where no error can skip that. */
  private closing: string[] = []
  /** The statement without a name, as this run has parsed it. */
  private unnamed: PreparedStatement | null = null

  constructor(
    private readonly writer: MessageWriter,
    private readonly maxStatements: number,
  ) {}

  get size(): number {
    return this.statements.size
  }

  beginRun(): void {
    this.run++
    this.unnamed = null
    for (const name of this.closing) this.writer.closeStatement(name)
    this.closing = []
  }

  /** Gives the statement, and writes its parsing if the server does not have it. */
  use(sql: string): PreparedStatement {
    const known = this.statements.get(sql)
    if (known === undefined) return this.parseNew(sql)
    if (known.columns === null && known.run !== this.run) return this.parseUnnamed(sql)
    known.run = this.run
    this.statements.delete(sql)
    this.statements.set(sql, known)
    return known
  }

  /** The run failed: a statement that the server has not described may be unknown to it. */
  forgetUndescribed(used: readonly PreparedStatement[]): void {
    for (const statement of used) if (statement.columns === null) this.forget(statement)
  }

  forget(statement: PreparedStatement): void {
    if (this.statements.get(statement.sql) !== statement) return
    this.statements.delete(statement.sql)
    this.closing.push(statement.name)
  }

  private parseNew(sql: string): PreparedStatement {
    if (this.statements.size >= this.maxStatements && !this.closeOldest()) return this.parseUnnamed(sql)
    const statement = this.parse(sql, `s${++this.names}`)
    this.statements.set(sql, statement)
    return statement
  }

  private parseUnnamed(sql: string): PreparedStatement {
    if (this.unnamed?.sql !== sql) this.unnamed = this.parse(sql, '')
    return this.unnamed
  }

  private parse(sql: string, name: string): PreparedStatement {
    this.writer.parse(name, sql)
    this.writer.describeStatement(name)
    return { sql, name, columns: null, run: this.run }
  }

  /** Returns false if this run uses all of them. */
  private closeOldest(): boolean {
    const [oldest] = this.statements.values()
    if (oldest === undefined || oldest.run === this.run) return false
    this.closing.push(oldest.name)
    this.statements.delete(oldest.sql)
    return true
  }
}
