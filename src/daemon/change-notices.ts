/** Tells commands that work beside the daemon that what they changed counts here (`storage/change-notice.ts`). */
import type { Log } from '../platform/log.js'
import { giveNotice, noticeAsked, noticeGiven } from '../storage/change-notice.js'
import type { Database } from '../storage/database.js'

export interface ChangeNoticeDeps {
  readonly database: Pick<Database, 'read' | 'commit'>
  readonly log: Pick<Log, 'error'>
  /** What is remembered does not count any more. */
  readonly forget: () => void
}

/** To be called after each commit of others, and once when the daemon is up. */
export function changeNotices({ database: { read, commit }, log, forget }: ChangeNoticeDeps): () => void {
  let given = noticeGiven(read)
  const tell = async (asked: number): Promise<void> => {
    if (asked === given) return
    await commit([giveNotice(asked)])
    given = asked
  }
  return () => {
    try {
      const asked = noticeAsked(read)
      forget()
      tell(asked).catch((err: unknown) => log.error({ err }, 'a command cannot be told that its change counts'))
    } catch (err) {
      forget()
      log.error({ err }, 'changes of others cannot be read')
    }
  }
}
