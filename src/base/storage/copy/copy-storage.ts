/**
 * Copies an SQLite database to PostgreSQL, and reads the copy back to compare it.
 *
 * The caller holds the data folder, so that no daemon runs.
 */
import { hostname } from 'node:os'
import type { ConnectionSettings } from '../postgres/connection-settings.js'
import { type CopiedValue, digestRow, RowSum, sizeOf } from './copied-values.js'
import { type CopiedTable, CopySource } from './copy-source.js'
import { CopyTarget } from './copy-target.js'

/** Rows and bytes of one transaction. A single row may have more bytes. */
const BATCH_ROWS = 512
const BATCH_BYTES = 4_194_304

interface CopyOptions {
  /** The file of the SQLite database. */
  readonly file: string
  readonly settings: ConnectionSettings
  /** Called often, with what is being done. */
  readonly onProgress?: (text: string) => void
}

export interface TableReport {
  readonly table: string
  /** Rows in SQLite, and in PostgreSQL. */
  readonly rows: number
  readonly stored: number
  /** Sums over the contents of all rows. */
  readonly sum: string
  readonly storedSum: string
  readonly isSame: boolean
}

/** The copy is finished if all tables are the same. */
export async function copyStorage({ file, settings, onProgress }: CopyOptions): Promise<readonly TableReport[]> {
  const source = CopySource.open(file)
  try {
    const target = await CopyTarget.open(settings, source.tables, `${hostname()}:${file}`)
    try {
      return await copyTables(source, target, onProgress ?? (() => undefined))
    } finally {
      await target.close()
    }
  } finally {
    source.close()
  }
}

async function copyTables(
  source: CopySource,
  target: CopyTarget,
  onProgress: (text: string) => void,
): Promise<readonly TableReport[]> {
  const sums = new Map<CopiedTable, RowSum>()
  for (const table of source.tables) sums.set(table, await copyRows(source, target, table, onProgress))
  const reports: TableReport[] = []
  for (const [table, sum] of sums) {
    const stored = await target.readSum(table, (rows) => onProgress(`comparing ${describe(table, rows)}`))
    reports.push(toReport(table, sum, stored))
  }
  const lastNumbers = new Map(source.tables.map(({ name }) => [name, source.lastNumber(name)]))
  if (reports.every(({ isSame }) => isSame)) await target.finish(lastNumbers)
  return reports
}

/** While one batch is under way, the next one is read. */
async function copyRows(
  source: CopySource,
  target: CopyTarget,
  table: CopiedTable,
  onProgress: (text: string) => void,
): Promise<RowSum> {
  const sum = new RowSum()
  let underWay = Promise.resolve()
  for (const batch of toBatches(source.readRows(table))) {
    for (const row of batch) sum.add(digestRow(row))
    await underWay
    onProgress(`copying ${describe(table, sum.count)}`)
    underWay = target.write(table, batch)
    // Its rejection is seen where it is awaited.
    underWay.catch(() => undefined)
  }
  await underWay
  return sum
}

type Rows = readonly (readonly CopiedValue[])[]

function* toBatches(rows: Iterable<readonly CopiedValue[]>): Generator<Rows> {
  let batch: (readonly CopiedValue[])[] = []
  let bytes = 0
  for (const row of rows) {
    batch.push(row)
    bytes += row.reduce<number>((sum, value) => sum + sizeOf(value), 0)
    if (batch.length < BATCH_ROWS && bytes < BATCH_BYTES) continue
    yield batch
    batch = []
    bytes = 0
  }
  if (batch.length > 0) yield batch
}

function describe({ name, rows }: CopiedTable, done: number): string {
  return `${name}: ${done} of ${rows} rows`
}

function toReport({ name }: CopiedTable, sum: RowSum, stored: RowSum): TableReport {
  return {
    ...{ table: name, rows: sum.count, stored: stored.count },
    ...{ sum: sum.toText(), storedSum: stored.toText(), isSame: sum.isSame(stored) },
  }
}
