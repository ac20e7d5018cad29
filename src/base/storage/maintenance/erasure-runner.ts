/**
 * Erases closed workspaces in the background, one after the other, in small commits.
 *
 * Work that was under way when a workspace was closed, such as a delivery or a message being received, may
 * still write rows of it. The workspace therefore stays marked, and a second pass an hour later removes
 * those rows. At a start nothing is under way, so one pass completes each interrupted erasure.
 */
import type { Log } from '../../platform/log.js'
import type { Database } from '../db/database.js'
import { endErasure, eraseWorkspace, listClosedWorkspaces } from './erase.js'
import { purgeLog, purgeSpool } from './purge-log.js'

const LAST_PASS_DELAY = 3_600_000
const RETRY_DELAY = 60_000

interface ErasureRunnerDeps {
  readonly database: Pick<Database, 'read' | 'commit' | 'purgeLog' | 'sweepSpool'>
  readonly log: Pick<Log, 'error' | 'info'>
  /** Unsettled rows may have left the queue. */
  readonly onPassEnd: (workspaceId: string) => void
}

export interface ErasureRunner {
  /** Resumes what the last stop interrupted. */
  readonly start: () => void
  /** Call it once the closing is on disk. */
  readonly begin: (workspaceId: string) => void
  /** Resolves after the commit under way. */
  readonly stop: () => Promise<void>
}

type Pass = 'first' | 'last'

export function createErasureRunner({ database, log, onPassEnd }: ErasureRunnerDeps): ErasureRunner {
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
      await purgeSpool(database, abortController.signal)
      await purgeLog(database, abortController.signal)
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
