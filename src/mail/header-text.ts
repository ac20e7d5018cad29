/**
 * Header values as people read them: RFC 2047 encoded words decoded.
 *
 * For display and records alone; what is sent keeps its bytes. The result holds no
 * control characters and no lone surrogates, so it may go into JSON, logs and lists.
 *
 * More tolerant than section 6: words are decoded wherever they stand (also inside
 * quoted strings), a character may be split over adjacent words of one charset, and
 * a Q word may hold blanks and octets that should have been escaped. A charset with states
 * (ISO-2022-JP) begins anew in each word (section 3), so its words are never joined. An
 * unknown charset leaves the word as it is. Charsets are those of `charset.ts`.
 *
 * Limit: 2,000 characters are kept, or as many as are asked for; of an encoded value no more
 * than is in its first 32,000.
 */
import { isUtf8 } from 'node:buffer'
import { decodedCharset, encodingOf, hasStates } from './charset.js'

const MAX_TEXT = 2000
/** Longest piece of a value that is looked at: four encoded bytes a character, all of them escaped. */
const MAX_SOURCE = 32_000

/** `=?charset*language?B?payload?=` */
const encodedWord = /=\?([\w.:+-]{1,40})(?:\*[\w-]{0,20})?\?([bq])\?([^?\r\n]{0,2000})\?=/gi
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
const control = /[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g

interface Word {
  /** As `encodingOf` names it. */
  readonly encoding: string
  readonly bytes: Buffer
}

/** `value` (unfolded) with its encoded words decoded. */
export function headerText(value: string, most: number = MAX_TEXT): string {
  const source = value.slice(0, MAX_SOURCE)
  const text = source.includes('=?') ? decodeWords(source) : source
  return cut(text.replace(control, ' ').trim(), most)
}

function decodeWords(value: string): string {
  let text = ''
  let at = 0
  let run: Word[] = []
  for (const match of value.matchAll(encodedWord)) {
    const between = value.slice(at, match.index)
    // Blanks between two words belong to their encoding (RFC 2047 section 6.2).
    const adjacent = run.length > 0 && between.trim() === ''
    const word = wordOf(match)
    if (word === null) continue
    if (!adjacent || run[0]?.encoding !== word.encoding || hasStates(word.encoding)) {
      text += decodeRun(run)
      run = []
    }
    if (!adjacent) text += between
    run.push(word)
    at = match.index + match[0].length
  }
  return text + decodeRun(run) + value.slice(at)
}

function wordOf([, charset = '', encoding = '', payload = '']: RegExpExecArray): Word | null {
  const known = encodingOf(charset)
  if (known === null) return null
  return encoding.toLowerCase() === 'b'
    ? { encoding: known, bytes: Buffer.from(payload, 'base64') }
    : qWord(payload, known)
}

function decodeRun(run: readonly Word[]): string {
  const [first] = run
  if (first === undefined) return ''
  return decodedCharset(Buffer.concat(run.map((word) => word.bytes)), first.encoding) ?? ''
}

/**
 * RFC 2047 section 4.2: `_` is a space, `=XX` an octet. Other octets are forbidden there and common. A field that
 * is no UTF-8 was read an octet a character: they are octets of the word's charset. Of a field that is UTF-8
 * they are characters already.
 */
function qWord(payload: string, encoding: string): Word {
  const text = payload.replaceAll('_', ' ')
  if (!beyondOctets.test(text)) {
    const bytes = unescaped(text)
    if (encoding !== 'utf-8' || isUtf8(bytes)) return { encoding, bytes }
  }
  if (encoding === 'utf-8') return { encoding, bytes: unescaped(Buffer.from(text).toString('latin1')) }
  const decoded = text.replace(ascii, (escaped) => decodedCharset(unescaped(escaped), encoding) ?? '')
  return { encoding: 'utf-8', bytes: Buffer.from(decoded) }
}

const beyondOctets = /[^\0-\xff]/
const ascii = /[\0-\x7f]+/g

/** `text`: an octet a character. */
function unescaped(text: string): Buffer {
  const octets = text.replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(octets, 'latin1')
}

/** At most `most` characters, no half of a surrogate pair at the end. */
function cut(text: string, most: number): string {
  if (text.length <= most) return text
  const last = text.charCodeAt(most - 1)
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? most - 1 : most)
}
