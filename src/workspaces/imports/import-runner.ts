/**
 * Runs imports after their requests: a few at once, one of each owner of workspaces. Owners take turns, and the imports
 * of one run in the order of the requests.
 *
 * If a stop or a crash cuts off an import, it resumes at the next start after the last batch on disk. While the
 * database takes no writes, the runner tries the import again. After any other fault of ours it tries the import
 * twice more, then the import fails.
 *
 * An import that changes nodes may run on both for a moment. The run that misses leaves the import to the other one,
 * waits, and resumes after the last batch on disk if the import has not ended until then.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Refusal } from '../../base/mail/refusal.js'
import { timeOfUuid } from '../../base/platform/ids.js'
import type { Log } from '../../base/platform/log.js'
import { OwnerQueue } from '../../base/platform/owner-queue.js'
import { HOUR } from '../../base/platform/time-units.js'
import type { NodeState } from '../../base/storage/db/node-state.js'
import { StorageFault, tryCommit } from '../../base/storage/db/write.js'
import { toJson } from '../../base/storage/tables/columns.js'
import type { ImportError } from '../../base/storage/tables/content-tables.js'
import { type ImportRef, removeImportFile, removeOrphanImports } from './import-file.js'
import { failImport, importById, listPendingImports } from './import-records.js'
import { type ImportDeps, ImportElsewhere, ImportEnded, runImport } from './run-import.js'

interface RunnerDeps extends ImportDeps {
  readonly node: Pick<NodeState, 'name'>
  readonly log: Pick<Log, 'error' | 'info'>
  /** Names who takes turns: the owner of a workspace. Without it, each workspace takes turns. */
  readonly ownerOf?: (workspaceId: string) => string
  /** Milliseconds to wait after a fault. */
  readonly retryDelay?: number
}

const MAX_RUNNING = 3
/** Milliseconds in which a request has surely stored its file. */
const STORING_TIME = HOUR
const RETRY_DELAY = 10_000
const MAX_FAULTS = 3
const PAGE_SIZE = 500

export class ImportRunner {
  private stopController = new AbortController()
  private isStarted = false
  /** The imports that run or wait. */
  private readonly known = new Set<string>()
  private readonly waiting = new OwnerQueue<ImportRef>()
  private readonly running = new Map<string, Promise<void>>()

  constructor(private readonly deps: RunnerDeps) {}

  /**
   * Resumes imports that were cut off, here or on another node. Unless other nodes take requests too, no request may store
   * a file before it resolves. It may be called again after `stop`.
   */
  async start(): Promise<void> {
    if (this.stopController.signal.aborted) this.stopController = new AbortController()
    this.isStarted = true
    const { read, log } = this.deps
    await this.listPending()
    const isUnderWay = async (importRef: ImportRef): Promise<boolean> =>
      this.mayBeStored(importRef) || (await importById(read, importRef))[0]?.status === 'processing'
    await removeOrphanImports(this.deps, isUnderWay, this.stopController.signal).catch((err: unknown) =>
      log.error({ err }, 'files of finished imports cannot be removed now'),
    )
    this.startNext()
  }

  /** Takes up imports whose requests another process may have taken. */
  async takeUp(): Promise<void> {
    if (!this.isStarted) return
    await this.listPending()
    this.startNext()
  }

  /** Runs an import whose file is on disk, unless another node does it. */
  begin(importRef: ImportRef): void {
    if (!this.isStarted) return
    this.enqueue(importRef)
    this.startNext()
  }

  /** Stops each import after its present commit. */
  async stop(): Promise<void> {
    this.isStarted = false
    this.stopController.abort()
    await Promise.all(this.running.values())
    this.waiting.clear()
    this.known.clear()
  }

  /** Another node may be storing the file at this moment. */
  private mayBeStored({ id }: ImportRef): boolean {
    const { node, clock } = this.deps
    return node.name !== '' && (timeOfUuid(id) ?? 0) > clock() - STORING_TIME
  }

  private async listPending(): Promise<void> {
    const { read } = this.deps
    let page = await listPendingImports(read, { after: '', limit: PAGE_SIZE })
    while (page.length > 0) {
      for (const importRef of page) this.enqueue(importRef)
      page = await listPendingImports(read, { after: page.at(-1)?.id ?? '', limit: PAGE_SIZE })
    }
  }

  private enqueue(importRef: ImportRef): void {
    if (this.known.has(importRef.id)) return
    this.known.add(importRef.id)
    const owner = this.deps.ownerOf?.(importRef.workspaceId) ?? importRef.workspaceId
    this.waiting.add(owner, importRef)
  }

  private startNext(): void {
    while (this.running.size < MAX_RUNNING && !this.stopController.signal.aborted) {
      const next = this.waiting.takeNext((owner) => !this.running.has(owner))
      if (next === undefined) return
      const { owner, item: importRef } = next
      const run = runToEnd(this.deps, importRef, this.stopController.signal).finally(() => {
        this.running.delete(owner)
        this.known.delete(importRef.id)
        this.startNext()
      })
      this.running.set(owner, run)
    }
  }
}

/** Never rejects. */
async function runToEnd(deps: RunnerDeps, importRef: ImportRef, signal: AbortSignal): Promise<void> {
  const { read, log, retryDelay = RETRY_DELAY } = deps
  const about = { import: importRef.id, workspace: importRef.workspaceId }
  const pause = (): Promise<unknown> => sleep(retryDelay, undefined, { signal }).catch(() => undefined)
  for (let faults = 0; !signal.aborted; ) {
    try {
      const [row] = await importById(read, importRef)
      if (row?.status === 'processing') await runImport(deps, row, signal)
      return await removeImportFile(deps, importRef)
    } catch (err) {
      if (signal.aborted) return
      if (err instanceof ImportEnded) continue
      if (err instanceof ImportElsewhere) {
        await pause()
        continue
      }
      if (!(err instanceof StorageFault)) faults += 1
      const why = err instanceof Refusal || faults >= MAX_FAULTS ? toImportError(err) : null
      if (!(err instanceof Refusal)) log.error({ err, ...about }, 'an import was interrupted')
      if (why !== null && (await markFailed(deps, importRef, why))) continue
      await pause()
    }
  }
}

function toImportError(err: unknown): ImportError {
  if (err instanceof Refusal) return { kind: err.kind, message: err.message }
  return { kind: 'internal', message: 'internal error' }
}

/** Resolves to whether the state is on disk. */
async function markFailed(
  { commit, clock, log }: RunnerDeps,
  importRef: ImportRef,
  why: ImportError,
): Promise<boolean> {
  try {
    await tryCommit(commit([failImport({ ...importRef, at: clock(), error: toJson(why) })]))
    log.info({ import: importRef.id, workspace: importRef.workspaceId, why: why.message }, 'an import has failed')
    return true
  } catch (err) {
    log.error({ err, import: importRef.id }, 'an import cannot be marked as failed now')
    return false
  }
}
