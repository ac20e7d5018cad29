/**
 * Whether two texts say different things: few of the words that one begins with are in the other. Words are runs of letters
 * and digits, in lower case, of four characters or more.
 *
 * Linear. Of a text in ASCII, only those words become strings that may be among the first of the other.
 */
import { readCodeUnits } from '../../platform/code-units.js'

/** Words of the first text. */
const MAX_WORDS = 200
const MIN_LENGTH = 4
/** Texts of so few words say too little. */
const MAX_SHORT = 20
/** Shares of the first words. */
const MIN_SHARED = 0.3

const longWord = /[\p{L}\p{N}]{4,}/gu
const nonAscii = /[\u0080-\uffff]/

export function saysOtherThings(one: string, other: string): boolean {
  const first = new FirstWords()
  readLongWords(one, first)
  if (first.total === 0) return false
  const shared = new SharedWords(first)
  readLongWords(other, shared)
  return shared.total > MAX_SHORT && !shared.isFull
}

interface LongWordReader {
  /** No more words are read. */
  readonly isFull: boolean
  /** `word`: in lower case. */
  add(word: string): void
  /** A word of ASCII with a hash. */
  addPlain(hash: number, text: string, start: number, end: number): void
}

const FILTER_SIZE = 4_096

class FirstWords implements LongWordReader {
  total = 0
  readonly counts = new Map<string, number>()
  /** By hash: 1 if it is that of a word. */
  private readonly filter = new Uint8Array(FILTER_SIZE)

  get isFull(): boolean {
    return this.total === MAX_WORDS
  }

  add(word: string): void {
    this.total += 1
    this.counts.set(word, (this.counts.get(word) ?? 0) + 1)
    this.filter[placeOf(hashAscii(word))] = 1
  }

  addPlain(_hash: number, text: string, start: number, end: number): void {
    this.add(text.slice(start, end).toLowerCase())
  }

  mayHave(hash: number): boolean {
    return this.filter[placeOf(hash)] === 1
  }
}

class SharedWords implements LongWordReader {
  total = 0
  private shared = 0

  constructor(private readonly first: FirstWords) {}

  /** Enough are shared. */
  get isFull(): boolean {
    return this.shared / this.first.total >= MIN_SHARED
  }

  add(word: string): void {
    this.total += 1
    this.shared += this.first.counts.get(word) ?? 0
    this.first.counts.delete(word)
  }

  addPlain(hash: number, text: string, start: number, end: number): void {
    if (this.first.mayHave(hash)) this.add(text.slice(start, end).toLowerCase())
    else this.total += 1
  }
}

function readLongWords(text: string, reader: LongWordReader): void {
  if (!nonAscii.test(text)) readAsciiWords(text, reader)
  else {
    for (const [word] of text.toLowerCase().matchAll(longWord)) {
      if (reader.isFull) return
      reader.add(word)
    }
  }
}

/** By code of ASCII: 1 for letters and digits. */
const letters = Uint8Array.from({ length: 128 }, (_, code) => Number(/[a-z0-9]/i.test(String.fromCharCode(code))))

function readAsciiWords(text: string, reader: LongWordReader): void {
  const units = readCodeUnits(text)
  const { length } = text
  for (let at = 0; at < length && !reader.isFull; at += 1) {
    const start = at
    let hash = 0
    for (; at < length && letters[units[at] ?? 0] === 1; at += 1) hash = addToHash(hash, units[at] ?? 0)
    if (at - start >= MIN_LENGTH) reader.addPlain(hash, text, start, at)
  }
}

function hashAscii(word: string): number {
  let hash = 0
  for (let at = 0; at < word.length; at += 1) hash = addToHash(hash, word.charCodeAt(at))
  return hash
}

/** The same for both cases of a letter. */
function addToHash(hash: number, code: number): number {
  return Math.imul(hash ^ (code | 0x20), 0x01000193)
}

function placeOf(hash: number): number {
  return (hash ^ (hash >>> 16)) & (FILTER_SIZE - 1)
}
