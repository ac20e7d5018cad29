/**
 * Decodes the text of a body from its charset and encodes it back, where that is known to give the same bytes: UTF-8,
 * US-ASCII and charsets with one octet for each character. In charsets with several octets for each character, only
 * ASCII text.
 *
 * You may change the text between the two if you insert only ASCII.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import { decodeCharset, encodingOf, UNDECLARED } from '../../base/mail/charset.js'

interface BodyText {
  readonly text: string
  readonly encode: (text: string) => Buffer
}

const singleOctet = /^(?:ibm866|iso-8859-\d{1,2}(?:-i)?|koi8-[ru]|macintosh|windows-(?:874|125\d)|x-mac-cyrillic)$/
/** Charsets in which octets below 0x80 mean ASCII, unless they follow a lead octet. */
const asciiBased: ReadonlySet<string> = new Set(['big5', 'cp949', 'euc-jp', 'gb18030', 'gbk', 'shift_jis'])

const utf8 = (text: string): Buffer => Buffer.from(text)
const ascii = (text: string): Buffer => Buffer.from(text, 'latin1')

/** `charset` is the declared one, or empty. Returns null if the bytes are not valid in it, or cannot be encoded. */
export function decodeBody(bytes: Buffer, charset: string): BodyText | null {
  const label = charset.trim().toLowerCase()
  const encoding = label === '' ? UNDECLARED : encodingOf(label)
  if (encoding === null) return null
  const isSingle = singleOctet.test(encoding)
  const isKnown = isSingle || encoding === UNDECLARED || encoding === 'utf-8' || asciiBased.has(encoding)
  if (isKnown && isAscii(bytes)) return { text: bytes.toString('latin1'), encode: ascii }
  if (encoding === 'utf-8' || label === '') return isUtf8(bytes) ? { text: bytes.toString('utf8'), encode: utf8 } : null
  return isSingle ? decodeSingleOctets(bytes, encoding) : null
}

function decodeSingleOctets(bytes: Buffer, encoding: string): BodyText | null {
  const text = decodeCharset(bytes, encoding)
  const octets = octetsOf(encoding)
  if (text === null || !encodeSingleOctets(text, octets).equals(bytes)) return null
  return { text, encode: (changed) => encodeSingleOctets(changed, octets) }
}

/** The octet of each character. */
type OctetTable = ReadonlyMap<number, number>

const tables = new Map<string, OctetTable>()

function octetsOf(encoding: string): OctetTable {
  const known = tables.get(encoding)
  if (known !== undefined) return known
  const characters = decodeCharset(Buffer.from(Array.from({ length: 256 }, (_, octet) => octet)), encoding) ?? ''
  const table = new Map(Array.from(characters, (character, octet) => [character.charCodeAt(0), octet]))
  tables.set(encoding, table)
  return table
}

function encodeSingleOctets(text: string, octets: OctetTable): Buffer {
  const bytes = Buffer.allocUnsafe(text.length)
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    bytes[at] = code < 0x80 ? code : (octets.get(code) ?? 0)
  }
  return bytes
}
