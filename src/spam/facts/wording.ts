/**
 * Patterns of wording, and the text that they are searched for in. There are dozens of patterns, and most of them begin
 * with words that a text does not have: one pass over the text notes the beginnings of its words, and a pattern whose
 * beginnings are not among them is not searched for.
 */
import { listOpenings, OPENING_LENGTH } from './pattern-openings.js'

/** Bits; two beginnings may share one, and then a pattern is searched for in vain. */
const BITS = 65_536

export class WordedText {
  /** Which beginnings of words, and of what follows signs, it has. */
  private readonly openings = new Uint8Array(BITS / 8)

  /** In lower case. */
  constructor(readonly text: string) {
    let wasWord = false
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at)
      const isWord = isWordCode(code)
      if (!(isWord && wasWord) && code !== SPACE) this.noteOpening(at)
      wasWord = isWord
    }
  }

  private noteOpening(start: number): void {
    const end = Math.min(start + OPENING_LENGTH, this.text.length)
    let hash = 0
    for (let at = start; at < end; at += 1) {
      hash = addToHash(hash, this.text.charCodeAt(at))
      const bit = bitOf(hash)
      this.openings[bit >>> 3] = (this.openings[bit >>> 3] ?? 0) | (1 << (bit & 7))
    }
  }

  hasOpening(bit: number): boolean {
    return ((this.openings[bit >>> 3] ?? 0) & (1 << (bit & 7))) !== 0
  }
}

export type Wording = (text: WordedText) => boolean

/** Whether the text matches the pattern, which is in lower case. */
export function wording(pattern: RegExp): Wording {
  const openings = listOpenings(pattern)
  if (openings === null) return ({ text }) => pattern.test(text)
  const bits = [...new Set(openings.map(openingBit))]
  return (worded) => bits.some((bit) => worded.hasOpening(bit)) && pattern.test(worded.text)
}

const SPACE = 0x20

/** As `\w`. */
function isWordCode(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x5a) || code === 0x5f
  )
}

function openingBit(opening: string): number {
  let hash = 0
  for (let at = 0; at < opening.length; at += 1) hash = addToHash(hash, opening.charCodeAt(at))
  return bitOf(hash)
}

function addToHash(hash: number, code: number): number {
  return Math.imul(hash ^ code, 0x01000193)
}

function bitOf(hash: number): number {
  return (hash ^ (hash >>> 15)) & (BITS - 1)
}
