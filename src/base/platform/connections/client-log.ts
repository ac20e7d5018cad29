/**
 * Limits log lines about clients, which can cause the same line any number of times.
 *
 * Each minute, one client gets 20 lines of a kind, and all clients together 600; further lines are left out. At the
 * end of such a minute one line says how many were left out, and names the clients with the most.
 */
import type { Log } from '../log.js'

interface ClientLogLimits {
  /** Lines of a kind about one client. */
  readonly perClient: number
  /** Lines of a kind about all clients. */
  readonly total: number
  /** Milliseconds for which the limits hold. */
  readonly window: number
}

const defaultClientLogLimits: ClientLogLimits = { perClient: 20, total: 600, window: 60_000 }

interface ClientLogLine {
  /** The address. */
  readonly client: string
  readonly [field: string]: unknown
}

/** Clients that the line about omitted lines names. */
const MAX_NAMED_CLIENTS = 5

export class ClientLog {
  private readonly log: Pick<Log, 'info' | 'warn'>
  private readonly keyOf: (client: string) => string
  private readonly limits: ClientLogLimits
  private countsByClient = new Map<string, number>()
  private droppedByClient = new Map<string, number>()
  private countsByMessage = new Map<string, number>()
  private droppedOfOthers = 0
  private timer: NodeJS.Timeout | null = null

  /** Clients with the same key in `keyOf` count as one. */
  constructor(log: Pick<Log, 'info' | 'warn'>, keyOf: (client: string) => string, limits = defaultClientLogLimits) {
    this.log = log
    this.keyOf = keyOf
    this.limits = limits
  }

  info(line: ClientLogLine, message: string): void {
    if (this.mayWrite(line.client, message)) this.log.info(line, message)
  }

  warn(line: ClientLogLine, message: string): void {
    if (this.mayWrite(line.client, message)) this.log.warn(line, message)
  }

  private mayWrite(client: string, message: string): boolean {
    this.timer ??= setTimeout(() => this.endWindow(), this.limits.window).unref()
    const key = this.keyOf(client)
    const kind = `${key} ${message}`
    const [before, beforeInAll] = [this.countsByClient.get(kind) ?? 0, this.countsByMessage.get(message) ?? 0]
    if (before < this.limits.perClient && beforeInAll < this.limits.total) {
      this.countsByClient.set(kind, before + 1)
      this.countsByMessage.set(message, beforeInAll + 1)
      return true
    }
    if (this.droppedByClient.has(key) || this.droppedByClient.size < this.limits.total) {
      this.droppedByClient.set(key, (this.droppedByClient.get(key) ?? 0) + 1)
    } else this.droppedOfOthers += 1
    return false
  }

  private endWindow(): void {
    const named = [...this.droppedByClient].sort(([, one], [, other]) => other - one)
    const count = named.reduce((sum, [, lines]) => sum + lines, this.droppedOfOthers)
    this.timer = null
    this.countsByClient = new Map()
    this.droppedByClient = new Map()
    this.countsByMessage = new Map()
    this.droppedOfOthers = 0
    if (count === 0) return
    const most = Object.fromEntries(named.slice(0, MAX_NAMED_CLIENTS))
    this.log.warn({ left_out: count, most }, 'lines about clients were left out')
  }
}
