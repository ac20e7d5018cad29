/** Gives pages of the database file that deletions left empty back to the file system. */
import { setTimeout as sleep } from 'node:timers/promises'
import { countFreePages, type Database } from '../db/database.js'

const PAGES_PER_STEP = 2_000
/** The number of empty pages that stay for what is stored next. */
const MAX_FREE_PAGES = 5_000
/** Milliseconds. */
const STEP_PAUSE = 50

/** Works in steps with pauses between them, and ends when a step frees nothing. */
export async function reclaimFreePages(
  { read, files }: Pick<Database, 'read' | 'files'>,
  signal: AbortSignal,
): Promise<void> {
  if (files === null) return
  for (let free = await countFreePages(read); free > MAX_FREE_PAGES && !signal.aborted; ) {
    await files.reclaimPages(PAGES_PER_STEP)
    await sleep(STEP_PAUSE)
    const left = await countFreePages(read)
    if (left >= free) return
    free = left
  }
}
