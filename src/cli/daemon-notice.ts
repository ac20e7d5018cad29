/**
 * A command that takes something away ends when the running daemon has taken note: then no key that was
 * revoked is let in, and no domain that was deleted sends.
 *
 * Each of its commits asks for the notice. It waits a bounded time, and says so where none came.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { announceChange, readAcknowledgedChange, readAnnouncedChange } from '../storage/change-acknowledgement.js'
import { isDataFolderHeld } from '../storage/data-lock.js'
import type { Database } from '../storage/database.js'
import type { Answer } from './command.js'

const MAX_WAIT = 5_000
const POLL_INTERVAL = 20

export interface NoticeWait {
  readonly database: Database
  /** The answer, with what came of the wait; at once where nothing was changed. */
  readonly afterNotice: (answer: Answer) => Promise<Answer>
}

/** `folder`: of the data. `patience`: milliseconds. */
export function withNotice(opened: Database, folder: string, patience = MAX_WAIT): NoticeWait {
  let changed = false
  const commit: Database['commit'] = async (writes) => {
    await opened.commit([...writes, announceChange()])
    changed = true
  }
  return {
    database: { ...opened, commit },
    afterNotice: async (answer) => {
      if (!changed) return answer
      switch (await waitForNotice(opened, folder, patience)) {
        case 'given':
          return answer
        case 'no daemon':
          return { ...answer, lines: [...answer.lines, 'No daemon runs here: it counts from the next start.'] }
        case 'silent':
          return { ...answer, failed: true, warnings: [...(answer.warnings ?? []), noNoticeWarning] }
      }
    },
  }
}

const noNoticeWarning = 'it is stored, but the running daemon has not taken note of it yet'

async function waitForNotice(
  { read }: Database,
  folder: string,
  patience: number,
): Promise<'given' | 'no daemon' | 'silent'> {
  // It may hold what others have asked for since: that comes after ours.
  const asked = readAnnouncedChange(read)
  for (let waited = 0; waited < patience; waited += POLL_INTERVAL) {
    if (readAcknowledgedChange(read) >= asked) return 'given'
    if (!isDataFolderHeld(folder)) return 'no daemon'
    await pause(POLL_INTERVAL)
  }
  return 'silent'
}
