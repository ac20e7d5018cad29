/**
 * The line of those who wait for memory of one whole, in the order in which they came.
 *
 * Each of them wants room in several levels at once: its share, the share of its listener, the whole. Where
 * a level has no room for the first who wants it, later ones do not pass it there, however small; those who
 * want nothing of that level do. So neither small nor large ones wait for ever, and a share that is full
 * holds up no other.
 *
 * Who has waited for some seconds has slow transfers give way to it: what they hold would else never come free.
 *
 * Cost: whatever is given back, all who wait are looked at; each level bounds how many that are.
 */
export interface MemoryLevel {
  /** Tells it from the other levels of the same whole. */
  readonly key: unknown
  /** Wanted of it. */
  readonly bytes: number
  readonly limit: number
  readonly usedBytes: () => number
  readonly maxWaiting: number
  /** Has the slowest transfer give way. False: there is none that has to. */
  readonly evictSlowest?: () => boolean
}

export interface WaitOptions {
  /** Milliseconds. */
  readonly timeout: number
  /** Ends the wait before its time. */
  readonly signal?: AbortSignal
}

export interface MemoryQueue {
  /**
   * True: all levels had room and `take` was called. False: the time is over or the wait was ended, too many
   * wait already, or the level would be too small were it empty.
   */
  waitForRoom(levels: readonly MemoryLevel[], take: () => boolean, wait: WaitOptions): Promise<boolean>
  /** To be called when there is more room than before: after a pause it goes to those who wait. */
  admit(): void
  length(): number
}

interface WaitingRequest {
  /** Milliseconds of a steady clock. */
  readonly since: number
  readonly levels: readonly MemoryLevel[]
  readonly acquire: () => boolean
  readonly settle: (taken: boolean) => void
}

/**
 * Milliseconds between what is given back and the next turn. V8 frees late what a large message leaves behind:
 * where turn follows turn without a break, the daemon holds more than the budget says.
 */
const ADMIT_PAUSE = 100
const EVICT_AFTER = 5_000
/** Milliseconds between two looks at who has waited for long. */
const CHECK_INTERVAL = 1_000

function hasRoom({ usedBytes, bytes, limit, evictSlowest }: MemoryLevel, mayFree: boolean): boolean {
  while (usedBytes() + bytes > limit) if (!mayFree || evictSlowest?.() !== true) return false
  return true
}

/** `long`: milliseconds of waiting after which slow transfers give way. */
export function createMemoryQueue(evictAfter = EVICT_AFTER): MemoryQueue {
  const queue = new Set<WaitingRequest>()
  let pauseTimer: NodeJS.Timeout | null = null
  let checkTimer: NodeJS.Timeout | null = null

  function admitLater(): void {
    if (queue.size === 0 || pauseTimer !== null) return
    pauseTimer = setTimeout(() => {
      pauseTimer = null
      admit()
    }, ADMIT_PAUSE)
  }

  function admit(): void {
    if (pauseTimer !== null) return
    const full = new Set<unknown>()
    for (const waiting of queue) {
      const { levels, acquire, settle, since } = waiting
      if (levels.some(({ key }) => full.has(key))) continue
      const isLong = performance.now() - since >= evictAfter
      const lacking = levels.find((level) => !hasRoom(level, isLong))
      if (lacking === undefined) settle(acquire())
      else full.add(lacking.key)
    }
  }

  function checkQueue(): void {
    if (queue.size > 0) {
      admit()
      return
    }
    if (checkTimer !== null) clearInterval(checkTimer)
    checkTimer = null
  }

  function isFull({ key, maxWaiting }: MemoryLevel): boolean {
    let waiting = 0
    for (const { levels } of queue) if (levels.some((level) => level.key === key)) waiting += 1
    return waiting >= maxWaiting
  }

  return {
    waitForRoom(levels, acquire, { timeout, signal }) {
      const hopeless = levels.some((level) => level.bytes > level.limit || isFull(level))
      if (hopeless || signal?.aborted === true) return Promise.resolve(false)
      return new Promise((resolve) => {
        const giveUp = (): void => {
          waiting.settle(false)
          admit() // those behind it may fit
        }
        const timer = setTimeout(giveUp, timeout)
        const settle = (taken: boolean): void => {
          queue.delete(waiting)
          clearTimeout(timer)
          signal?.removeEventListener('abort', giveUp)
          resolve(taken)
        }
        const waiting: WaitingRequest = { levels, acquire, settle, since: performance.now() }
        signal?.addEventListener('abort', giveUp)
        queue.add(waiting)
        checkTimer ??= setInterval(checkQueue, Math.min(CHECK_INTERVAL, evictAfter)).unref()
        admit()
      })
    },
    admit: admitLater,
    length: () => queue.size,
  }
}
