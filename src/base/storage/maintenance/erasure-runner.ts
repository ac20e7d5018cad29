/**
 * Erases closed workspaces in the background, one after the other, in small commits.
 *
 * Work that was under way when a workspace was closed, such as a delivery or a message being received, may
 * still write rows of it. The workspace therefore stays marked, and a second pass an hour later removes
 * those rows. At the start of the only daemon nothing is under way, so one pass completes each interrupted erasure.
 */
import type { Log } from '../../platform/log.js'
import type { Database } from '../db/database.js'
import { endErasure, eraseWorkspace, listClosedWorkspaces } from './erase.js'
import { purgeLog, purgeSpool } from './purge-log.js'

const LAST_PASS_DELAY = 3_600_000
const RETRY_DELAY = 60_000

interface ErasureRunnerDeps {
  readonly database: Pick<Database, 'read' | 'commit' | 'files' | 'node'>
  readonly log: Pick<Log, 'error' | 'info'>
  /** Unsettled rows may have left the queue. */
  readonly onPassEnd: (workspaceId: string) => void
}

type Pass = 'first' | 'last'

export class ErasureRunner {
  private stopped = new AbortController()
  /** Whose erasure is under way or waits for its last pass. */
  private readonly known = new Set<string>()
  private isStarted = false
  private readonly timers = new Set<NodeJS.Timeout>()
  private running: Promise<void> = Promise.resolve()

  constructor(private readonly deps: ErasureRunnerDeps) {}

  /** Resumes what the last stop interrupted, here or on another node. It may be called again after `stop`. */
  async start(): Promise<void> {
    if (this.stopped.signal.aborted) this.stopped = new AbortController()
    this.isStarted = true
    const { read, node } = this.deps.database
    // Other nodes that live may still write rows of them.
    const pass = node.countLiving() === 1 ? 'last' : 'first'
    for (const { id } of await listClosedWorkspaces(read, {})) this.add(id, pass)
  }

  /** Call it once the closing is on disk. Another node erases the workspace if this one is not started. */
  begin(workspaceId: string): void {
    this.add(workspaceId, 'first')
  }

  /** Call it when another process may have closed a workspace. Resolves to all closed workspaces that are being erased. */
  async takeUp(): Promise<readonly string[]> {
    const closed = await listClosedWorkspaces(this.deps.database.read, {})
    for (const { id } of closed) this.add(id, 'first')
    return closed.map(({ id }) => id)
  }

  /** Resolves after the commit under way. */
  async stop(): Promise<void> {
    this.stopped.abort()
    this.isStarted = false
    for (const timer of this.timers) clearTimeout(timer)
    this.timers.clear()
    await this.running
    this.known.clear()
  }

  private add(workspaceId: string, pass: Pass): void {
    if (!this.isStarted || this.known.has(workspaceId)) return
    this.known.add(workspaceId)
    this.queuePass(workspaceId, pass)
  }

  private schedulePass(milliseconds: number, workspaceId: string, pass: Pass): void {
    if (this.stopped.signal.aborted) return
    const timer = setTimeout(() => {
      this.timers.delete(timer)
      this.queuePass(workspaceId, pass)
    }, milliseconds).unref()
    this.timers.add(timer)
  }

  private queuePass(workspaceId: string, pass: Pass): void {
    this.running = this.running.then(() => this.erase(workspaceId, pass))
  }

  private async erase(workspaceId: string, pass: Pass): Promise<void> {
    const { database, log, onPassEnd } = this.deps
    const { signal } = this.stopped
    if (signal.aborted) return
    try {
      await eraseWorkspace(database, workspaceId, signal)
      await purgeSpool(database, signal)
      await purgeLog(database, signal)
      if (pass === 'last') {
        await database.commit([endErasure({ id: workspaceId })])
        this.known.delete(workspaceId)
      } else this.schedulePass(LAST_PASS_DELAY, workspaceId, 'last')
      log.info({ workspace: workspaceId, pass }, 'a deleted workspace is erased')
    } catch (err) {
      if (signal.aborted) return
      log.error({ err, workspace: workspaceId }, 'a deleted workspace cannot be erased now')
      this.schedulePass(RETRY_DELAY, workspaceId, pass)
    }
    onPassEnd(workspaceId)
  }
}
