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
  readonly used: () => number
  readonly mostWaiting: number
  /** Has the slowest transfer give way. False: there is none that has to. */
  readonly free?: () => boolean
}

export interface Wait {
  /** Milliseconds. */
  readonly patience: number
  /** Ends the wait before its time. */
  readonly signal?: AbortSignal
}

export interface MemoryLine {
  /**
   * True: all levels had room and `take` was called. False: the time is over or the wait was ended, too many
   * wait already, or the level would be too small were it empty.
   */
  enter(levels: readonly MemoryLevel[], take: () => boolean, wait: Wait): Promise<boolean>
  /** To be called when there is more room than before: after a pause it goes to those who wait. */
  admit(): void
  length(): number
}

interface Waiting {
  /** Milliseconds of a steady clock. */
  readonly since: number
  readonly levels: readonly MemoryLevel[]
  readonly take: () => boolean
  readonly settle: (taken: boolean) => void
}

/**
 * Milliseconds between what is given back and the next turn. V8 frees late what a large message leaves behind:
 * where turn follows turn without a break, the daemon holds more than the budget says.
 */
const PAUSE = 100
const LONG = 5_000
/** Milliseconds between two looks at who has waited for long. */
const LOOK = 1_000

function hasRoom({ used, bytes, limit, free }: MemoryLevel, mayFree: boolean): boolean {
  while (used() + bytes > limit) if (!mayFree || free?.() !== true) return false
  return true
}

/** `long`: milliseconds of waiting after which slow transfers give way. */
export function memoryLine(long = LONG): MemoryLine {
  const line = new Set<Waiting>()
  let pausing: NodeJS.Timeout | null = null
  let looking: NodeJS.Timeout | null = null

  function admitLater(): void {
    if (line.size === 0 || pausing !== null) return
    pausing = setTimeout(() => {
      pausing = null
      admit()
    }, PAUSE)
  }

  function admit(): void {
    if (pausing !== null) return
    const full = new Set<unknown>()
    for (const waiting of line) {
      const { levels, take, settle, since } = waiting
      if (levels.some(({ key }) => full.has(key))) continue
      const isLong = performance.now() - since >= long
      const lacking = levels.find((level) => !hasRoom(level, isLong))
      if (lacking === undefined) settle(take())
      else full.add(lacking.key)
    }
  }

  function look(): void {
    if (line.size > 0) {
      admit()
      return
    }
    if (looking !== null) clearInterval(looking)
    looking = null
  }

  function isFull({ key, mostWaiting }: MemoryLevel): boolean {
    let waiting = 0
    for (const { levels } of line) if (levels.some((level) => level.key === key)) waiting += 1
    return waiting >= mostWaiting
  }

  return {
    enter(levels, take, { patience, signal }) {
      const hopeless = levels.some((level) => level.bytes > level.limit || isFull(level))
      if (hopeless || signal?.aborted === true) return Promise.resolve(false)
      return new Promise((resolve) => {
        const leave = (): void => {
          waiting.settle(false)
          admit() // those behind it may fit
        }
        const timer = setTimeout(leave, patience)
        const settle = (taken: boolean): void => {
          line.delete(waiting)
          clearTimeout(timer)
          signal?.removeEventListener('abort', leave)
          resolve(taken)
        }
        const waiting: Waiting = { levels, take, settle, since: performance.now() }
        signal?.addEventListener('abort', leave)
        line.add(waiting)
        looking ??= setInterval(look, Math.min(LOOK, long)).unref()
        admit()
      })
    },
    admit: admitLater,
    length: () => line.size,
  }
}
