/**
 * Follows a standby folder, pass by pass, until a takeover: a restore has made the copy the database, or a daemon has
 * started here.
 *
 * A copy that is missing is no takeover, because a copy that failed is missing too. A restore therefore leaves a mark
 * when it has succeeded. A mark that is there when the following begins is of an earlier takeover, so nothing has to
 * remove it. A folder that an earlier version restored has no mark; there the daemon's start ends the following.
 */
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatTimestamp } from '../../platform/clock.js'
import { errorMessageOf } from '../../platform/errors.js'
import { isDataFolderHeld } from '../db/data-lock.js'
import { type Rebuilt, rebuild, withCopy } from './rebuild.js'
import { writeDurably } from './standby-folder.js'

const markFile = (work: string): string => join(work, 'taken-over')

const readMark = (work: string): string | null =>
  existsSync(markFile(work)) ? readFileSync(markFile(work), 'utf8') : null

/** Tells those who follow with the copy in `work` that it has become the database. Call it within `withCopy`. */
export function markTakeover(work: string, now: number): void {
  writeDurably(markFile(work), Buffer.from(`${formatTimestamp(now)} ${randomUUID()}\n`))
}

interface Places {
  readonly folder: string
  /** The folder of the copy. */
  readonly work: string
  readonly dataDir: string
}

/** `found` says what is wrong. */
interface Pass {
  readonly rebuilt: Rebuilt | null
  readonly found: string | null
}

/**
 * Begins to follow. Each call of the result brings the copy up to date, or resolves to 'over' after a takeover. A folder
 * that is away for a while, or that its carrier is still filling, does not end the following.
 */
export function beginFollowing({ folder, work, dataDir }: Places): () => Promise<Pass | 'over'> {
  const before = readMark(work)
  const isOver = (): boolean => readMark(work) !== before || isDataFolderHeld(dataDir)
  return async () => {
    try {
      const rebuilt = await withCopy(work, () => (isOver() ? 'over' : rebuild(folder, work)))
      if (rebuilt === 'over') return rebuilt
      const { number, gap } = rebuilt
      return { rebuilt, found: gap === null ? null : `the copy ends at segment ${number}: ${gap}` }
    } catch (error) {
      return { rebuilt: null, found: errorMessageOf(error) }
    }
  }
}
