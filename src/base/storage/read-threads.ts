/**
 * Reads on threads, so that what takes long does not delay anything else: rows of megabytes, which SQLite copies several
 * times, and searches, counts and sums over very many rows.
 *
 * Each thread has its own connection, which is in no transaction between two reads, so that none keeps the WAL from
 * being copied back. Bytes come back in memory that nothing else uses, so they are not copied.
 */
import { JobThread, JobTimedOut } from '../platform/processes/job-thread.js'
import { isRecord } from '../platform/records.js'
import { StorageFault } from './db/write.js'

export interface ReadJob {
  /** The database. */
  readonly file: string
  readonly sql: string
  readonly parameters: readonly unknown[]
}

const THREADS = 2
/** Milliseconds that one read may take. */
const TIME_LIMIT = 20_000

export class ReadThreads {
  private readonly threads: readonly JobThread<ReadJob, unknown[]>[]

  constructor(
    private readonly file: string,
    timeLimit = TIME_LIMIT,
  ) {
    const worker = new URL('./read-worker.js', import.meta.url)
    this.threads = Array.from({ length: THREADS }, () => new JobThread<ReadJob, unknown[]>(worker, { timeLimit }))
  }

  /** Rejects with a `StorageFault` if the read takes longer than its limit, else with an error of no special class. */
  async read(sql: string, parameters: readonly unknown[]): Promise<unknown[]> {
    const [first, second] = this.threads
    if (first === undefined || second === undefined) throw new Error('there are no threads')
    // A single reader at a time needs one thread alone.
    const thread = first.waiting <= second.waiting ? first : second
    try {
      const rows = await thread.run({ file: this.file, sql, parameters })
      return rows.map(restoreBytes)
    } catch (error) {
      if (!(error instanceof JobTimedOut)) throw error
      throw new StorageFault('SQLITE_INTERRUPT', 'the read took too long and was ended: ask for less')
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.stop()))
  }
}

/** Buffers have lost their class on the way. */
function restoreBytes(row: unknown): unknown {
  if (!isRecord(row) || !Object.values(row).some((value) => value instanceof Uint8Array)) return row
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value,
    ]),
  )
}
