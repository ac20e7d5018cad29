/**
 * Log lines about clients, each of which may repeat what brings the line as often as it likes.
 *
 * In a minute a client gets so many lines of one kind, and all clients together so many of it; then
 * lines are left out. At the end of such a minute one line says how many, and of which clients most.
 */
import type { Log } from '../log.js'

export interface ClientLineLimits {
  /** Lines of one kind about one client. */
  readonly perClient: number
  /** Lines of one kind about all clients. */
  readonly all: number
  /** Milliseconds in which they count. */
  readonly window: number
}

const clientLineLimits: ClientLineLimits = { perClient: 20, all: 600, window: 60_000 }

export interface ClientLine {
  /** The address. */
  readonly client: string
  readonly [field: string]: unknown
}

/** Clients that the line about what was left out names. */
const NAMED = 5

export class ClientLines {
  private readonly log: Pick<Log, 'info' | 'warn'>
  private readonly keyOf: (client: string) => string
  private readonly limits: ClientLineLimits
  private written = new Map<string, number>()
  private leftOut = new Map<string, number>()
  private ofKind = new Map<string, number>()
  private unnamed = 0
  private timer: NodeJS.Timeout | null = null

  /** `keyOf`: what counts as one client. */
  constructor(log: Pick<Log, 'info' | 'warn'>, keyOf: (client: string) => string, limits = clientLineLimits) {
    this.log = log
    this.keyOf = keyOf
    this.limits = limits
  }

  info(line: ClientLine, message: string): void {
    if (this.mayWrite(line.client, message)) this.log.info(line, message)
  }

  warn(line: ClientLine, message: string): void {
    if (this.mayWrite(line.client, message)) this.log.warn(line, message)
  }

  private mayWrite(client: string, message: string): boolean {
    this.timer ??= setTimeout(() => this.end(), this.limits.window).unref()
    const key = this.keyOf(client)
    const kind = `${key} ${message}`
    const [before, beforeInAll] = [this.written.get(kind) ?? 0, this.ofKind.get(message) ?? 0]
    if (before < this.limits.perClient && beforeInAll < this.limits.all) {
      this.written.set(kind, before + 1)
      this.ofKind.set(message, beforeInAll + 1)
      return true
    }
    if (this.leftOut.has(key) || this.leftOut.size < this.limits.all) {
      this.leftOut.set(key, (this.leftOut.get(key) ?? 0) + 1)
    } else this.unnamed += 1
    return false
  }

  private end(): void {
    const named = [...this.leftOut].sort(([, one], [, other]) => other - one)
    const count = named.reduce((sum, [, lines]) => sum + lines, this.unnamed)
    this.timer = null
    this.written = new Map()
    this.leftOut = new Map()
    this.ofKind = new Map()
    this.unnamed = 0
    if (count === 0) return
    const most = Object.fromEntries(named.slice(0, NAMED))
    this.log.warn({ left_out: count, most }, 'lines about clients were left out')
  }
}
