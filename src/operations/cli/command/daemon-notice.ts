/**
 * A command that revokes or deletes something ends when its change is in effect in the running daemon: from then on
 * a revoked key is refused, and a deleted domain cannot send.
 *
 * Each of its commits announces a change. The command waits up to 5 s for the acknowledgement, and warns if none
 * comes.
 */
import { setTimeout as pause } from 'node:timers/promises'
import {
  announceChange,
  readAcknowledgedChange,
  readAnnouncedChange,
} from '../../../base/storage/db/change-acknowledgement.js'
import { isDataFolderHeld } from '../../../base/storage/db/data-lock.js'
import type { Store } from '../../../base/storage/db/database.js'
import { LONE_SLOT } from '../../../base/storage/db/node-state.js'
import { isLiving, readNodes } from '../../../base/storage/postgres/node-rows.js'
import type { Answer } from './command.js'

const MAX_WAIT = 5_000
const POLL_INTERVAL = 20

export interface NoticeWait {
  readonly database: Store
  /** The answer with the result of the wait; at once if nothing was changed. */
  readonly afterNotice: (answer: Answer) => Promise<Answer>
}

/** Finds the daemons that run, by the slots in which they write. */
export type FindDaemons = () => Promise<readonly number[]>

/** It finds the one daemon of SQLite, which holds the data folder. */
export function findDaemonOf(folder: string): FindDaemons {
  return async () => (isDataFolderHeld(folder) ? [LONE_SLOT] : [])
}

/** It finds all nodes of PostgreSQL that live. */
export function findNodes({ read }: Pick<Store, 'read'>): FindDaemons {
  return async () => (await readNodes(read)).filter(isLiving).map(({ slot }) => slot)
}

/** `maxWait` is in milliseconds. */
export function withNotice(opened: Store, findDaemons: FindDaemons, maxWait = MAX_WAIT): NoticeWait {
  let changed = false
  const commit: Store['commit'] = async (writes) => {
    await opened.commit([...writes, announceChange()])
    changed = true
  }
  return {
    database: { ...opened, commit },
    afterNotice: async (answer) => {
      if (!changed) return answer
      switch (await waitForNotice(opened, findDaemons, maxWait)) {
        case 'given':
          return answer
        case 'no daemon':
          return answer.isDocument === true ? answer : { ...answer, lines: [...answer.lines, noDaemonLine] }
        case 'silent':
          return { ...answer, failed: true, warnings: [...(answer.warnings ?? []), noNoticeWarning] }
      }
    },
  }
}

const noDaemonLine = 'No daemon runs here: it counts from the next start.'
const noNoticeWarning = 'it is stored, but the running daemon has not taken note of it yet'

async function waitForNotice(
  { read }: Store,
  findDaemons: FindDaemons,
  maxWait: number,
): Promise<'given' | 'no daemon' | 'silent'> {
  // Other commands may have announced changes since. Those come after ours.
  const announced = await readAnnouncedChange(read)
  for (let waited = 0; waited < maxWait; waited += POLL_INTERVAL) {
    const slots = await findDaemons()
    if (slots.length === 0) return 'no daemon'
    if ((await readAcknowledgedChange(read, slots)) >= announced) return 'given'
    await pause(POLL_INTERVAL)
  }
  return 'silent'
}
