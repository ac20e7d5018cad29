/**
 * Writes the CSV file of an export, on the export's thread: rows in steps, on disk every second or every 16 MB.
 *
 * Everything that a report counts as written is on disk. So an interrupted export continues there: the file is cut to
 * that length, and the rows after it are read again. If the file is shorter, the export starts over.
 *
 * The file must not take the space that mail needs: the same share of the disk stays free as for new mail.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { formatCsvLine } from '../../base/platform/csv/cells.js'
import { readDiskSpace } from '../../base/platform/disk-space.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { hasEnoughSpace } from '../../base/storage/health/disk-guard.js'
import { syncFile } from '../../base/storage/maintenance/backup.js'
import type { ExportJob, ExportProgress, ExportReport } from './export-protocol.js'
import { createEmailLogSource } from './rows/email-log-rows.js'
import { createBounceSource, createOpenSource } from './rows/event-rows.js'
import type { ExportSource } from './rows/export-source.js'
import { createSuppressionSource } from './rows/suppression-rows.js'

/** The characters that are collected for one write, and the bytes between two reports. */
const CHUNK_LENGTH = 262_144
const REPORT_BYTES = 16 * 1_048_576
/** Milliseconds between two reports. */
const REPORT_INTERVAL = 1_000
const MAX_PAUSE = 100

export type ExportOutcome = Exclude<ExportReport, { readonly kind: 'progress' }>

/** `report` resolves when the progress is stored. Rejects with the error of the disk or the database. */
export async function writeExport(
  read: Read,
  job: ExportJob,
  report: (progress: ExportProgress) => Promise<void>,
  readSpace: typeof readDiskSpace = readDiskSpace,
): Promise<ExportOutcome> {
  const source = await createSource(read, job)
  const writing = await ExportWriting.open(job)
  try {
    for (;;) {
      const begun = performance.now()
      const isLast = await writing.writeStep(source)
      if (isLast || writing.isReportDue(job.reportInterval ?? REPORT_INTERVAL)) {
        await writing.sync()
        if (!hasEnoughSpace(await readSpace(job.file))) return { kind: 'failed', fault: 'disk-full' }
        if (isLast) return writing.outcome()
        await report(writing.progress())
      }
      // The pause is as long as the step, so that mail has the processor at least half of the time.
      await sleep(Math.min(performance.now() - begun, MAX_PAUSE))
    }
  } finally {
    await writing.close()
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
  }
}

class ExportWriting {
  private text = ''
  private reportedBytes: number
  private reportedAt = performance.now()

  private constructor(
    private readonly file: FileHandle,
    private place: ExportProgress,
  ) {
    this.reportedBytes = place.bytes
  }

  static async open(job: ExportJob): Promise<ExportWriting> {
    const file = await open(job.file, 'a', 0o600)
    const { size } = await file.stat()
    const { cursor, rows, bytes, progress } = job
    const place = size < bytes ? { cursor: null, rows: 0, bytes: 0, progress: 0 } : { cursor, rows, bytes, progress }
    await file.truncate(place.bytes)
    // This syncs the name of a new file.
    if (size === 0) syncFile(dirname(job.file))
    return new ExportWriting(file, place)
  }

  /** Resolves to true after the last step. */
  async writeStep(source: ExportSource): Promise<boolean> {
    if (this.place.bytes === 0) this.text += formatCsvLine(source.columns)
    const { rows, cursor, progress } = await source.readStep(this.place.cursor)
    let count = 0
    for await (const row of rows) {
      count += 1
      this.text += formatCsvLine(row)
      if (this.text.length >= CHUNK_LENGTH) await this.flush()
    }
    this.place = { ...this.place, cursor, progress, rows: this.place.rows + count }
    // After the first step, the column names are in the file.
    if (cursor === null || this.place.bytes === 0) await this.flush()
    return cursor === null
  }

  isReportDue(interval: number): boolean {
    const isLong = performance.now() - this.reportedAt >= interval
    return isLong || this.place.bytes - this.reportedBytes >= REPORT_BYTES
  }

  /** Puts on disk what was written so far. */
  async sync(): Promise<void> {
    await this.flush()
    await this.file.datasync()
    this.reportedAt = performance.now()
    this.reportedBytes = this.place.bytes
  }

  progress(): ExportProgress {
    return this.place
  }

  outcome(): ExportOutcome {
    const { rows, bytes } = this.place
    return { kind: 'completed', rows, bytes }
  }

  close(): Promise<void> {
    return this.file.close()
  }

  private async flush(): Promise<void> {
    const bytes = Buffer.from(this.text)
    this.text = ''
    await this.file.appendFile(bytes)
    this.place = { ...this.place, bytes: this.place.bytes + bytes.length }
  }
}
