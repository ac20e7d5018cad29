/**
 * The requests that wait for memory of one root budget, in order of arrival.
 *
 * A request needs room in several levels at once: its owner's share, the listener's share, the root. When a level lacks
 * room for its first request, later requests for that level do not overtake it, however small; requests that do not
 * need the level do. Neither small nor large requests wait forever, and a full share delays no other.
 *
 * A request that has waited 5 s evicts slow transfers, since their memory might never become free otherwise.
 *
 * Cost: each release of memory scans all waiting requests; each level bounds their number.
 */
export interface MemoryLevel {
  /** Identifies the level within its root budget. */
  readonly key: unknown
  /** Requested bytes of this level. */
  readonly bytes: number
  readonly limit: number
  readonly usedBytes: () => number
  readonly maxWaiting: number
  /** False if there is none to evict. */
  readonly evictSlowest?: () => boolean
}

export interface WaitOptions {
  /** Milliseconds. */
  readonly timeout: number
  /** Ends the wait before its time. */
  readonly signal?: AbortSignal
}

interface WaitingRequest {
  /** Milliseconds of a monotonic clock. */
  readonly since: number
  readonly levels: readonly MemoryLevel[]
  readonly acquire: () => boolean
  readonly settle: (taken: boolean) => void
}

/**
 * Milliseconds between a release and the next admission. V8 releases the memory of a large message late. If there were
 * no pause, the daemon would hold more than the budget says.
 */
const ADMIT_PAUSE = 100
/** Milliseconds. */
const EVICT_AFTER = 5_000
/** Milliseconds between two checks for requests that have waited long. */
const CHECK_INTERVAL = 1_000

function hasRoom({ usedBytes, bytes, limit, evictSlowest }: MemoryLevel, mayFree: boolean): boolean {
  while (usedBytes() + bytes > limit) if (!mayFree || evictSlowest?.() !== true) return false
  return true
}

export class MemoryQueue {
  private readonly queue = new Set<WaitingRequest>()
  private pauseTimer: NodeJS.Timeout | null = null
  private checkTimer: NodeJS.Timeout | null = null

  /** After `evictAfter` milliseconds of waiting, slow transfers are evicted. */
  constructor(private readonly evictAfter = EVICT_AFTER) {}

  get length(): number {
    return this.queue.size
  }

  /**
   * True if all levels had room and `acquire` succeeded. False if the wait timed out or was aborted, too many requests
   * wait already, or a level is too small even when empty.
   */
  waitForRoom(
    levels: readonly MemoryLevel[],
    acquire: () => boolean,
    { timeout, signal }: WaitOptions,
  ): Promise<boolean> {
    const hopeless = levels.some((level) => level.bytes > level.limit || this.isFull(level))
    if (hopeless || signal?.aborted === true) return Promise.resolve(false)
    return new Promise((resolve) => {
      const giveUp = (): void => {
        waiting.settle(false)
        this.admit() // later requests may fit
      }
      const timer = setTimeout(giveUp, timeout)
      const settle = (taken: boolean): void => {
        this.queue.delete(waiting)
        clearTimeout(timer)
        signal?.removeEventListener('abort', giveUp)
        resolve(taken)
      }
      const waiting: WaitingRequest = { levels, acquire, settle, since: performance.now() }
      signal?.addEventListener('abort', giveUp)
      this.queue.add(waiting)
      this.checkTimer ??= setInterval(() => this.check(), Math.min(CHECK_INTERVAL, this.evictAfter)).unref()
      this.admit()
    })
  }

  /** Call it after memory was released. After a pause, waiting requests get it. */
  admitLater(): void {
    if (this.queue.size === 0 || this.pauseTimer !== null) return
    this.pauseTimer = setTimeout(() => {
      this.pauseTimer = null
      this.admit()
    }, ADMIT_PAUSE)
  }

  private admit(): void {
    if (this.pauseTimer !== null) return
    const full = new Set<unknown>()
    for (const { levels, acquire, settle, since } of this.queue) {
      if (levels.some(({ key }) => full.has(key))) continue
      const isLong = performance.now() - since >= this.evictAfter
      const lacking = levels.find((level) => !hasRoom(level, isLong))
      if (lacking === undefined) settle(acquire())
      else full.add(lacking.key)
    }
  }

  private check(): void {
    if (this.queue.size > 0) {
      this.admit()
      return
    }
    if (this.checkTimer !== null) clearInterval(this.checkTimer)
    this.checkTimer = null
  }

  private isFull({ key, maxWaiting }: MemoryLevel): boolean {
    let waiting = 0
    for (const { levels } of this.queue) if (levels.some((level) => level.key === key)) waiting += 1
    return waiting >= maxWaiting
  }
}
