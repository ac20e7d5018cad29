/**
 * Decodes header values for people: RFC 2047 encoded words.
 *
 * For display and records only; sent messages keep their bytes. The result has no control characters and no lone
 * surrogates, so it may go into JSON, logs and lists.
 *
 * More tolerant than section 6: words are decoded anywhere (also inside quoted strings), a character may be split over
 * adjacent words of one charset, and a Q word may hold blanks and octets that should have been escaped. A stateful
 * charset (ISO-2022-JP) restarts in each word (section 3), so its words are never joined. A word of an unknown charset
 * stays as it is.
 *
 * Limits: the result has at most 2,000 characters, or the given maximum; only the first 32,000 characters of a value
 * are read, and only its first 500 encoded words are decoded.
 */
import { isUtf8 } from 'node:buffer'
import { decodeCharset, encodingOf, isStateful, UNDECLARED } from './charset.js'

const MAX_TEXT_LENGTH = 2000
/** Characters of a value that are read. A character has up to four encoded bytes, each of them escaped. */
const MAX_SOURCE_LENGTH = 32_000
/**
 * Words that are decoded. Each costs some microseconds, however short it is. 2,000 characters need 150 of usual length.
 */
const MAX_WORDS = 500

/** `=?charset*language?B?payload?=` */
const encodedWord = /=\?([\w.:+$-]{1,40})(?:\*[\w-]{0,20})?\?([bq])\?([^?\r\n]{0,2000})\?=/gi
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to remove
const controlCharacters = /[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g

interface EncodedWord {
  /** The name that `encodingOf` gives. */
  readonly encoding: string
  readonly bytes: Buffer
}

/** `value` (unfolded) with its encoded words decoded. */
export function decodeHeaderText(value: string, maxLength: number = MAX_TEXT_LENGTH): string {
  const source = value.slice(0, MAX_SOURCE_LENGTH)
  const text = source.includes('=?') ? decodeWords(source) : source
  return truncate(text.replace(controlCharacters, ' ').trim(), maxLength)
}

function decodeWords(value: string): string {
  let text = ''
  let at = 0
  let run: EncodedWord[] = []
  let words = 0
  for (const match of value.matchAll(encodedWord)) {
    const between = value.slice(at, match.index)
    // Blanks between two words belong to their encoding (RFC 2047 section 6.2).
    const adjacent = run.length > 0 && between.trim() === ''
    words += 1
    if (words > MAX_WORDS) break
    const word = decodeWord(match)
    if (word === null) continue
    if (!adjacent || run[0]?.encoding !== word.encoding || isStateful(word.encoding)) {
      text += decodeWordRun(run)
      run = []
    }
    if (!adjacent) text += between
    run.push(word)
    at = match.index + match[0].length
  }
  return text + decodeWordRun(run) + value.slice(at)
}

function decodeWord([, charset = '', encoding = '', payload = '']: RegExpExecArray): EncodedWord | null {
  const known = encodingOf(charset)
  if (known === null) return null
  return encoding.toLowerCase() === 'b'
    ? { encoding: known, bytes: Buffer.from(payload, 'base64') }
    : decodeQWord(payload, known)
}

/** Text of a parameter in percent encoding (RFC 2231). */
export function decodeParameterText(text: string, charset: string): string {
  const word = text.replace(/[=_]/g, (sign) => (sign === '=' ? '=3D' : '=5F')).replace(/%(?=[\da-f]{2})/gi, '=')
  const { encoding, bytes } = decodeQWord(word, encodingOf(charset) ?? UNDECLARED)
  return decodeCharset(bytes, encoding) ?? ''
}

function decodeWordRun(run: readonly EncodedWord[]): string {
  const [first] = run
  if (first === undefined) return ''
  return decodeCharset(Buffer.concat(run.map((word) => word.bytes)), first.encoding) ?? ''
}

/**
 * RFC 2047 section 4.2: `_` is a space, `=XX` an octet. Other octets are forbidden but common. If the field is
 * not UTF-8, it was read as one character for each octet, so they are octets of the word's charset; if it is
 * UTF-8, they are characters already.
 */
function decodeQWord(payload: string, encoding: string): EncodedWord {
  const text = payload.replaceAll('_', ' ')
  if (!nonLatin1.test(text)) {
    const bytes = unescapeOctets(text)
    if (encoding !== 'utf-8' || isUtf8(bytes)) return { encoding, bytes }
  }
  if (encoding === 'utf-8') return { encoding, bytes: unescapeOctets(Buffer.from(text).toString('latin1')) }
  const decoded = text.replace(asciiRun, (escaped) => decodeCharset(unescapeOctets(escaped), encoding) ?? '')
  return { encoding: 'utf-8', bytes: Buffer.from(decoded) }
}

const nonLatin1 = /[^\0-\xff]/
const asciiRun = /[\0-\x7f]+/g

/** `text` has one character for each octet. */
function unescapeOctets(text: string): Buffer {
  const octets = text.replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(octets, 'latin1')
}

/** Returns at most `maxLength` characters, without a lone surrogate at the end. */
function truncate(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  const last = text.charCodeAt(maxLength - 1)
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? maxLength - 1 : maxLength)
}
