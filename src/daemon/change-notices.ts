/** Tells commands that work beside the daemon that what they changed counts here (`storage/change-acknowledgement.ts`). */
import type { Log } from '../platform/log.js'
import { acknowledgeChange, readAcknowledgedChange, readAnnouncedChange } from '../storage/change-acknowledgement.js'
import type { Database } from '../storage/database.js'

export interface ChangeNoticeDeps {
  readonly database: Pick<Database, 'read' | 'commit'>
  readonly log: Pick<Log, 'error'>
  /** What is remembered does not count any more. */
  readonly forget: () => void
}

/** To be called after each commit of others, and once when the daemon is up. */
export function changeNotifier({ database: { read, commit }, log, forget }: ChangeNoticeDeps): () => void {
  let lastNotice = readAcknowledgedChange(read)
  const acknowledge = async (asked: number): Promise<void> => {
    if (asked === lastNotice) return
    await commit([acknowledgeChange(asked)])
    lastNotice = asked
  }
  return () => {
    try {
      const asked = readAnnouncedChange(read)
      forget()
      acknowledge(asked).catch((err: unknown) => log.error({ err }, 'a command cannot be told that its change counts'))
    } catch (err) {
      forget()
      log.error({ err }, 'changes of others cannot be read')
    }
  }
}
