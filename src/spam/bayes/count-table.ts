/**
 * Counts of a workspace's tokens in memory, 16 bytes each, ordered by key. Keys are hashes of 48 bits, so equal ranges
 * of them have about as many tokens: a key is searched for within its range.
 */
import type { TokenCount } from './score.js'

interface KeyCount extends TokenCount {
  readonly token: number
}

const RANGES = 4_096
/** Keys of one range. */
const RANGE_SIZE = 2 ** 48 / RANGES

export class CountTable {
  private readonly keys: Float64Array
  private readonly spam: Uint32Array
  private readonly ham: Uint32Array
  /** Where each range begins, as far as `lastRange`. */
  private readonly starts = new Uint32Array(RANGES)
  private lastRange = -1
  private length = 0

  constructor(capacity: number) {
    this.keys = new Float64Array(capacity)
    this.spam = new Uint32Array(capacity)
    this.ham = new Uint32Array(capacity)
  }

  /** In the order of their keys. False: there is no room for all of them. */
  append(rows: readonly KeyCount[]): boolean {
    if (this.length + rows.length > this.keys.length) return false
    for (const { token, spam, ham } of rows) {
      for (const range = rangeOf(token); this.lastRange < range; ) this.starts[++this.lastRange] = this.length
      this.keys[this.length] = token
      this.spam[this.length] = spam
      this.ham[this.length] = ham
      this.length += 1
    }
    return true
  }

  get(key: number): TokenCount | undefined {
    const range = rangeOf(key)
    let low = this.startOf(range)
    let high = this.startOf(range + 1)
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.keys[middle] ?? 0) < key) low = middle + 1
      else high = middle
    }
    if (low === this.length || this.keys[low] !== key) return undefined
    return { spam: this.spam[low] ?? 0, ham: this.ham[low] ?? 0 }
  }

  private startOf(range: number): number {
    return range > this.lastRange ? this.length : (this.starts[range] ?? 0)
  }
}

function rangeOf(key: number): number {
  return Math.floor(key / RANGE_SIZE)
}
