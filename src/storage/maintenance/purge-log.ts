/** Removes what was deleted before from the disk: from the log of the database, and from spool files. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../database.js'
import { StorageFault } from '../writer/write.js'

/** A standby lets the log be restarted once a minute. */
const MAX_TRIES = 150
/** Milliseconds. */
const RETRY_PAUSE = 1_000
/** Milliseconds between two steps of the sweep, which commits wait for. */
const SWEEP_PAUSE = 20

/** As soon as no reader uses the log. False: a reader has used it all the time. */
export function purgeLog(database: Pick<Database, 'purgeLog'>, signal: AbortSignal): Promise<boolean> {
  return retryWhileBusy((isRetry) => database.purgeLog({ goesOn: isRetry }), signal)
}

/** Overwrites deleted bytes as soon as no other process holds them. False: one has held them all the time. */
export async function purgeSpool(
  database: Pick<Database, 'read' | 'sweepSpool'>,
  signal: AbortSignal,
): Promise<boolean> {
  while (!signal.aborted) {
    const isLast = !hasHoles(database.read)
    if (!(await retryWhileBusy(() => database.sweepSpool(), signal))) return false
    if (isLast) return true
    await pause(SWEEP_PAUSE, signal)
  }
  return true
}

function hasHoles(read: Database['read']): boolean {
  return read('select 1 from spool_holes limit 1', []).length > 0
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
