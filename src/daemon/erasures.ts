/**
 * Erases workspaces that were closed (`storage/maintenance/erase.ts`): in the background, one after the
 * other, in small commits.
 *
 * What is under way when a workspace is closed may still write a row of it: a delivery that
 * ends, a message that is being taken in. So its mark stays, and an hour later, when nothing
 * of then is under way any more, it is looked through once more. At a start nothing is under
 * way: what was cut off is done to its end at once.
 */
import type { Log } from '../platform/log.js'
import type { Database } from '../storage/database.js'
import { endErasure, eraseWorkspace, listClosedWorkspaces } from '../storage/maintenance/erase.js'

const LAST_PASS_DELAY = 3_600_000
const RETRY_DELAY = 60_000

export interface ErasureDeps {
  readonly database: Pick<Database, 'read' | 'commit'>
  readonly log: Pick<Log, 'error' | 'info'>
  /** Rows of the queue are gone that nobody has settled. */
  readonly onPassEnd: (workspaceId: string) => void
}

export interface Erasures {
  /** Takes up what was cut off. */
  readonly start: () => void
  /** It is closed, on disk. */
  readonly begin: (workspaceId: string) => void
  /** Each ends after its commit. */
  readonly stop: () => Promise<void>
}

type Pass = 'first' | 'last'

export function erasures({ database, log, onPassEnd }: ErasureDeps): Erasures {
  const abortController = new AbortController()
  const timers = new Set<NodeJS.Timeout>()
  let running: Promise<void> = Promise.resolve()

  function schedulePass(milliseconds: number, workspaceId: string, pass: Pass): void {
    if (abortController.signal.aborted) return
    const timer = setTimeout(() => {
      timers.delete(timer)
      queuePass(workspaceId, pass)
    }, milliseconds).unref()
    timers.add(timer)
  }

  function queuePass(workspaceId: string, pass: Pass): void {
    running = running.then(() => erase(workspaceId, pass))
  }

  async function erase(workspaceId: string, pass: Pass): Promise<void> {
    if (abortController.signal.aborted) return
    try {
      await eraseWorkspace(database, workspaceId, abortController.signal)
      if (pass === 'last') await database.commit([endErasure({ id: workspaceId })])
      else schedulePass(LAST_PASS_DELAY, workspaceId, 'last')
      log.info({ workspace: workspaceId, pass }, 'a deleted workspace is erased')
    } catch (err) {
      if (abortController.signal.aborted) return
      log.error({ err, workspace: workspaceId }, 'a deleted workspace cannot be erased now')
      schedulePass(RETRY_DELAY, workspaceId, pass)
    }
    onPassEnd(workspaceId)
  }

  return {
    start: () => {
      for (const { id } of listClosedWorkspaces(database.read, {})) queuePass(id, 'last')
    },
    begin: (workspaceId) => queuePass(workspaceId, 'first'),
    stop: async () => {
      abortController.abort()
      for (const timer of timers) clearTimeout(timer)
      await running
    },
  }
}
