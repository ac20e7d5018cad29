/**
 * Group commit in PostgreSQL: the requests that wait while a batch is under way become the next batch, which is one
 * pipeline, one transaction and one round trip.
 *
 * Invariant: a commit that resolves is on disk as the server promises it, and one that rejects has left no trace. An
 * error ends a transaction, so a batch whose request fails is sent again without that request. If the connection is
 * lost, the requests of the batch wait until the fence tells whether the server has committed it. A server that falls
 * silent, as one whose machine has lost its power, counts as lost.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../../platform/log.js'
import type { WrittenBatch } from '../db/database.js'
import { DatabaseTaken } from '../db/schema-errors.js'
import { type CommitOptions, StorageFault, type Write } from '../db/write.js'
import { planBatch, type RequestStatement } from './batch-plan.js'
import type { Fence } from './fence.js'
import { Lease } from './lease.js'
import type { ManyRows } from './many-rows.js'
import { rejectAfter, startPatience } from './patience.js'
import type { Statement } from './pipeline-run.js'
import type { PipelinedConnection } from './pipelined-connection.js'
import { ConnectionLost, ServerError, UnsendableValue } from './server-errors.js'
import { type Connect, ServerPulse } from './server-pulse.js'
import { concernsAll, isMadeByLocks, isMiss, toStatement, toWriteError } from './write-errors.js'

/** Requests of one batch. */
const MAX_REQUESTS = 500
/** Requests that wait. More are refused, so that memory stays bounded. */
const MAX_WAITING = 20_000
/** Milliseconds between beats of a daemon that writes nothing. */
const BEAT_INTERVAL = 2_000
/** Milliseconds between attempts to reach the server again. */
const RETRY_PAUSE = 250
/** Milliseconds between looks whether all is written, at the end. */
const CLOSE_PAUSE = 5
const LAPSED = 'this node has written nothing for a while: it first looks at what others have changed'
/** Milliseconds for which requests wait for a server that cannot be reached. */
const PATIENCE = 1_900
/** Milliseconds for which requests wait for a server that answers, but not to the batch before. */
const LONG_PATIENCE = 5_000
/** Tries of a batch that the server ended because of locks, or whose connection was lost. */
const MAX_TRIES = 5
/** Requests of a batch that may fail until the others go one by one, so that many that fail cost no more than that. */
const MAX_FAILED = 8

interface Request {
  readonly statements: readonly RequestStatement[]
  readonly isOfNode: boolean
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

interface WriterDeps {
  readonly fence: Fence
  readonly connection: PipelinedConnection
  readonly manyRows: ManyRows
  /** Opens another connection, after the first one is lost. */
  readonly connect: Connect
  readonly log: Pick<Log, 'warn' | 'error'>
  /** Another daemon has taken over: nothing can be written any more. */
  readonly onTaken: (error: Error) => void
  readonly onBatch: (batch: WrittenBatch) => void
  /** Requests are refused from now on. */
  readonly onFault: (fault: StorageFault) => void
}

export class BatchWriter {
  private waiting: Request[] = []
  private connection: PipelinedConnection
  private isWorking = false
  /** Why nothing can be written now. */
  private fault: StorageFault | null = null
  private commits = 0
  readonly lease = new Lease()
  private readonly beats: NodeJS.Timeout
  private readonly pulse: ServerPulse
  private isClosing = false

  constructor(private readonly deps: WriterDeps) {
    this.connection = deps.connection
    this.beats = setInterval(() => this.beat(), BEAT_INTERVAL)
    this.beats.unref()
    this.pulse = new ServerPulse({
      connect: deps.connect,
      isNeeded: () => this.isWorking,
      onSilence: () => this.connection.destroy('the server does not answer'),
    })
  }

  countCommits(): number {
    return this.commits
  }

