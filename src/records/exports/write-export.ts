/**
 * Makes the CSV file of an export, on the export's thread: rows in steps, which become pieces of the file.
 *
 * A piece is stored with the progress of the last step that ends in it. So an interrupted export continues there, after
 * the main thread has removed the bytes behind that place, and their rows are read again.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { formatCsvLine } from '../../base/platform/csv/cells.js'
import type { Read } from '../../base/storage/db/prepared.js'
import type { EndReport, ExportJob, ExportProgress, PieceReport } from './export-protocol.js'
import { createBroadcastSource } from './rows/broadcast-rows.js'
import { createEmailLogSource } from './rows/email-log-rows.js'
import { createBounceSource, createOpenSource } from './rows/event-rows.js'
import type { ExportSource } from './rows/export-source.js'
import { createSuppressionSource } from './rows/suppression-rows.js'

/** Characters of a piece: at its end a step has at least half as many, and no piece has many more. */
const PIECE_LENGTH = 196_608
/** Milliseconds between two reports. */
const REPORT_INTERVAL = 1_000
const MAX_PAUSE = 100

/** Resolves when the piece is stored. */
type StorePiece = (piece: PieceReport) => Promise<void>

export async function writeExport(read: Read, job: ExportJob, store: StorePiece): Promise<EndReport> {
  const source = await createSource(read, job)
  const writing = new ExportWriting(job, source, store)
  for (;;) {
    const begun = performance.now()
    const waitedBefore = writing.waited
    if (await writing.writeStep()) return writing.end()
    await writing.storeIfDue()
    // The pause is as long as the work, so that mail has the processor at least half of the time.
    const waited = writing.waited - waitedBefore
    const pause = performance.now() - begun - 2 * waited
    if (pause > 0) await sleep(Math.min(pause, MAX_PAUSE))
  }
}

async function createSource(read: Read, job: ExportJob): Promise<ExportSource> {
  switch (job.type) {
    case 'email_logs':
      return createEmailLogSource(read, job)
    case 'bounces':
      return createBounceSource(read, job)
    case 'opens':
      return createOpenSource(read, job)
    case 'suppressions':
      return createSuppressionSource(read, job)
    case 'broadcast_recipients':
      return createBroadcastSource(read, job)
  }
}

class ExportWriting {
  /** Milliseconds in which it waited for pieces to be stored. */
  waited = 0
  private text: string
  /** Bytes of the pieces that were stored. */
  private bytes: number
  private place: ExportProgress
  private storedAt = performance.now()

  constructor(
    { cursor, rows, bytes, progress, reportInterval = REPORT_INTERVAL }: ExportJob,
    private readonly source: ExportSource,
    private readonly store: StorePiece,
    private readonly interval = reportInterval,
  ) {
    this.place = { cursor, rows, bytes, progress }
    this.bytes = bytes
    this.text = bytes === 0 ? formatCsvLine(source.columns) : ''
  }

  /** Resolves to true after the last step. */
  async writeStep(): Promise<boolean> {
    const { rows, cursor, progress } = await this.source.readStep(this.place.cursor)
    let count = 0
    for await (const row of rows) {
      count += 1
      this.text += formatCsvLine(row)
      if (this.text.length >= PIECE_LENGTH) await this.storePiece()
    }
    const bytes = this.bytes + Buffer.byteLength(this.text)
    this.place = { cursor, progress, rows: this.place.rows + count, bytes }
    return cursor === null
  }

  /** Stores what the steps until now have made, if that is much or the last time is long ago. */
  async storeIfDue(): Promise<void> {
    const isLong = performance.now() - this.storedAt >= this.interval
    if (isLong || this.text.length >= PIECE_LENGTH / 2) await this.storePiece()
  }

  end(): EndReport {
    return { kind: 'end', ...this.takePiece(), progress: this.place }
  }

  private async storePiece(): Promise<void> {
    const begun = performance.now()
    await this.store({ kind: 'piece', ...this.takePiece(), progress: this.place })
    this.storedAt = performance.now()
    this.waited += this.storedAt - begun
  }

  private takePiece(): { readonly start: number; readonly bytes: Uint8Array<ArrayBuffer> } {
    const start = this.bytes
    const bytes = new TextEncoder().encode(this.text)
    this.text = ''
    this.bytes += bytes.length
    return { start, bytes }
  }
}
