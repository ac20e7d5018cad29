/**
 * Finds the words of a text, as the classifier counts them.
 *
 * They are in lower case and have 3 to 24 characters; scripts without spaces between words are counted in pairs of
 * letters. A longer run is reduced to its first letter and its length in tens, which is what base64 and other noise
 * have in common. One pass, linear; at most `limit` words. Most words are ASCII letters and digits alone: they are
 * found without a regular expression and given as places of the text, so that no string is made of each.
 */
import { readCodeUnits } from '../../../base/platform/code-units.js'

const MIN_WORD_LENGTH = 3
const MAX_WORD_LENGTH = 24

/** Signs of money, haste and percent belong to words: they are typical of advertising. */
const runPattern = /[\p{L}\p{N}\p{M}$€£¥%!'’_.-]+/gu
const unsegmentedScripts = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u
/** Punctuation at either end, except what ends an exclamation or begins a price. */
const edgePunctuation = /^['’_.!-]+|(?<!['’_.-])['’_.-]+$/g

/** A text, and its code units. */
export interface ScannedText {
  readonly text: string
  readonly units: Uint16Array
}

/** Gets words, in their order. */
export interface WordReader {
  /** True if no more words are read. */
  readonly isFull: boolean
  add(word: string): void
  /** A word of ASCII letters and digits, which need not be in lower case. */
  addPlain(source: ScannedText, start: number, end: number): void
}

const SEPARATOR = 0
const PLAIN = 1
const SIGN = 2
/** Only the pattern can tell. */
const UNKNOWN = 3

/** The meaning of each ASCII character for `runPattern`, by its code. */
const kinds = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code)
  if (/[A-Za-z0-9]/.test(character)) return PLAIN
  return /[$%!'_.-]/.test(character) ? SIGN : SEPARATOR
})

export function readWords(text: string, limit: number, reader: WordReader): void {
  const source = { text, units: readCodeUnits(text) }
  let left = limit
  for (let at = 0; at < text.length && left > 0 && !reader.isFull; ) {
    const start = at
    let kind = kindAt(source, at)
    while (kind === PLAIN) kind = kindAt(source, ++at)
    const length = at - start
    if (kind !== SEPARATOR || length > MAX_WORD_LENGTH) {
      const run = findRun(source, start, at)
      if (run === null) return
      at = run.end
      left -= addRun(run.found, left, reader)
    } else {
      at += 1
      if (length < MIN_WORD_LENGTH) continue
      reader.addPlain(source, start, start + length)
      left -= 1
    }
  }
}

/** The end of the text is a separator. */
function kindAt({ text, units }: ScannedText, at: number): number {
  if (at >= text.length) return SEPARATOR
  const unit = units[at] ?? 0
  return unit < 128 ? (kinds[unit] ?? UNKNOWN) : UNKNOWN
}

interface Run {
  readonly found: string
  readonly end: number
}

/** The first run from `start` on. Everything before `plainEnd` belongs to it. */
function findRun(source: ScannedText, start: number, plainEnd: number): Run | null {
  let end = plainEnd
  let kind = kindAt(source, end)
  while (kind === PLAIN || kind === SIGN) kind = kindAt(source, ++end)
  if (kind === SEPARATOR) return { found: source.text.slice(start, end), end }
  runPattern.lastIndex = start
  const found = runPattern.exec(source.text)
  return found === null ? null : { found: found[0], end: runPattern.lastIndex }
}

/** Returns the number of words. */
function addRun(found: string, limit: number, reader: WordReader): number {
  if (found.length <= 100 && unsegmentedScripts.test(found)) {
    const pairs = toBigrams(found, limit)
    for (const pair of pairs) reader.add(pair)
    return pairs.length
  }
  const word = found.length > 100 ? `skip:${found.slice(0, 1)}` : normalizeWord(found)
  if (word === null) return 0
  reader.add(word)
  return 1
}

export function splitWords(text: string, limit: number): string[] {
  const list = new WordList()
  readWords(text, limit, list)
  return list.words
}

class WordList implements WordReader {
  readonly isFull = false
  readonly words: string[] = []

  add(word: string): void {
    this.words.push(word)
  }

  addPlain({ text }: ScannedText, start: number, end: number): void {
    this.words.push(text.slice(start, end).toLowerCase())
  }
}

function normalizeWord(found: string): string | null {
  const word = found
    .replace(edgePunctuation, '')
    .replace(/(?<!!)!{2,}$/, '!!')
    .toLowerCase()
  if (word.length < MIN_WORD_LENGTH) return null
  if (word.length <= MAX_WORD_LENGTH) return word
  return `skip:${word.slice(0, 1)}${Math.floor(word.length / 10)}`
}

function toBigrams(found: string, limit: number): string[] {
  const letters = [...found.slice(0, limit + 1)]
  return letters.slice(0, -1).map((letter, at) => `${letter}${letters[at + 1] ?? ''}`)
}
