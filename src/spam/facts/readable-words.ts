/**
 * The words of a text as people see them: letters that pretend to be others are folded, a run of blanks is one blank.
 *
 * Text in ASCII, which most is, has nothing to fold: one pass over it does the rest. Linear.
 */
import { readCodeUnits } from '../../platform/code-units.js'
import { foldMixedWords } from './script-facts.js'

export interface ReadableWords {
  readonly words: string
  /** The text that they were made of is ASCII alone. */
  readonly isAscii: boolean
  /** The text has at most so many capitals of ASCII, and so many of the signs `*`, `_` and `.`. */
  readonly capitals: number
  readonly dots: number
}

const SPACE = 0x20

const BLANK = 1
const CAPITAL = 2
const DOT = 3
/** By code of ASCII; 0: any other. */
const kinds = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code)
  if (/\s/.test(character)) return BLANK
  if (/[A-Z]/.test(character)) return CAPITAL
  return /[*_.]/.test(character) ? DOT : 0
})

/** Grows with the longest text; its content is of one call. */
let scratch = Buffer.allocUnsafeSlow(16_384)

export function readWordsOf(text: string): ReadableWords {
  const ascii = squeezeAscii(text)
  if (ascii !== null) return ascii
  const words = foldMixedWords(text).replace(/\s+/g, ' ').trim()
  return { words, isAscii: false, capitals: text.length, dots: text.length }
}

/** Null: it is not ASCII. */
function squeezeAscii(text: string): ReadableWords | null {
  if (scratch.length < text.length) scratch = Buffer.allocUnsafeSlow(2 * text.length)
  const target = scratch
  const units = readCodeUnits(text)
  let length = 0
  let capitals = 0
  let dots = 0
  let isAfterBlank = true
  for (let at = 0; at < text.length; at += 1) {
    const code = units[at] ?? 0
    if (code > 0x7f) return null
    const kind = kinds[code]
    const isBlank = kind === BLANK
    if (isBlank && isAfterBlank) continue
    if (kind === CAPITAL) capitals += 1
    else if (kind === DOT) dots += 1
    target[length] = isBlank ? SPACE : code
    length += 1
    isAfterBlank = isBlank
  }
  const words = target.toString('latin1', 0, isAfterBlank && length > 0 ? length - 1 : length)
  return { words, isAscii: true, capitals, dots }
}
