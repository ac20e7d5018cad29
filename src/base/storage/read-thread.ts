/**
 * Reads rows of megabytes on a thread: SQLite copies such values several times, which takes the main thread some tens
 * of milliseconds. The bytes come back in memory that nothing else uses, so they are not copied.
 *
 * Each read has its own connection, so that none keeps the WAL from being copied back.
 */
import { JobThread } from '../platform/processes/job-thread.js'
import { isRecord } from '../platform/records.js'

export interface ReadJob {
  /** The database. */
  readonly file: string
  readonly sql: string
  readonly parameters: readonly unknown[]
}

export class ReadThread {
  private readonly thread = new JobThread<ReadJob, unknown[]>(new URL('./read-worker.js', import.meta.url))

  constructor(private readonly file: string) {}

  /** Rejects with an error of no special class. */
  async read<Row>(sql: string, parameters: readonly unknown[]): Promise<Row[]> {
    const rows = await this.thread.run({ file: this.file, sql, parameters })
    return rows.map((row) => restoreBytes(row) as Row)
  }

  stop(): Promise<void> {
    return this.thread.stop()
  }
}

/** Buffers have lost their class on the way. */
function restoreBytes(row: unknown): unknown {
  if (!isRecord(row)) return row
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value,
    ]),
  )
}