  commit(writes: readonly Write[], { isProbe = false, isOfNode = false }: CommitOptions = {}): Promise<void> {
    if (this.isClosing) return Promise.reject(new StorageFault('closed', 'the database is closed'))
    if (this.fault !== null) return Promise.reject(this.fault)
    if (!isOfNode && !this.lease.isHeld()) return Promise.reject(new StorageFault('lapsed', LAPSED))
    if (this.waiting.length >= MAX_WAITING) {
      return Promise.reject(new StorageFault('busy', 'too many changes wait for the database'))
    }
    return new Promise((resolve, reject) => {
      if (isProbe) rejectAfter(PATIENCE, reject)
      this.waiting.push({ statements: writes.map(toStatement), isOfNode, resolve, reject })
      this.begin()
    })
  }

  /** Completes pending requests, and lets another daemon begin. */
  async close(): Promise<void> {
    if (this.isClosing) return
    this.isClosing = true
    clearInterval(this.beats)
    while (this.isWorking) await pause(CLOSE_PAUSE)
    await this.pulse.close()
    if (this.fault === null) await this.deps.fence.release(this.connection).catch(() => undefined)
    await this.connection.close()
  }

  private beat(): void {
    if (this.fault !== null || this.lease.age() < BEAT_INTERVAL) return
    this.commit([], { isOfNode: true }).catch(() => undefined)
  }

  /** Requests that came before a lapse may rest on what others have changed since. */
  private refuseOthers(): void {
    const others = this.waiting.filter(({ isOfNode }) => !isOfNode)
    this.waiting = this.waiting.filter(({ isOfNode }) => isOfNode)
    for (const { reject } of others) reject(new StorageFault('lapsed', LAPSED))
  }

  /** The requests of one turn of the event loop are one batch. */
  private begin(): void {
    if (this.isWorking) return
    this.isWorking = true
    setImmediate(() => void this.work())
  }

  private async work(): Promise<void> {
    while (this.waiting.length > 0) {
      if (!this.lease.isHeld()) this.refuseOthers()
      const batch = this.waiting.splice(0, MAX_REQUESTS)
      try {
        await this.write(batch)
      } catch (error) {
        for (const { reject } of batch) reject(toWriteError(error))
      }
    }
    this.isWorking = false
  }

  /**
   * Resolves when each request of the batch is decided, or rejects with what decides those that are not. A request that
   * fails is told so after the commit of the others: they may be why, and its caller reads them to say so.
   */
  private async write(batch: readonly Request[]): Promise<void> {
    const rejections: (() => void)[] = []
    try {
      await this.writeOthers(batch, rejections)
    } finally {
      for (const reject of rejections) reject()
    }
  }

  /** Commits the requests that do not fail. */
  private async writeOthers(batch: readonly Request[], rejections: (() => void)[]): Promise<void> {
    let left = batch
    let many: ManyRows | null = this.deps.manyRows
    for (let tries = 1; left.length > 0; ) {
      if (left.length > 1 && batch.length - left.length >= MAX_FAILED) return this.writeEach(left, rejections)
      const began = performance.now()
      const plan = planBatch(left, many)
      try {
        await this.run([this.deps.fence.advance(), ...plan.map(({ statement }) => statement)])
        return this.noteCommitted(left, performance.now() - began)
      } catch (error) {
        if (error instanceof ConnectionLost) {
          if (await this.wasCommitted(error, began)) return this.noteCommitted(left, performance.now() - began)
          if (tries++ >= MAX_TRIES) throw error
          continue
        }
        if (!(error instanceof ServerError || error instanceof UnsendableValue)) throw error
        if (error.statement === 0 && isMiss(error))
          throw this.stopFor(new DatabaseTaken('another daemon has taken over'))
        const owner = plan[error.statement - 1]?.owner
        if (concernsAll(error)) {
          if (!isMadeByLocks(error) || tries++ >= MAX_TRIES) throw error
        } else if (owner !== null) left = withoutFailed(left, owner, error, rejections)
        // One by one, the rows show whose fault it is.
        else if (many !== null) many = null
        else throw error
      }
    }
  }

