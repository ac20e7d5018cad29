/**
 * Writes exports after their requests, one at a time.
 *
 * The owners of workspaces take turns: if another owner waits, an export is put back after some seconds and continues
 * at its next turn. An export that a turn, a stop or a crash has interrupted continues after the rows that are stored.
 * After a fault it is tried again later; after three faults of this server without progress it fails. While the database
 * takes no writes, it waits. It is also tried again later after another node has changed its file.
 *
 * The file must not take the space that mail needs: the same share of the disk stays free as for new mail.
 */
import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import { OwnerQueue } from '../../base/platform/owner-queue.js'
import type { DatabasePlace, Store } from '../../base/storage/db/database.js'
import { StorageFault, tryCommit, WriteConflict } from '../../base/storage/db/write.js'
import type { ExportFault } from '../../base/storage/tables/export-tables.js'
import { sweepPieces } from './export-chunks.js'
import { ExportFile } from './export-file.js'
import type { EndReport, PieceReport } from './export-protocol.js'
import { type ExportRef, exportById, failExport, listUnfinishedExports } from './export-records.js'
import { runExportThread } from './export-thread.js'

interface RunnerDeps extends Store {
  readonly clock: Clock
  readonly log: Pick<Log, 'error' | 'info'>
  /** The database, for the connection of the thread. */
  readonly place: DatabasePlace
  /** False if the disk is nearly full. */
  readonly hasRoom: () => boolean
  /** Returns the owner of a workspace, who takes turns. Absent if each workspace takes turns. */
  readonly ownerOf?: (workspaceId: string) => string
  readonly onEnd?: ((outcome: 'completed' | 'failed') => void) | undefined
  /** Milliseconds that an export may take while other owners wait, and milliseconds to wait after a fault. */
  readonly turn?: number
  readonly retryDelay?: number
  /** Milliseconds between two reports of the thread. */
  readonly reportInterval?: number
}

const TURN = 10_000
const RETRY_DELAY = 10_000
const MAX_FAULTS = 3
const PAGE_SIZE = 500

/** `put-back` means that the export continues at its next turn, and `later` that it does so after a pause. */
type TurnEnd = 'ended' | 'put-back' | 'later'

export class ExportRunner {
  private stopController = new AbortController()
  private isStarted = false
  private readonly waiting = new OwnerQueue<ExportRef>()
  /** The exports that are written, wait, or are tried again. */
  private readonly known = new Set<string>()
  /** The number of faults of each export that is tried again. */
  private readonly faults = new Map<string, number>()
  private readonly timers = new Set<NodeJS.Timeout>()
  private current: { readonly ref: ExportRef; readonly controller: AbortController } | null = null
  private running: Promise<void> = Promise.resolve()
  private sweeping: Promise<void> = Promise.resolve()

  constructor(private readonly deps: RunnerDeps) {}

  /** Continues the exports that were interrupted, here or on another node. It may be called again after `stop`. */
  async start(): Promise<void> {
    if (this.stopController.signal.aborted) this.stopController = new AbortController()
    this.isStarted = true
    this.refresh()
    await this.takeUp()
  }

  /** Takes up exports that another process may have begun. */
  async takeUp(): Promise<void> {
    if (!this.isStarted) return
    let page = await listUnfinishedExports(this.deps.read, { after: '', limit: PAGE_SIZE })
    while (page.length > 0) {
      for (const ref of page) this.enqueue(ref)
      page = await listUnfinishedExports(this.deps.read, { after: page.at(-1)?.id ?? '', limit: PAGE_SIZE })
    }
    this.startNext()
  }

  /** Writes an export whose record is stored, unless another node does it. */
  begin(ref: ExportRef): void {
    if (!this.isStarted) return
    this.enqueue(ref)
    this.startNext()
  }

  /** Removes the files of records that are gone. Call it when records have been removed. */
  refresh(): void {
    if (!this.isStarted) return
    const { log } = this.deps
    this.sweeping = this.sweeping
      .then(() => this.abortGone())
      .then(() => sweepPieces(this.deps, this.stopController.signal))
      .catch((err: unknown) => log.error({ err }, 'files of exports that are gone cannot be removed now'))
  }

  /** Counts the exports that are written or wait. */
  countUnderWay(): number {
    return (this.current === null ? 0 : 1) + this.timers.size + this.waiting.size
  }

