/**
 * Makes ids of links: 10 characters of time, then 128 random bits in 26 characters, all `[0-9a-v]` (base32hex of RFC
 * 4648 in lower case). They cannot be guessed, and they sort by time, so inserts append to the index and old links are
 * a range.
 */
import { randomSecret } from '../../base/platform/ids.js'

const TIME_LENGTH = 10
const RANDOM_LENGTH = 26
/** The ids whose random characters are made at once, because a call of the random source costs more than an id. */
const POOL_SIZE = 128
const alphabet = Buffer.from('0123456789abcdefghijklmnopqrstuv')
/** The bits of a byte that choose a character, and those of the last character: 25 times 5 plus 3 is 128. */
const CHARACTER_BITS = 0b11111
const LAST_BITS = 0b11100

/** `now` is in epoch milliseconds. */
export function createLinkId(now: number): string {
  return timeTextOf(now) + takeRandomText()
}

/** Returns an id that sorts before every id of this moment and after every id of an earlier one. */
export function firstLinkIdOf(moment: number): string {
  return Math.max(0, Math.floor(moment)).toString(32).padStart(TIME_LENGTH, '0')
}

export function isLinkId(text: string): boolean {
  return /^[0-9a-v]{36}$/.test(text)
}

/** The time of the last id, because the links of an email are made at one moment. */
let lastTime = { now: 0, text: firstLinkIdOf(0) }

function timeTextOf(now: number): string {
  if (now !== lastTime.now) lastTime = { now, text: firstLinkIdOf(now) }
  return lastTime.text
}

let pool = ''
let usedLength = 0

function takeRandomText(): string {
  if (usedLength === pool.length) {
    pool = createRandomText(POOL_SIZE)
    usedLength = 0
  }
  usedLength += RANDOM_LENGTH
  return pool.slice(usedLength - RANDOM_LENGTH, usedLength)
}

/** Returns the random characters of this many ids. */
function createRandomText(ids: number): string {
  const bytes = randomSecret(ids * RANDOM_LENGTH)
  for (let at = 0; at < bytes.length; at += 1) {
    const isLast = at % RANDOM_LENGTH === RANDOM_LENGTH - 1
    bytes[at] = alphabet[(bytes[at] ?? 0) & (isLast ? LAST_BITS : CHARACTER_BITS)] ?? 0
  }
  return bytes.toString('latin1')
}
