/**
 * Starts the process that copies to the standby folder, and starts it again when it has ended.
 *
 * One that hangs, as on a network file system that does not answer, is ended: while it reads the log of the database, that
 * grows without end.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Log } from '../../platform/log.js'

export interface StandbyOptions {
  /** The database. */
  readonly file: string
  readonly dataDir: string
  readonly folder: string
  /** Milliseconds between two copies. */
  readonly interval: number
  /** Milliseconds between two snapshots. */
  readonly snapshotEvery: number
  /** Snapshots that are kept. */
  readonly keep: number
}

const RESTART_DELAY = 5_000
/** Milliseconds; an earlier process may have to end first. */
const MAX_START = 20_000
/** Milliseconds for the last copy. */
const MAX_STOP = 10_000
/** Milliseconds without a sign of life, in addition to the interval. */
const MAX_SILENCE = 120_000

export class StandbyRunner {
  private readonly options: StandbyOptions
  private readonly log: Pick<Log, 'error' | 'info'>
  private readonly maxSilence: number
  private child: ChildProcess | null = null
  private restartTimer: NodeJS.Timeout | undefined
  private silenceTimer: NodeJS.Timeout | undefined
  private isStopping = false

  private constructor(options: StandbyOptions, log: Pick<Log, 'error' | 'info'>, maxSilence: number) {
    this.options = options
    this.log = log
    this.maxSilence = maxSilence
  }

  /**
   * Resolves when the log of the database is read, or reading it has failed. Nothing may be written before: the stream
   * could not continue where it has ended.
   */
  static async open(
    options: StandbyOptions,
    log: Pick<Log, 'error' | 'info'>,
    maxSilence = MAX_SILENCE,
  ): Promise<StandbyRunner> {
    const runner = new StandbyRunner(options, log, maxSilence)
    const child = runner.start()
    await Promise.race([
      once(child, 'message'),
      once(child, 'exit'),
      sleep(MAX_START, undefined, { ref: false }),
    ]).catch(() => undefined)
    return runner
  }

  /** Call it when the database is closed: its log is copied to the end. */
  async stop(): Promise<void> {
    this.isStopping = true
    clearTimeout(this.restartTimer)
    const { child } = this
    if (child === null) return
    const ended = once(child, 'exit')
    if (child.connected) child.send('stop', () => undefined)
    const timer = setTimeout(() => child.kill('SIGKILL'), MAX_STOP)
    await ended
    clearTimeout(timer)
  }

  private start(): ChildProcess {
    const program = fileURLToPath(new URL('./standby-worker.js', import.meta.url))
    const child = fork(program, [JSON.stringify(this.options)], { env: {}, execArgv: [] })
    this.child = child
    this.waitForSign(child)
    child.on('message', (report) => {
      this.waitForSign(child)
      if (report !== 'begun' && report !== 'alive')
        this.log.error({ folder: this.options.folder, report }, 'the standby is behind')
    })
    child.on('error', (err) => {
      this.log.error({ err }, 'the process of the standby failed')
      // It was not started, so it does not exit either.
      if (child.pid === undefined) child.emit('exit', null, null)
    })
    child.once('exit', (code, signal) => this.handleExit(code, signal))
    return child
  }

  private waitForSign(child: ChildProcess): void {
    clearTimeout(this.silenceTimer)
    this.silenceTimer = setTimeout(() => {
      this.log.error({ folder: this.options.folder }, 'the process of the standby hangs, and is ended')
      child.kill('SIGKILL')
    }, this.options.interval + this.maxSilence).unref()
  }

  private handleExit(code: number | null, signal: string | null): void {
    this.child = null
    clearTimeout(this.silenceTimer)
    if (this.isStopping) return
    this.log.error({ code, signal }, 'the process of the standby has ended, and is started again')
    this.restartTimer = setTimeout(() => this.start(), RESTART_DELAY)
  }
}
