/**
 * A connection to PostgreSQL that sends any number of statements and one Sync: one transaction and one round trip. A
 * run may be sent before earlier ones are answered; the server works them off in order.
 *
 * pg opens the connection, which is encryption and authentication, and reads the messages of the server. From then on
 * its events come here: pg's own pipeline sends a Sync after each statement and takes no query classes but its own.
 *
 * A run is rejected with what the server says only when the server is ready again. If the connection ends between the
 * two, the run is lost: an error that ends the connection may come after the commit.
 */
import type { Duplex } from 'node:stream'
import type { Client } from 'pg'
import { MessageWriter, type Sendable } from './message-writer.js'
import { PipelineRun, type Statement, type StatementResult } from './pipeline-run.js'
import { ConnectionLost, type ServerReport, UnsendableValue } from './server-errors.js'
import { StatementNames } from './statement-names.js'
import { MAX_PARAMETERS, toColumn, toSendable, Unsendable } from './wire-values.js'

/** Milliseconds after the limit, in which what has come while this process hung is read. */
const GRACE = 50
/** Milliseconds for the server to end a connection that was closed here. */
const MAX_END = 1_000
/** The server refuses a prepared statement that it took before: its rows have changed, or it is gone. */
const STALE = new Set(['0A000', '26000'])

interface PipelineOptions {
  /** Milliseconds without a byte from the server, while runs wait, after which the connection is given up. */
  readonly maxSilence: number
  /** Prepared statements that the server holds for this connection. */
  readonly maxStatements: number
}

/** What pg's events carry. */
interface Described {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[]
}
interface DataRow {
  readonly fields: readonly (string | null)[]
}
interface Completed {
  readonly text: string
}

export class PipelinedConnection {
  /** Resolves, with the reason, when the connection has ended. */
  readonly ended: Promise<Error>
  private readonly writer = new MessageWriter()
  private readonly names: StatementNames
  private readonly sent: PipelineRun[] = []
  private readonly stream: Duplex
  private readonly end = Promise.withResolvers<Error>()
  private lostBy: Error | null = null
  private heardAt = 0
  private timer: NodeJS.Timeout | undefined
  private isSuspected = false

  /** `client` is connected, and does nothing else from now on. */
  constructor(
    private readonly client: Client,
    private readonly options: PipelineOptions,
  ) {
    this.names = new StatementNames(this.writer, options.maxStatements)
    this.stream = client.connection.stream
    this.ended = this.end.promise
    this.takeAnswers()
    client.on('error', (error) => this.lose(error))
    client.on('end', () => this.lose(new Error('the server closed it')))
    this.stream.on('data', () => this.noteAnswer())
  }

  /** Runs that are not answered yet. */
  get unanswered(): number {
    return this.sent.length
  }

  /** The address and port of the server. */
  get server(): string {
    return `${this.client.host}:${this.client.port}`
  }

  get isLost(): boolean {
    return this.lostBy !== null
  }

  /** Prepared statements that the server holds. */
  get statements(): number {
    return this.names.size
  }

  /**
   * Runs the statements in one transaction. Bytes among the parameters may not be changed until the answer.
   *
   * @throws ServerError if the server refuses it, ConnectionLost if the outcome is unknown, UnsendableValue
   */
  async run(statements: readonly Statement[]): Promise<readonly StatementResult[]> {
    if (this.lostBy !== null) throw new ConnectionLost(this.lostBy.message, false)
    if (statements.length === 0) return []
    const values = statements.map(toSendables)
    this.names.beginRun()
    const run = new PipelineRun(statements.map(({ sql }, index) => this.writeStatement(sql, values[index] ?? [])))
    this.writer.sync()
    if (this.sent.length === 0) this.noteAnswer()
    this.sent.push(run)
    this.send()
    this.timer ??= setTimeout(() => this.checkSilence(), this.options.maxSilence)
    return run.outcome
  }

  /** Ends it when all runs are answered. */
  async close(): Promise<void> {
    await Promise.allSettled(this.sent.map(({ outcome }) => outcome))
    if (this.lostBy !== null) return
    this.lostBy = new Error('it was closed')
    this.client.connection.end()
    const limit = setTimeout(() => this.destroy('the server did not end it'), MAX_END)
    await this.ended
    clearTimeout(limit)
  }

  /** Ends it at once. Runs that wait are lost. */
  destroy(reason: string): void {
    this.lose(new Error(reason))
  }

  private writeStatement(sql: string, values: readonly Sendable[]) {
    const statement = this.names.use(sql)
    this.writer.bind(statement.name, values)
    this.writer.execute()
    return statement
  }

  private send(): void {
    this.stream.cork()
    for (const piece of this.writer.take()) this.stream.write(piece)
    this.stream.uncork()
  }

  private takeAnswers(): void {
    this.take('rowDescription', ({ fields }: Described) => this.sent[0]?.describe(fields.map(toColumn)))
    this.take('noData', () => this.sent[0]?.describe([]))
    this.take('dataRow', ({ fields }: DataRow) => this.sent[0]?.addRow(fields))
    this.take('commandComplete', ({ text }: Completed) => this.sent[0]?.complete(text))
    this.take('emptyQuery', () => this.sent[0]?.complete(''))
    this.take('errorMessage', (report: ServerReport) => this.noteError(report))
    this.take('readyForQuery', () => this.endRun())
    for (const event of ['parseComplete', 'portalSuspended', 'copyData']) this.take(event, () => undefined)
    this.take('copyInResponse', () => this.destroy('it was asked to copy data, which a pipeline cannot'))
  }

  private take<Message>(event: string, listener: (message: Message) => void): void {
    this.client.connection.removeAllListeners(event).on(event, listener)
  }

  private noteError(report: ServerReport): void {
    const [run] = this.sent
    if (run === undefined) this.lose(new Error(`${report.message} (${report.code})`))
    else run.fail(report)
    if (run?.failed !== undefined && STALE.has(report.code ?? '')) this.names.forget(run.failed)
  }

  private endRun(): void {
    const run = this.sent.shift()
    if (run === undefined) return
    if (run.hasFailed) this.names.forgetUndescribed(run.used)
    run.end()
  }

  private lose(reason: Error): void {
    this.lostBy ??= reason
    for (const run of this.sent.splice(0)) run.lose(this.lostBy)
    clearTimeout(this.timer)
    this.stream.destroy()
    this.end.resolve(this.lostBy)
  }

  private noteAnswer(): void {
    this.heardAt = performance.now()
    this.isSuspected = false
  }

  /** Runs while statements wait for answers. */
  private checkSilence(): void {
    this.timer = undefined
    if (this.sent.length === 0) return
    const left = this.heardAt + this.options.maxSilence - performance.now()
    if (left <= 0 && this.isSuspected) {
      this.lose(new Error(`the server has said nothing for ${this.options.maxSilence / 1000} s`))
      return
    }
    this.isSuspected = left <= 0
    this.timer = setTimeout(() => this.checkSilence(), this.isSuspected ? GRACE : left)
  }
}

function toSendables({ sql, parameters }: Statement, statement: number): readonly Sendable[] {
  if (parameters.length > MAX_PARAMETERS) {
    const rule = `is one of ${parameters.length}: PostgreSQL takes ${MAX_PARAMETERS}, so split the statement`
    throw new UnsendableValue(rule, statement, MAX_PARAMETERS, sql)
  }
  return parameters.map((parameter, index) => {
    const value = toSendable(parameter)
    if (value instanceof Unsendable) throw new UnsendableValue(value.rule, statement, index, sql)
    return value
  })
}
