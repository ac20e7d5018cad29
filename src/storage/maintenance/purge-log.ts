/** Removes from the log of the database what was deleted before, as soon as no reader uses the log. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../database.js'
import { StorageFault } from '../writer/write.js'

/** A standby lets the log be restarted once a minute. */
const MAX_TRIES = 150
/** Milliseconds. */
const RETRY_PAUSE = 1_000

/** False: a reader has used the log all the time. */
export async function purgeLog(database: Pick<Database, 'purgeLog'>, signal: AbortSignal): Promise<boolean> {
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    try {
      await database.purgeLog({ goesOn: attempt > 1 })
      return true
    } catch (error) {
      if (!(error instanceof StorageFault && error.code === 'SQLITE_BUSY')) throw error
      if (attempt === MAX_TRIES) return false
    }
    await sleep(RETRY_PAUSE, undefined, { signal }).catch(() => undefined)
  }
  return true
}
