/**
 * The words of a text as people see them: letters that pretend to be others are folded, a run of blanks is one blank.
 *
 * Text in ASCII, which most is, has nothing to fold: one pass over it does the rest. Linear.
 */
import { readCodeUnits } from '../../../base/platform/code-units.js'
import { foldMixedWords } from './script-facts.js'

interface ReadableWords {
  readonly words: string
  /** True only if the text that the words were made of is ASCII. */
  readonly isAscii: boolean
  /** An upper bound of the ASCII capitals, and one of the signs `*`, `_` and `.`, in the text and in `words`. */
  readonly capitals: number
  readonly dots: number
}

const SPACE = 0x20

const BLANK = 1
const CAPITAL = 2
const DOT = 4
/** One of these bits, or none, for each ASCII code. */
const kinds = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code)
  if (/\s/.test(character)) return BLANK
  if (/[A-Z]/.test(character)) return CAPITAL
  return /[*_.]/.test(character) ? DOT : 0
})
/** The character for each ASCII code: itself, or a space for any blank. */
const shown = Uint8Array.from({ length: 128 }, (_, code) => (kinds[code] === BLANK ? SPACE : code))

/** Longer texts are read as those that are not ASCII. */
const MAX_ASCII = 131_072
/** Its content is valid during one call. */
const scratch = Buffer.allocUnsafeSlow(MAX_ASCII)

export function readWordsOf(text: string): ReadableWords {
  const ascii = squeezeAscii(text)
  if (ascii !== null) return ascii
  const words = foldMixedWords(text).replace(/\s+/g, ' ').trim()
  return { words, isAscii: false, capitals: Number.POSITIVE_INFINITY, dots: Number.POSITIVE_INFINITY }
}

/**
 * Null if it is not ASCII, or too long. It works without branches: the processor cannot predict where words end, and a
 * wrong guess costs as much as five characters.
 */
function squeezeAscii(text: string): ReadableWords | null {
  const { length } = text
  if (length > MAX_ASCII) return null
  const units = readCodeUnits(text)
  let [size, capitals, dots, seen, last] = [0, 0, 0, 0, BLANK]
  for (let at = 0; at < length; at += 1) {
    const unit = units[at] ?? 0
    const code = unit & 0x7f
    const kind = kinds[code] ?? 0
    seen |= unit
    scratch[size] = shown[code] ?? 0
    size += 1 - (kind & last & BLANK)
    capitals += (kind & CAPITAL) >> 1
    dots += kind >> 2
    last = kind
  }
  if (seen > 0x7f) return null
  const words = scratch.toString('latin1', 0, last === BLANK && size > 0 ? size - 1 : size)
  return { words, isAscii: true, capitals, dots }
}
