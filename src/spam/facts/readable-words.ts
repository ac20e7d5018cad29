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
}

const SPACE = 0x20
/** Tab, LF, vertical tab, form feed, CR. */
const FIRST_BLANK = 0x09
const LAST_BLANK = 0x0d

/** Grows with the longest text; its content is of one call. */
let scratch = Buffer.allocUnsafeSlow(16_384)

export function readWordsOf(text: string): ReadableWords {
  const ascii = squeezeAscii(text)
  if (ascii !== null) return { words: ascii, isAscii: true }
  return { words: foldMixedWords(text).replace(/\s+/g, ' ').trim(), isAscii: false }
}

/** Null: it is not ASCII. */
function squeezeAscii(text: string): string | null {
  if (scratch.length < text.length) scratch = Buffer.allocUnsafeSlow(2 * text.length)
  const target = scratch
  const units = readCodeUnits(text)
  let length = 0
  let isAfterBlank = true
  for (let at = 0; at < text.length; at += 1) {
    const code = units[at] ?? 0
    if (code > 0x7f) return null
    const isBlank = code === SPACE || (code <= LAST_BLANK && code >= FIRST_BLANK)
    if (isBlank && isAfterBlank) continue
    target[length] = isBlank ? SPACE : code
    length += 1
    isAfterBlank = isBlank
  }
  return target.toString('latin1', 0, isAfterBlank && length > 0 ? length - 1 : length)
}
