/**
 * Finds the encoding of a text file: UTF-8, UTF-16 by its byte order mark, or Windows-1252, in which spreadsheet programs
 * in Europe save CSV.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { TextDecoder } from 'node:util'
import { isLikelyWindows1252 } from './windows-1252.js'

/** The encodings that a request can state. Only the first four are detected. */
export const textEncodings = [
  ...(['utf-8', 'utf-16le', 'utf-16be', 'windows-1252'] as const),
  ...(['windows-1250', 'windows-1251', 'windows-1253', 'windows-1254', 'macintosh', 'koi8-r'] as const),
  ...(['shift_jis', 'gb18030', 'big5', 'euc-kr'] as const),
] as const

export type TextEncoding = (typeof textEncodings)[number]

/** Bytes that are decoded in one turn of the event loop, in less than a millisecond. */
const STEP = 65_536

export const REPLACEMENT_CHARACTER = '\ufffd'

/** Says what to do about a cell with a replacement character, as the predicate of a sentence. */
export const UNREADABLE =
  'cannot be read in this encoding: save the file as CSV UTF-8, or state its encoding, such as windows-1251'

/** The encoding that the byte order mark says. Without one it is UTF-8. */
export function encodingOfMark(bytes: Buffer): TextEncoding {
  return findMark(bytes) ?? 'utf-8'
}

function findMark(bytes: Buffer): TextEncoding | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8'
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : null
}

/**
 * A file without a mark that is not UTF-8 is Windows-1252 if it looks like it, unless more of its characters are valid
 * UTF-8 than not: such a file is UTF-8 with some damaged characters. A file that is neither is UTF-8 too, and so the
 * lines that cannot be read are refused.
 */
export async function detectEncoding(file: Buffer): Promise<TextEncoding> {
  const marked = findMark(file)
  if (marked !== null) return marked
  if (await isUtf8InSteps(file)) return 'utf-8'
  const { valid, invalid } = await countCharacters(file)
  return valid <= invalid && (await isLikelyWindows1252(file)) ? 'windows-1252' : 'utf-8'
}

async function isUtf8InSteps(file: Buffer): Promise<boolean> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    for (let at = 0; at < file.length; at += STEP) {
      decoder.decode(file.subarray(at, at + STEP), { stream: true })
      await nextTurn()
    }
    decoder.decode()
    return true
  } catch {
    return false
  }
}

/** Counts the characters beyond ASCII, and the bytes that are none. */
async function countCharacters(file: Buffer): Promise<{ readonly valid: number; readonly invalid: number }> {
  const decoder = new TextDecoder('utf-8')
  let [valid, invalid] = [0, 0]
  for (let at = 0; at < file.length; at += STEP) {
    for (const character of decoder.decode(file.subarray(at, at + STEP), { stream: true })) {
      if (character === REPLACEMENT_CHARACTER) invalid += 1
      else if (character > '\u007f') valid += 1
    }
    await nextTurn()
  }
  return { valid, invalid }
}
