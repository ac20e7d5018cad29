/**
 * Decides whether two texts say different things: few of the words that one begins with are in the other. Words are
 * runs of letters and digits, in lower case, of four characters or more.
 *
 * Linear. Words are compared by hashes of 32 bits, so that no string is made of each: two words may be taken for one, and
 * the texts for a little more alike.
 */
import { readCodeUnits } from '../../../base/platform/code-units.js'

/** Words of the first text. */
const MAX_WORDS = 200
/** The size of the table of their hashes. It is a power of two, and large, so that a search is short. */
const TABLE_SIZE = 1_024
const MIN_LENGTH = 4
/** Texts of so few words say too little. */
const MAX_SHORT = 20
/** Shares of the first words. */
const MIN_SHARED = 0.3

const longWord = /[\p{L}\p{N}]{4,}/gu
const nonAscii = /[\u0080-\uffff]/

/** Stands in place of a count: the word was found in the other text. */
const SHARED = MAX_WORDS + 1

/** The first words, by hash, of one call after the other. */
const firstHashes = new Int32Array(TABLE_SIZE)
/** Occurrences, or `SHARED`, or 0 if the place is free. */
const firstCounts = new Uint8Array(TABLE_SIZE)

export function saysOtherThings(one: string, other: string): boolean {
  firstCounts.fill(0)
  const first = new FirstWords()
  readLongWords(one, first)
  if (first.total === 0) return false
  const shared = new SharedWords(first.total)
  readLongWords(other, shared)
  return shared.total > MAX_SHORT && !shared.isFull
}

interface LongWordReader {
  /** True if no more words are read. */
  readonly isFull: boolean
  add(hash: number): void
}

class FirstWords implements LongWordReader {
  total = 0

  get isFull(): boolean {
    return this.total === MAX_WORDS
  }

  add(hash: number): void {
    this.total += 1
    const place = findPlace(hash)
    firstHashes[place] = hash
    firstCounts[place] = (firstCounts[place] ?? 0) + 1
  }
}

/** Counts shared words: each occurrence of a word in the first text is shared once. */
class SharedWords implements LongWordReader {
  total = 0
  private shared = 0

  constructor(private readonly firstTotal: number) {}

  /** Enough are shared. */
  get isFull(): boolean {
    return this.shared / this.firstTotal >= MIN_SHARED
  }

  add(hash: number): void {
    this.total += 1
    const place = findPlace(hash)
    const count = firstCounts[place] ?? 0
    if (count === 0 || count === SHARED) return
    this.shared += count
    firstCounts[place] = SHARED
  }
}

/** The place of a word, or the free one for it: there are far more places than first words. */
function findPlace(hash: number): number {
  let place = (hash ^ (hash >>> 16)) & (TABLE_SIZE - 1)
  while (firstCounts[place] !== 0 && firstHashes[place] !== hash) place = (place + 1) & (TABLE_SIZE - 1)
  return place
}

function readLongWords(text: string, reader: LongWordReader): void {
  if (!nonAscii.test(text)) readAsciiWords(text, reader)
  else {
    for (const [word] of text.toLowerCase().matchAll(longWord)) {
      if (reader.isFull) return
      reader.add(hashWord(word))
    }
  }
}

/** The code in lower case of ASCII letters and digits, by code. 0 if it is neither. */
const wordCodes = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code)
  return /[a-z0-9]/i.test(character) ? character.toLowerCase().charCodeAt(0) : 0
})

function readAsciiWords(text: string, reader: LongWordReader): void {
  const units = readCodeUnits(text)
  const { length } = text
  for (let at = 0; at < length && !reader.isFull; at += 1) {
    const start = at
    let hash = 0
    for (; at < length; at += 1) {
      const code = wordCodes[units[at] ?? 0] ?? 0
      if (code === 0) break
      hash = addToHash(hash, code)
    }
    if (at - start >= MIN_LENGTH) reader.add(hash)
  }
}

/** `word` is in lower case. */
function hashWord(word: string): number {
  let hash = 0
  for (let at = 0; at < word.length; at += 1) hash = addToHash(hash, word.charCodeAt(at))
  return hash
}

function addToHash(hash: number, code: number): number {
  return Math.imul(hash ^ code, 0x01000193)
}
