/**
 * A command that takes something away ends when the running daemon has taken note: then no key that was
 * revoked is let in, and no domain that was deleted sends.
 *
 * Each of its commits asks for the notice. It waits a bounded time, and says so where none came.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { askForNotice, noticeAsked, noticeGiven } from '../storage/change-notice.js'
import { isDataFolderHeld } from '../storage/data-lock.js'
import type { Database } from '../storage/database.js'
import type { Answer } from './command.js'

const PATIENCE = 5_000
const POLL = 20

export interface Asking {
  readonly database: Database
  /** The answer, with what came of the wait; at once where nothing was changed. */
  readonly afterNotice: (answer: Answer) => Promise<Answer>
}

/** `folder`: of the data. `patience`: milliseconds. */
export function asking(opened: Database, folder: string, patience = PATIENCE): Asking {
  let changed = false
  const commit: Database['commit'] = async (writes) => {
    await opened.commit([...writes, askForNotice()])
    changed = true
  }
  return {
    database: { ...opened, commit },
    afterNotice: async (answer) => {
      if (!changed) return answer
      switch (await noticeOf(opened, folder, patience)) {
        case 'given':
          return answer
        case 'no daemon':
          return { ...answer, lines: [...answer.lines, 'No daemon runs here: it counts from the next start.'] }
        case 'silent':
          return { ...answer, failed: true, warnings: [...(answer.warnings ?? []), silence] }
      }
    },
  }
}

const silence = 'it is stored, but the running daemon has not taken note of it yet'

async function noticeOf(
  { read }: Database,
  folder: string,
  patience: number,
): Promise<'given' | 'no daemon' | 'silent'> {
  // It may hold what others have asked for since: that comes after ours.
  const asked = noticeAsked(read)
  for (let waited = 0; waited < patience; waited += POLL) {
    if (noticeGiven(read) >= asked) return 'given'
    if (!isDataFolderHeld(folder)) return 'no daemon'
    await pause(POLL)
  }
  return 'silent'
}
