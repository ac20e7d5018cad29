/**
 * The decisive probabilities of a workspace's tokens in memory, about 20 bytes each, ordered by key. Keys are hashes of 48
 * bits, so equal ranges of them have about as many tokens, one or two: a key is searched for within its range.
 */
import { computeDecisiveProbability, type TokenCount } from './score.js'

interface KeyCount extends TokenCount {
  readonly token: number
}

/** Keys are below it. */
const KEY_LIMIT = 2 ** 48

export class ProbabilityTable {
  private readonly keys: Float64Array
  private readonly probabilities: Float64Array
  /** Where each range begins, as far as `lastRange`. */
  private readonly starts: Uint32Array
  /** A power of two, as the number of ranges, so that a product with it is exact. */
  private readonly rangesPerKey: number
  private lastRange = -1
  private length = 0
  /** Tokens that may still be appended. */
  private room: number

  /** `messages` are the learned ones of each kind. */
  constructor(
    capacity: number,
    private readonly messages: TokenCount,
  ) {
    this.keys = new Float64Array(capacity)
    this.probabilities = new Float64Array(capacity)
    const ranges = 2 ** Math.ceil(Math.log2(Math.max(capacity, 2)))
    this.starts = new Uint32Array(ranges)
    this.rangesPerKey = ranges / KEY_LIMIT
    this.room = capacity
  }

  /** The rows are in the order of their keys. False if there is no room for all of them. */
  append(rows: readonly KeyCount[]): boolean {
    if (rows.length > this.room) return false
    this.room -= rows.length
    for (const row of rows) {
      const probability = computeDecisiveProbability(row, this.messages)
      if (probability !== null) this.add(row.token, probability)
    }
    return true
  }

  private add(token: number, probability: number): void {
    for (const range = this.rangeOf(token); this.lastRange < range; ) this.starts[++this.lastRange] = this.length
    this.keys[this.length] = token
    this.probabilities[this.length] = probability
    this.length += 1
  }

  /** 0 if there is none; no token has this number. */
  get(key: number): number {
    const range = this.rangeOf(key)
    let low = this.startOf(range)
    let high = this.startOf(range + 1)
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.keys[middle] ?? 0) < key) low = middle + 1
      else high = middle
    }
    return low < this.length && this.keys[low] === key ? (this.probabilities[low] ?? 0) : 0
  }

  private rangeOf(key: number): number {
    return Math.floor(key * this.rangesPerKey)
  }

  private startOf(range: number): number {
    return range > this.lastRange ? this.length : (this.starts[range] ?? 0)
  }
}
