/**
 * Asks the server for a sign of life while reads wait for it, over a separate connection.
 *
 * A connection whose server is cut off gives no sign, and a read may take long for other reasons. So the server counts as
 * gone only if it answers neither here nor a new connection, or if the new connection leads to another server.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { StorageFault } from '../db/write.js'
import type { ConnectionLimits } from './connect.js'
import type { PipelinedConnection } from './pipelined-connection.js'
import { ConnectionLost } from './server-errors.js'

export type Connect = (limits: Partial<ConnectionLimits>) => Promise<PipelinedConnection>

/** All in milliseconds. */
const INTERVAL = 300
const MAX_ANSWER = 400

/** Codes of a server from which nothing came. */
const SILENT = new Set(['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'])

interface PulseOptions {
  readonly connect: Connect
  /** Reads wait for the server. */
  readonly isNeeded: () => boolean
  readonly onSilence: () => void
}

export class ServerPulse {
  private connection: PipelinedConnection | null = null
  /** The server that has answered last. */
  private server = ''
  private readonly stop = new AbortController()
  private readonly running: Promise<void>

  constructor(private readonly options: PulseOptions) {
    this.running = this.watch()
  }

  async close(): Promise<void> {
    this.stop.abort()
    await this.running
    await this.connection?.close()
  }

  private async watch(): Promise<void> {
    const { signal } = this.stop
    for (;;) {
      await sleep(INTERVAL, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
      if (!this.options.isNeeded() || (await this.ask())) continue
      const before = this.server
      const isGone = !(await this.ask()) || (before !== '' && this.server !== before)
      if (isGone && this.options.isNeeded()) this.options.onSilence()
    }
  }

  /** Returns whether the server said anything, be it that it has too many connections. */
  private async ask(): Promise<boolean> {
    try {
      this.connection ??= await this.options.connect({ connect: MAX_ANSWER, silence: MAX_ANSWER })
      await this.connection.run([{ sql: 'select 1', parameters: [] }])
      this.server = this.connection.server
      return true
    } catch (error) {
      this.connection?.destroy('the server does not answer')
      this.connection = null
      return !(error instanceof ConnectionLost || (error instanceof StorageFault && SILENT.has(error.code)))
    }
  }
}
