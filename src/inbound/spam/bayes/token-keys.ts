/**
 * Tokens as the database stores them: numbers of 48 bits.
 *
 * Hashes are stored instead of words, so that rows are small and of one size, and so that words of a deleted
 * message cannot be read from the table. The hash is neither secret nor cryptographic: a sender who can make two
 * words collide could as well write the other word.
 *
 * Among 200,000 tokens, the maximum of a workspace, two equal numbers are expected in one of 14,000 workspaces.
 */
import type { ScannedText, WordReader } from './words.js'

const KEY_BYTES = 6

const HIGH_OFFSET = 0x811c9dc5
const LOW_OFFSET = 0x2f0b4c47
const HIGH_PRIME = 0x01000193
const LOW_PRIME = 0x85ebca6b

/** The bit that makes an ASCII letter lower case; digits have it. */
const LOWER_CASE = 0x20

/** Two 32-bit FNV-1a hashes with different offsets and primes, each mixed at the end. */
export function hashWordToken(token: string): number {
  let high = HIGH_OFFSET
  let low = LOW_OFFSET
  for (let at = 0; at < token.length; at += 1) {
    const unit = token.charCodeAt(at)
    high = Math.imul(high ^ unit, HIGH_PRIME)
    low = Math.imul(low ^ unit, LOW_PRIME)
  }
  return (mixBits(high ^ (low >>> 15)) >>> 16) * 2 ** 32 + (mixBits(low) >>> 0)
}

function mixBits(word: number): number {
  const once = Math.imul(word ^ (word >>> 16), 0x7feb352d)
  const twice = Math.imul(once ^ (once >>> 15), 0x846ca68b)
  return twice ^ (twice >>> 16)
}

/**
 * The table has so many places for each key that a search is short. Keys that were chosen to share a place are compared
 * with each other, half a million times at most.
 */
const PLACES_PER_KEY = 4

/**
 * Distinct keys in the order of their tokens, at most `max`. Keys after that are dropped. Its memory is used again for
 * the next message.
 */
export class TokenKeys implements WordReader {
  private count = 0
  private readonly packed: Buffer
  private readonly high: Uint16Array
  private readonly low: Uint32Array
  /** The index of a key plus one, found by its hash. 0 if there is none. The number of places is a power of two. */
  private readonly places: Uint16Array

  constructor(private readonly max: number) {
    this.packed = Buffer.alloc(max * KEY_BYTES)
    this.high = new Uint16Array(max)
    this.low = new Uint32Array(max)
    this.places = new Uint16Array(2 ** Math.ceil(Math.log2(max * PLACES_PER_KEY)))
  }

  get isFull(): boolean {
    return this.count === this.max
  }

  clear(): void {
    this.count = 0
    this.places.fill(0)
  }

  add(token: string): void {
    const key = hashWordToken(token)
    this.addKey(Math.floor(key / 2 ** 32), key >>> 0)
  }

  /** The token of ASCII letters and digits at a place of a text, in lower case. */
  addPlain({ units }: ScannedText, start: number, end: number): void {
    let high = HIGH_OFFSET
    let low = LOW_OFFSET
    for (let at = start; at < end; at += 1) {
      const unit = (units[at] ?? 0) | LOWER_CASE
      high = Math.imul(high ^ unit, HIGH_PRIME)
      low = Math.imul(low ^ unit, LOW_PRIME)
    }
    this.addKey(mixBits(high ^ (low >>> 15)) >>> 16, mixBits(low) >>> 0)
  }

  toBase64(): string {
    return this.packed.toString('base64', 0, this.count * KEY_BYTES)
  }

  private addKey(high: number, low: number): void {
    if (this.count === this.max) return
    const mask = this.places.length - 1
    let place = low & mask
    for (let taken = this.places[place] ?? 0; taken !== 0; taken = this.places[place] ?? 0) {
      if (this.low[taken - 1] === low && this.high[taken - 1] === high) return
      place = (place + 1) & mask
    }
    this.high[this.count] = high
    this.low[this.count] = low
    writeKey(this.packed, this.count * KEY_BYTES, high, low)
    this.count += 1
    this.places[place] = this.count
  }
}

function writeKey(target: Uint8Array, at: number, high: number, low: number): void {
  target[at] = high >>> 8
  target[at + 1] = high & 0xff
  target[at + 2] = low >>> 24
  target[at + 3] = (low >>> 16) & 0xff
  target[at + 4] = (low >>> 8) & 0xff
  target[at + 5] = low & 0xff
}

/** The memory is not from Buffer's pool, because it is moved to the writer's thread. */
export function packKeys(keys: readonly number[]): Buffer {
  const packed = Buffer.alloc(keys.length * KEY_BYTES)
  keys.forEach((key, at) => {
    packed.writeUIntBE(key, at * KEY_BYTES, KEY_BYTES)
  })
  return packed
}

export function unpackKeys(packed: Uint8Array): readonly number[] {
  const byteAt = (at: number): number => packed[at] ?? 0
  const keys = new Array<number>(Math.floor(packed.length / KEY_BYTES))
  for (let nth = 0, at = 0; nth < keys.length; nth += 1, at += KEY_BYTES) {
    const high = (byteAt(at) << 8) | byteAt(at + 1)
    const low = (byteAt(at + 2) << 24) | (byteAt(at + 3) << 16) | (byteAt(at + 4) << 8) | byteAt(at + 5)
    keys[nth] = high * 2 ** 32 + (low >>> 0)
  }
  return keys
}
