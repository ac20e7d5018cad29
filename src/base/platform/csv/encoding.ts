/**
 * Finds the encoding of a text file: UTF-8, UTF-16 by its byte order mark, or Windows-1252, in which spreadsheet programs
 * in Europe save CSV.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { TextDecoder } from 'node:util'

export type TextEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252'

/** Bytes that are decoded in one turn of the event loop, in less than a millisecond. */
const STEP = 65_536

export const REPLACEMENT_CHARACTER = '\ufffd'

/** The encoding that the byte order mark says. Without one it is UTF-8. */
export function encodingOfMark(bytes: Buffer): TextEncoding {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8'
}

/**
 * A file that is not UTF-8 is Windows-1252, unless more of its characters are valid UTF-8 than not: such a file is UTF-8
 * with some damaged characters.
 */
export async function detectEncoding(file: Buffer): Promise<TextEncoding> {
  const marked = encodingOfMark(file)
  if (marked !== 'utf-8' || (await isUtf8InSteps(file))) return marked
  const { valid, invalid } = await countCharacters(file)
  return valid > invalid ? 'utf-8' : 'windows-1252'
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
