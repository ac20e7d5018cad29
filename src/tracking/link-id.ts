/**
 * Ids of links: 10 characters of time, then 128 random bits in 26, all `[0-9a-v]` (base32hex of RFC 4648 in lower
 * case). They cannot be guessed, and they sort by time, so inserts append to the index and old links are a range.
 */
import { encodeBase32 } from '../mail/base32.js'
import { randomSecret } from '../platform/ids.js'

const TIME_LENGTH = 10
const RANDOM_BYTES = 16
/** Ids whose random bytes are made at once: a call of the random source costs more than an id. */
const POOL_SIZE = 128
const ALPHABET = '0123456789abcdefghijklmnopqrstuv'

/** `now`: epoch milliseconds. */
export function createLinkId(now: number): string {
  return firstLinkIdOf(now) + encodeBase32(takeRandomBytes(), ALPHABET)
}

/** Sorts before every id of this moment and after every id of an earlier one. */
export function firstLinkIdOf(moment: number): string {
  return Math.max(0, Math.floor(moment)).toString(32).padStart(TIME_LENGTH, '0')
}

export function isLinkId(text: string): boolean {
  return /^[0-9a-v]{36}$/.test(text)
}

let pool: Buffer = Buffer.alloc(0)

function takeRandomBytes(): Buffer {
  if (pool.length === 0) pool = randomSecret(POOL_SIZE * RANDOM_BYTES)
  const bytes = pool.subarray(0, RANDOM_BYTES)
  pool = pool.subarray(RANDOM_BYTES)
  return bytes
}