  async stop(): Promise<void> {
    this.isStarted = false
    this.stopController.abort()
    this.current?.controller.abort()
    for (const timer of this.timers) clearTimeout(timer)
    this.timers.clear()
    await this.running
    await this.sweeping
    this.waiting.clear()
    this.known.clear()
  }

  /** The export that is written may be another one when the read has ended. */
  private async abortGone(): Promise<void> {
    const { current } = this
    if (current !== null && (await exportById(this.deps.read, current.ref)).length === 0) current.controller.abort()
  }

  private enqueue(ref: ExportRef): void {
    if (this.known.has(ref.id)) return
    this.known.add(ref.id)
    this.waiting.add(this.ownerOf(ref), ref)
  }

  private ownerOf({ workspaceId }: ExportRef): string {
    return this.deps.ownerOf?.(workspaceId) ?? workspaceId
  }

  private startNext(): void {
    if (this.current !== null || this.stopController.signal.aborted) return
    const ref = this.waiting.takeNext()?.item
    if (ref === undefined) return
    const controller = new AbortController()
    this.current = { ref, controller }
    this.running = this.runTurn(ref, controller.signal).then((end) => {
      this.current = null
      if (end !== 'later') this.known.delete(ref.id)
      if (end === 'put-back') this.enqueue(ref)
      else if (end === 'later') this.retryLater(ref)
      else this.faults.delete(ref.id)
      this.startNext()
    })
  }

  private retryLater(ref: ExportRef): void {
    if (this.stopController.signal.aborted) return
    const timer = setTimeout(() => {
      this.timers.delete(timer)
      this.known.delete(ref.id)
      this.begin(ref)
    }, this.deps.retryDelay ?? RETRY_DELAY)
    this.timers.add(timer)
  }

  /** Never rejects. */
  private async runTurn(ref: ExportRef, signal: AbortSignal): Promise<TurnEnd> {
    try {
      return await this.write(ref, signal)
    } catch (err) {
      const { log } = this.deps
      if (signal.aborted) return 'ended'
      if (err instanceof WriteConflict) return 'later'
      const count = (this.faults.get(ref.id) ?? 0) + (err instanceof StorageFault ? 0 : 1)
      this.faults.set(ref.id, count)
      log.error({ err, export: ref.id, workspace: ref.workspaceId }, 'an export was interrupted')
      if (count < MAX_FAULTS) return 'later'
      return this.fail(ref, 'internal').then(
        () => 'ended',
        () => 'later',
      )
    }
  }

  private async write(ref: ExportRef, signal: AbortSignal): Promise<TurnEnd> {
    const { read, place, hasRoom, reportInterval } = this.deps
    const [row] = await exportById(read, ref)
    if (row?.status !== 'processing') return 'ended'
    const file = await ExportFile.resume(this.deps, row, signal)
    const begun = performance.now()
    const onPiece = (piece: PieceReport): Promise<boolean> => this.store(ref, file, piece, begun)
    const end = await runExportThread({ ...row, database: place, reportInterval }, { onPiece, signal })
    if (signal.aborted) return 'ended'
    if (!hasRoom()) await this.fail(ref, 'disk-full')
    else if (end === null) return 'put-back'
    else await this.complete(ref, file, end)
    return 'ended'
  }

  /** Resolves to false if the turn ends here. */
  private async store(ref: ExportRef, file: ExportFile, piece: PieceReport, begun: number): Promise<boolean> {
    const { hasRoom, turn = TURN } = this.deps
    if (!hasRoom()) return false
    await file.add(piece)
    this.faults.delete(ref.id)
    return performance.now() - begun < turn || !this.waiting.hasOthersThan(this.ownerOf(ref))
  }

  private async complete(ref: ExportRef, file: ExportFile, end: EndReport): Promise<void> {
    const { rows, bytes } = end.progress
    await file.complete(end, this.deps.clock())
    this.deps.onEnd?.('completed')
    this.deps.log.info({ export: ref.id, workspace: ref.workspaceId, rows, bytes }, 'an export is completed')
  }

  private async fail(ref: ExportRef, error: ExportFault): Promise<void> {
    const { commit, clock, log } = this.deps
    await tryCommit(commit([failExport({ ...ref, error, at: clock() })]))
    this.refresh()
    this.deps.onEnd?.('failed')
    log.info({ export: ref.id, workspace: ref.workspaceId, why: error }, 'an export has failed')
  }
}
