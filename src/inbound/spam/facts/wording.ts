/**
 * Patterns of wording, and the text that they are searched for in. There are dozens of patterns, and each can begin only
 * where a word, a digit or a sign does, or a letter behind a digit, with one of few beginnings: one pass over the text finds
 * these places, and a pattern is tried only at its own.
 */
import { readCodeUnits } from '../../../base/platform/code-units.js'
import { listOpenings, OPENING_LENGTH } from './pattern-openings.js'

/** Places of the table. Two beginnings may share one, and then a pattern is tried without a match. */
const TABLE_SIZE = 65_536

/** Patterns with known beginnings. Each is tried at one place of a text (`y`). */
const patterns: RegExp[] = []
/** The list of patterns that have a beginning at this place of the table, as index of `lists`. */
const listAt = new Uint16Array(TABLE_SIZE)
/** No beginning has this place. */
const NO_LIST = 0
/** Beginnings begin so, and none is complete. */
const PREFIX = 1
/** Lists of indexes of `patterns`, by `listAt`. */
const lists: number[][] = [[], []]
/**
 * 1 if a beginning may begin like this, by the lowest five bits of each of its first three characters. Most places have
 * 0, and this table stays in the processor's nearest cache.
 */
const triples = new Uint8Array(32 ** 3)

export class WordedText {
  /** 1 if the text matches the pattern of this number. Patterns that were made after this list are not in it. */
  private matches = new Uint8Array(0)

  /** `text` is in lower case. */
  constructor(readonly text: string) {}

  hasMatch(index: number): boolean {
    if (index >= this.matches.length) this.searchAll()
    return this.matches[index] === 1
  }

  private searchAll(): void {
    this.matches = new Uint8Array(patterns.length)
    const units = readCodeUnits(this.text)
    const { length } = this.text
    for (const start of findStarts(units, length))
      this.tryPatternsAt(units, start, Math.min(start + OPENING_LENGTH, length))
  }

  private tryPatternsAt(units: Uint16Array, start: number, end: number): void {
    let hash = 0
    for (let at = start; at < end; at += 1) {
      hash = addToHash(hash, units[at] ?? 0)
      const list = listAt[placeOf(hash)] ?? NO_LIST
      if (list === NO_LIST) return
      if (list !== PREFIX) for (const index of lists[list] ?? []) this.tryPattern(index, start)
    }
  }

  private tryPattern(index: number, start: number): void {
    const pattern = patterns[index]
    if (pattern === undefined || this.matches[index] === 1) return
    pattern.lastIndex = start
    if (pattern.test(this.text)) this.matches[index] = 1
  }
}

export type Wording = (text: WordedText) => boolean

/** Whether the text matches the pattern, which is in lower case. */
export function wording(pattern: RegExp): Wording {
  const openings = listOpenings(pattern)
  if (openings === null) return ({ text }) => pattern.test(text)
  const index = patterns.push(new RegExp(pattern.source, `${pattern.flags}y`)) - 1
  for (const place of new Set(openings.map(placeOfOpening))) {
    if ((listAt[place] ?? NO_LIST) <= PREFIX) listAt[place] = lists.push([]) - 1
    lists[listAt[place] ?? NO_LIST]?.push(index)
  }
  for (const opening of openings) noteTriples(opening)
  for (const place of openings.flatMap(listPrefixes).map(placeOfOpening))
    if (listAt[place] === NO_LIST) listAt[place] = PREFIX
  return (worded) => worded.hasMatch(index)
}

const OTHER = 0
const LETTER = 1
/** `\w` but for the letters. */
const WORD = 2
const SPACE = 3

/** The kind of each code unit. Those outside of ASCII are `OTHER`. */
const kinds = new Uint8Array(65_536)
for (let code = 0; code < 128; code += 1) kinds[code] = kindOf(String.fromCharCode(code))

function kindOf(character: string): number {
  if (/[a-z]/i.test(character)) return LETTER
  if (/[0-9_]/.test(character)) return WORD
  return character === ' ' ? SPACE : OTHER
}

/** 1 if a beginning may be there, by the kinds of the character before and of the character itself. */
const mayBegin = Uint8Array.from({ length: 16 }, (_, pair) => {
  const [before, kind] = [pair >> 2, pair & 3]
  return kind === SPACE || (before === LETTER && kind !== OTHER) ? 0 : 1
})

/** It is kept for texts of usual lengths. Each call overwrites it. */
const scratch = new Uint16Array(16_384)

/**
 * Places at which a beginning may be, valid until the next call. Units after the end may be those of an earlier text:
 * then a place is tried without a match.
 *
 * It works without branches: the processor cannot predict where words end, and a wrong guess costs as much as five
 * characters.
 */
function findStarts(units: Uint16Array, length: number): Uint16Array | Uint32Array {
  const starts = length <= scratch.length ? scratch : new Uint32Array(length)
  let [count, before] = [0, SPACE]
  for (let at = 0; at < length; at += 1) {
    const unit = units[at] ?? 0
    const kind = kinds[unit] ?? OTHER
    const triple = tripleOf(unit, units[at + 1] ?? 0, units[at + 2] ?? 0)
    starts[count] = at
    count += (mayBegin[(before << 2) | kind] ?? 0) & (triples[triple] ?? 0)
    before = kind
  }
  return starts.subarray(0, count)
}

function tripleOf(first: number, second: number, third: number): number {
  return ((first & 31) << 10) | ((second & 31) << 5) | (third & 31)
}

/** Notes the triple of an opening; if it is shorter, all triples that begin with it. */
function noteTriples(opening: string): void {
  const known = Math.min(opening.length, 3)
  const start = tripleOf(opening.charCodeAt(0), opening.charCodeAt(1), opening.charCodeAt(2))
  triples.fill(1, start, start + 32 ** (3 - known))
}

function listPrefixes(opening: string): readonly string[] {
  return Array.from({ length: opening.length - 1 }, (_, at) => opening.slice(0, at + 1))
}

function placeOfOpening(opening: string): number {
  let hash = 0
  for (let at = 0; at < opening.length; at += 1) hash = addToHash(hash, opening.charCodeAt(at))
  return placeOf(hash)
}

function addToHash(hash: number, code: number): number {
  return Math.imul(hash ^ code, 0x01000193)
}

function placeOf(hash: number): number {
  return (hash ^ (hash >>> 15)) & (TABLE_SIZE - 1)
}