  /** Others wait for the answer too for a while, and are refused then. */
  private async run(statements: readonly Statement[]): Promise<void> {
    const said = `PostgreSQL has not answered a commit for ${LONG_PATIENCE / 1000} s`
    const endPatience = this.refuseAfter(LONG_PATIENCE, new StorageFault('slow', said))
    try {
      await this.connection.run(statements)
    } finally {
      endPatience()
    }
  }

  private async writeEach(batch: readonly Request[], rejections: (() => void)[]): Promise<void> {
    for (const request of batch) await this.writeOthers([request], rejections)
  }

  private noteCommitted(batch: readonly Request[], syncTime: number): void {
    this.commits += 1
    this.deps.fence.noteCommitted()
    this.lease.renew()
    this.deps.onBatch({ requests: batch.length, syncTime })
    for (const { resolve } of batch) resolve()
  }

  /**
   * Tells what became of the batch whose answer was lost. Its requests wait for that. Others wait too for a while, and are
   * refused then, so that their clients hear of it. `began` is when the batch was sent first.
   *
   * @throws StorageFault if it was not committed, and the outage was long
   */
  private async wasCommitted(lost: Error, began: number): Promise<boolean> {
    const { fence, log } = this.deps
    log.warn({ err: lost }, 'the connection to PostgreSQL is lost')
    const fault = new StorageFault('connection', `PostgreSQL cannot be reached: ${lost.message}`)
    const endPatience = this.refuseAfter(PATIENCE - (performance.now() - began), fault)
    try {
      const { isCommitted, hasLost } = await this.askUntilKnown(() => fence.findOutcome(this.connection))
      if (hasLost) throw this.stopForLoss()
      if (!isCommitted && this.fault !== null) throw fault
      return isCommitted
    } finally {
      endPatience()
    }
  }

  /** Refuses those that wait then, and who comes later, until the function is called that it returns. */
  private refuseAfter(milliseconds: number, fault: StorageFault): () => void {
    const endPatience = startPatience(milliseconds, () => this.deps.onFault(this.refuse(fault)))
    return () => {
      endPatience()
      if (this.fault === fault) this.fault = null
    }
  }

  private refuse(fault: StorageFault): StorageFault {
    this.fault = fault
    for (const { reject } of this.waiting.splice(0)) reject(fault)
    return fault
  }

  private async askUntilKnown<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    for (;;) {
      try {
        this.connection = await this.deps.connect({})
        return await ask()
      } catch (error) {
        // Each try has a new connection.
        this.connection.destroy('its outcome could not be asked')
        if (error instanceof DatabaseTaken) throw this.stopFor(error)
        // The end of the daemon waits for no server.
        if (this.isClosing) throw error
        await pause(RETRY_PAUSE)
      }
    }
  }

  /** The server has lost commits that it had acknowledged, of this node or of others. */
  stopForLoss(): StorageFault {
    this.deps.log.error('PostgreSQL has lost commits that it had acknowledged')
    return this.stopFor(new DatabaseTaken('the server has lost commits, so everything is read again'))
  }

  /** Nothing can be written by this process any more. */
  private stopFor(error: DatabaseTaken): StorageFault {
    const fault = this.refuse(new StorageFault('taken', error.message))
    this.deps.onTaken(error)
    return fault
  }
}

/** Gives the requests but the one at `failed`. */
function withoutFailed(
  batch: readonly Request[],
  failed: number | undefined,
  error: ServerError | UnsendableValue,
  rejections: (() => void)[],
): readonly Request[] {
  const request = failed === undefined ? undefined : batch[failed]
  if (failed === undefined || request === undefined) throw error
  rejections.push(() => request.reject(toWriteError(error)))
  return batch.toSpliced(failed, 1)
}
