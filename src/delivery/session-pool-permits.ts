/**
 * So many at once for each key, first come first served.
 *
 * Invariant: a key with waiters has no free permit; a key without permits in use takes no memory.
 */
interface Line {
  inUse: number
  readonly waiting: Set<() => void>
}

export class Permits {
  readonly #limit: number
  readonly #lines = new Map<string, Line>()
  #total = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** In use, of all keys. */
  get total(): number {
    return this.#total
  }

  inUse(key: string): number {
    return this.#lines.get(key)?.inUse ?? 0
  }

  /** Waits for a permit; call `release` for it once. Rejects with the signal's reason when that strikes first. */
  async acquire(key: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const line = this.#lines.get(key) ?? { inUse: 0, waiting: new Set() }
    this.#lines.set(key, line)
    if (line.inUse < this.#limit) {
      line.inUse++
      this.#total++
      return
    }
    await turn(line, signal)
  }

  release(key: string): void {
    const line = this.#lines.get(key)
    if (line === undefined) return
    const [next] = line.waiting
    if (next !== undefined) {
      next()
    } else {
      line.inUse--
      this.#total--
      if (line.inUse === 0) this.#lines.delete(key)
    }
  }
}

/** The permit passes from hand to hand: the count of those in use does not change. */
function turn(line: Line, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const mine = (): void => {
      line.waiting.delete(mine)
      signal.removeEventListener('abort', aborted)
      resolve()
    }
    const aborted = (): void => {
      line.waiting.delete(mine)
      reject(signal.reason)
    }
    line.waiting.add(mine)
    signal.addEventListener('abort', aborted, { once: true })
  })
}
