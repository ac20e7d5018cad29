/** Removes what was deleted before from the disk: from the log of the database, and from spool files. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database, DatabaseFiles } from '../db/database.js'
import type { SpoolPlace } from '../db/spool-files.js'
import { StorageFault } from '../db/write.js'
import { foldFile } from '../spool/fold.js'
import { findSparseFiles } from '../spool/spool-use.js'

/** A standby lets the log be restarted once a minute. */
const MAX_TRIES = 150
/** Milliseconds. */
const RETRY_PAUSE = 1_000
/** Milliseconds between two steps of the sweep, which commits wait for. */
const SWEEP_PAUSE = 20
/** Holes of one step. */
const STEP_HOLES = 500

/** Purges the log as soon as no reader uses it. False if a reader has used it all the time. */
export async function purgeLog({ files }: Pick<Database, 'files'>, signal: AbortSignal): Promise<boolean> {
  return files === null || retryWhileBusy((isRetry) => files.purgeLog({ goesOn: isRetry }), signal)
}

/**
 * Overwrites deleted bytes, and puts what is left of files that are mostly empty into the database, so that these go
 * too. False if another process has held the files all the time.
 */
export async function purgeSpool(
  { files, ...database }: Pick<Database, 'read' | 'commit' | 'files'>,
  signal: AbortSignal,
): Promise<boolean> {
  if (files === null) return true
  const sweep = (): Promise<boolean> => sweepHoles({ ...database, sweepSpool: files.sweepSpool }, signal)
  if (!(await sweep())) return false
  return !(await foldRests(database, signal)) || sweep()
}

/**
 * Overwrites what was deleted before, as soon as no other process holds the files. It goes from file to file up to the
 * newest one at its start, so it ends however much is deleted while it runs.
 */
async function sweepHoles(
  database: Pick<Database, 'read'> & Pick<DatabaseFiles, 'sweepSpool'>,
  signal: AbortSignal,
): Promise<boolean> {
  const [newest] = await database.read<{ file: number | null }>('select max(file) as file from spool_holes', [])
  let from = 0
  while (!signal.aborted) {
    const holes = await nextHoles(database.read, from, newest?.file ?? 0)
    if (!(await retryWhileBusy(() => database.sweepSpool(holes), signal))) return false
    if (holes.length === 0) return true
    from = holes[0]?.file ?? from
    await pause(SWEEP_PAUSE, signal)
  }
  return true
}

/** Resolves to whether there were any. */
async function foldRests(database: Pick<Database, 'read' | 'commit'>, signal: AbortSignal): Promise<boolean> {
  let folded = false
  for await (const file of findSparseFiles(database.read)) {
    for await (const _ of foldFile(database, file)) {
      folded = true
      await pause(SWEEP_PAUSE, signal)
      if (signal.aborted) return folded
    }
  }
  return folded
}

/** The next ones of one file. */
async function nextHoles(read: Database['read'], from: number, to: number): Promise<readonly SpoolPlace[]> {
  const sql = `select file, at, bytes from spool_holes
    where file = (select min(file) from spool_holes where file between ? and ?) order by at limit ${STEP_HOLES}`
  return read<SpoolPlace>(sql, [from, to])
}

async function retryWhileBusy(act: (isRetry: boolean) => Promise<void>, signal: AbortSignal): Promise<boolean> {
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    try {
      await act(attempt > 1)
      return true
    } catch (error) {
      if (!(error instanceof StorageFault && error.code === 'SQLITE_BUSY')) throw error
      if (attempt === MAX_TRIES) return false
    }
    await pause(RETRY_PAUSE, signal)
  }
  return true
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined)
}
