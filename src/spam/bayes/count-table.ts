/** Counts of a workspace's tokens in memory, 16 bytes each, ordered by key. */
import type { TokenCount } from './score.js'

interface KeyCount extends TokenCount {
  readonly token: number
}

export class CountTable {
  private readonly keys: Float64Array
  private readonly spam: Uint32Array
  private readonly ham: Uint32Array
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
      this.keys[this.length] = token
      this.spam[this.length] = spam
      this.ham[this.length] = ham
      this.length += 1
    }
    return true
  }

  get(key: number): TokenCount | undefined {
    let low = 0
    let high = this.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.keys[middle] ?? 0) < key) low = middle + 1
      else high = middle
    }
    if (low === this.length || this.keys[low] !== key) return undefined
    return { spam: this.spam[low] ?? 0, ham: this.ham[low] ?? 0 }
  }
}
