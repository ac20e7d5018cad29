/**
 * Connections for reads. A read goes to the connection with the fewest unanswered ones; a further connection is opened
 * when all are in use.
 *
 * A connection that is lost is opened again after a pause, and its reads are repeated once on another one. During an outage a
 * read is rejected as a `StorageFault` within `PATIENCE`, later ones at once, and the number of reads that wait is bounded.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { errorCodeOf, errorMessageOf } from '../../platform/errors.js'
import { StorageFault } from '../db/write.js'
import type { Statement, StatementResult } from './pipeline-run.js'
import type { PipelinedConnection } from './pipelined-connection.js'
import { ConnectionLost, ServerError, UnsendableValue } from './server-errors.js'
import { type Connect, ServerPulse } from './server-pulse.js'
import type { Row } from './wire-values.js'

/** Milliseconds for which a read waits for a server. */
const PATIENCE = 1_900
/** The same once a read was rejected for that reason, until a connection is open again. */
const PATIENCE_IN_OUTAGE = 100
/** Milliseconds before a connection is opened again; they double with each failure. */
const MIN_PAUSE = 50
const MAX_PAUSE = 1_000
/** A read that has lost so many connections may be the reason, so it is not repeated. */
const MAX_LOSSES = 2
/** Classes of SQLSTATE that say that the server cannot work now, whatever the statement is. */
const OUTAGES = ['08', '53', '57P', '58']

interface PoolOptions {
  readonly connect: Connect
  readonly connections: number
  /** A read was rejected because of it. */
  readonly onFault?: (fault: StorageFault) => void
  /** Reads that may wait for their answer. */
  readonly maxReads?: number
}

export class ConnectionPool {
  private readonly open = new Set<PipelinedConnection>()
  private readonly keepers: Promise<void>[] = []
  private readonly waiting = new Set<() => void>()
  private readonly stop = new AbortController()
  private readonly maxReads: number
  private pulse: ServerPulse | null = null
  private reads = 0
  private lastFailure: unknown = new Error('no connection is open yet')
  private isOutage = false

  constructor(private readonly options: PoolOptions) {
    this.maxReads = options.maxReads ?? 10_000
  }

  /** The number of open connections. */
  get size(): number {
    return this.open.size
  }

  async read(sql: string, parameters: readonly unknown[]): Promise<readonly Row[]> {
    const [rows = []] = await this.readTogether([{ sql, parameters }])
    return rows
  }

  /** Reads one state of the database in one round trip. If one read fails, all do. */
  async readTogether(queries: readonly Statement[]): Promise<readonly (readonly Row[])[]> {
    try {
      return await this.readBounded(queries)
    } catch (error) {
      if (error instanceof StorageFault) this.options.onFault?.(error)
      throw error
    }
  }

  /** Ends all connections when their reads are answered. */
  async close(): Promise<void> {
    this.stop.abort()
    for (const wake of [...this.waiting]) wake()
    await Promise.all([this.pulse?.close(), ...[...this.open].map((connection) => connection.close())])
    await Promise.all(this.keepers)
  }

  private async readBounded(queries: readonly Statement[]): Promise<readonly (readonly Row[])[]> {
    if (this.reads >= this.maxReads) throw new StorageFault('BUSY', `${this.reads} reads wait for PostgreSQL already`)
    this.reads++
    this.pulse ??= this.startPulse()
    try {
      const results = await this.readWithin(
        queries,
        performance.now() + (this.isOutage ? PATIENCE_IN_OUTAGE : PATIENCE),
      )
      return results.map(({ rows }) => rows)
    } finally {
      this.reads--
    }
  }

  private startPulse(): ServerPulse {
    return new ServerPulse({
      connect: this.options.connect,
      isNeeded: () => this.reads > 0,
      onSilence: () => this.loseAll(),
    })
  }

  private loseAll(): void {
    for (const connection of [...this.open]) connection.destroy('the server does not answer')
  }

  private async readWithin(queries: readonly Statement[], until: number): Promise<readonly StatementResult[]> {
    for (let losses = 0; ; ) {
      const connection = this.pick() ?? (await this.waitForConnection(until))
      try {
        return await connection.run(queries)
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw toFault(error)
        this.lastFailure = error
        if (error.wasSent) losses++
        if (losses === MAX_LOSSES) throw toFault(error)
      }
    }
  }

  /** The connection with the fewest unanswered reads. Another one is opened if all are in use. */
  private pick(): PipelinedConnection | undefined {
    let best: PipelinedConnection | undefined
    for (const connection of this.open) {
      if (!connection.isLost && connection.unanswered < (best?.unanswered ?? Infinity)) best = connection
    }
    if (best?.unanswered !== 0 && this.keepers.length < this.options.connections) this.addConnection()
    return best
  }

  private async waitForConnection(until: number): Promise<PipelinedConnection> {
    for (;;) {
      const left = until - performance.now()
      if (left <= 0 || this.stop.signal.aborted) {
        this.isOutage = true
        throw toFault(this.lastFailure)
      }
      await this.waitForChange(left)
      const connection = this.pick()
      if (connection !== undefined) return connection
    }
  }

  private waitForChange(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer)
        this.waiting.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, milliseconds)
      this.waiting.add(wake)
    })
  }

  private addConnection(): void {
    this.keepers.push(this.keepOpen())
  }

  private async keepOpen(): Promise<void> {
    const { signal } = this.stop
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const connection = await this.options.connect({ isReader: true })
        failures = 0
        await this.useUntilLost(connection)
      } catch (error) {
        this.lastFailure = error
      }
      const pause = Math.min(MIN_PAUSE * 2 ** Math.min(failures, 10), MAX_PAUSE)
      await sleep(pause, undefined, { signal }).catch(() => undefined)
    }
  }

  private async useUntilLost(connection: PipelinedConnection): Promise<void> {
    if (this.stop.signal.aborted) return connection.close()
    this.open.add(connection)
    this.isOutage = false
    for (const wake of [...this.waiting]) wake()
    this.lastFailure = await connection.ended
    this.open.delete(connection)
  }
}

/** An error of the statement itself stays what it is. */
function toFault(error: unknown): unknown {
  const isOutage = !(error instanceof ServerError) || OUTAGES.some((prefix) => error.code.startsWith(prefix))
  const isKnown = error instanceof StorageFault || error instanceof UnsendableValue || error instanceof RangeError
  if (!isOutage || isKnown) return error
  return new StorageFault(errorCodeOf(error) || 'CONNECTION_LOST', `PostgreSQL is away: ${errorMessageOf(error)}`)
}
