/**
 * Copies the log to the standby folder, in a process that runs next to the daemon.
 *
 * It is a process and not a thread: it reads the database file without SQLite (`storage/wal/source-file.ts`) and waits
 * for slow disks. It keeps the daemon's priority, because it holds the write lock now and then, for which the daemon
 * waits. It ends on the message `stop`, or after a last copy when the daemon is gone.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../platform/clock.js'
import { errorMessageOf } from '../../platform/errors.js'
import { systemRandom } from '../../platform/random.js'
import { takeLock } from '../db/data-lock.js'
import { LostLog } from '../wal/wal-follower.js'
import type { StandbyOptions } from './standby-runner.js'
import { type StandbyStatus, writeStandbyStatus } from './standby-status.js'
import { StandbyStream } from './standby-stream.js'

/** While the folder takes nothing, the log of the database is kept up to this size. Then the stream starts again. */
const MAX_WAITING_LOG = 256 << 20
/** Milliseconds in which an earlier process of this kind ends. */
const MAX_LOCK_WAIT = 15_000
/** Milliseconds between two megabytes of a snapshot. */
const SNAPSHOT_PAUSE = 40
/** Milliseconds without commits after which the log is copied back. */
const SETTLE_TIME = 2_000
const RETRY_DELAY = 2_000

class StandbyProcess {
  private readonly options: StandbyOptions
  private readonly stopController = new AbortController()
  private stream: StandbyStream | null = null
  private copiedAt: number | null = null
  /** These three are times of the monotonic clock. */
  private polledAt = Number.NEGATIVE_INFINITY
  private error: string | null = null
  private writtenAt = Number.NEGATIVE_INFINITY
  private lastCommitAt = 0
  private hasSettled = true
  private hasBegun = false

  constructor(options: StandbyOptions) {
    this.options = options
    process.on('message', () => this.stopController.abort())
    process.on('disconnect', () => this.stopController.abort())
    // systemd sends them to all processes of the unit; the daemon says when it has stored the last message.
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => undefined)
  }

  async run(): Promise<void> {
    const lockFile = join(this.options.dataDir, 'standby.lock')
    takeLock(lockFile, { timeout: MAX_LOCK_WAIT, held: 'another process copies to the standby folder' })
    const { signal } = this.stopController
    while (!signal.aborted) {
      const pause = this.copyOnce()
      // The daemon waits for this before it writes, so that the log of its last run is not restarted.
      if (!this.hasBegun && process.connected) process.send?.('begun')
      this.hasBegun = true
      this.writeStatus()
      await sleep(pause, undefined, { signal }).catch(() => undefined)
    }
    this.copyLast()
    // The status says what the stream has in the folder, because it is read after the machine's daemon is gone too.
    this.writeStatus(true)
    this.closeStream()
  }

  /** Returns the milliseconds until the next step. */
  private copyOnce(): number {
    const { interval } = this.options
    try {
      this.stream ??= this.openStream()
      if (performance.now() - this.polledAt >= interval - 1) this.poll(this.stream)
      this.error = null
      return this.stepSnapshot(this.stream) ? SNAPSHOT_PAUSE : interval
    } catch (error) {
      this.handleFailure(error)
      return RETRY_DELAY
    }
  }

  private poll(stream: StandbyStream): void {
    const begun = systemClock()
    const at = performance.now()
    if (stream.poll() > 0) {
      this.lastCommitAt = at
      this.hasSettled = false
    } else if (!this.hasSettled && at - this.lastCommitAt > SETTLE_TIME) {
      stream.settle()
      this.hasSettled = true
    }
    this.copiedAt = begun
    this.polledAt = at
  }

  /** A snapshot under way goes on; one that is due begins. */
  private stepSnapshot(stream: StandbyStream): boolean {
    const { snapshotAt } = stream
    const isDue = snapshotAt === null || systemClock() - snapshotAt > this.options.snapshotEvery
    return (stream.isSnapshotUnderWay() || isDue) && stream.stepSnapshot()
  }

  private openStream(): StandbyStream {
    const { file, folder, keep } = this.options
    const randomName = (): string =>
      Math.floor(systemRandom() * 36 ** 4)
        .toString(36)
        .padStart(4, '0')
    return new StandbyStream({ file, folder, keep, now: systemClock, randomName })
  }

  private handleFailure(error: unknown): void {
    if (this.error === null) this.report('the standby folder takes nothing', error)
    this.error = errorMessageOf(error)
    const size = statSync(`${this.options.file}-wal`, { throwIfNoEntry: false })?.size ?? 0
    if (error instanceof LostLog || size > MAX_WAITING_LOG || this.stream?.isSnapshotUnderWay() === true) {
      this.closeStream()
    }
  }

  private closeStream(): void {
    try {
      this.stream?.close()
    } catch (error) {
      this.report('the standby cannot close its files', error)
    }
    this.stream = null
  }

  /** The daemon has stored its last message, so all of it is copied. */
  private copyLast(): void {
    try {
      if (this.stream !== null) this.poll(this.stream)
    } catch (error) {
      this.handleFailure(error)
    }
  }

  private report(message: string, error: unknown): void {
    if (process.connected) process.send?.({ message, reason: errorMessageOf(error) })
  }

  private writeStatus(always = false): void {
    const now = systemClock()
    if (!always && performance.now() - this.writtenAt < 1000) return
    this.writtenAt = performance.now()
    if (process.connected) process.send?.('alive')
    const status: StandbyStatus = {
      pid: process.pid,
      folder: this.options.folder,
      updated_at: now,
      generation: this.stream?.generationName ?? null,
      segments: this.stream?.segments ?? 0,
      copied_at: this.copiedAt,
      snapshot_at: this.stream?.snapshotAt ?? null,
      error: this.error,
    }
    try {
      writeStandbyStatus(this.options.dataDir, status)
    } catch (error) {
      this.report('the state of the standby cannot be stored', error)
    }
  }
}

await new StandbyProcess(JSON.parse(process.argv[2] ?? '')).run()
if (process.connected) process.disconnect?.()
