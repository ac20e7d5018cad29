/**
 * Decodes the text of a report. Its charset is that of its byte order mark, of its first octets (UTF-16 without a
 * mark), of its XML declaration, or of its part, in this order (RFC 7303 section 3, but the part comes last, because
 * its charset is often wrong).
 *
 * A declaration that cannot be true has no effect: programs declare UTF-16 and write UTF-8. Text that is not valid
 * UTF-8 and has no other charset is windows-1252.
 */
import { isUtf8 } from 'node:buffer'
import { decodeCharset } from '../../../base/mail/charset.js'

const declaration = /^\s{0,20}<\?xml\s[^<>]{0,200}?encoding\s{0,10}=\s{0,10}["']([\w.:-]{1,40})["']/i
const unitsOfTwo = /^(?:utf-?16|utf-?32|ucs-?[24]|iso-10646-ucs-[24])/i
/** Octets that are searched for the declaration. */
const BEGINNING = 400

/** `partCharset` is the charset of the part if the report is not packed. Empty if there is none. */
export function readDocumentText(bytes: Buffer, partCharset = ''): string {
  const text = decodeUtf16(bytes) ?? decodeDeclared(bytes, partCharset) ?? decodePlain(bytes)
  return text.replace(/^\ufeff/, '')
}

/** Its first characters without blanks. */
export function readBeginning(bytes: Buffer): string {
  return readDocumentText(bytes.subarray(0, BEGINNING)).trimStart()
}

function decodeUtf16(bytes: Buffer): string | null {
  const [first, second] = [bytes[0], bytes[1]]
  if ((first === 0xff && second === 0xfe) || (isOpening(first) && second === 0)) return decodeCharset(bytes, 'utf-16le')
  if ((first === 0xfe && second === 0xff) || (first === 0 && isOpening(second))) return decodeCharset(bytes, 'utf-16be')
  return null
}

/** The beginning of a document in XML or in JSON. */
function isOpening(octet: number | undefined): boolean {
  return octet === 0x3c || octet === 0x7b
}

function decodeDeclared(bytes: Buffer, partCharset: string): string | null {
  const declared = declaration.exec(bytes.toString('latin1', 0, BEGINNING).replace(/^\xef\xbb\xbf/, ''))?.[1]
  const charset = declared ?? partCharset
  const isUsable = charset !== '' && !unitsOfTwo.test(charset) && !/^(?:utf-?8|us-ascii)$/i.test(charset)
  return isUsable ? decodeCharset(bytes, charset) : null
}

function decodePlain(bytes: Buffer): string {
  return isUtf8(bytes) ? bytes.toString('utf8') : (decodeCharset(bytes, 'windows-1252') ?? bytes.toString('latin1'))
}
