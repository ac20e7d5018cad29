/**
 * Encodes the value of one slot of a frame, in the form that its place needs.
 *
 * Never change an encoding that exists: a message is built again for each attempt, and its stored DKIM signature covers
 * the bytes of the first attempt. A new form is a new encoding.
 *
 * Quoted-printable ends at the start of a line, by the line end of the value or a soft line break.
 */
import { escapeHtml } from '../../../base/mail/markup.js'
import { encodeQuotedPrintable } from '../../../base/mail/quoted-printable.js'

export const slotEncodings = ['verbatim', 'quoted-printable-text', 'quoted-printable-html'] as const

/** `quoted-printable-html` escapes the value for elements and quoted attributes. */
export type SlotEncoding = (typeof slotEncodings)[number]

export const SOFT_BREAK = '=\r\n'
const softBreak = Buffer.from(SOFT_BREAK)

const plainText = /^[\x20-\x3c\x3e-\x7e]{0,75}$/
const plainHtml = /^[\x20\x21\x23-\x25\x28-\x3b?-\x7e]{0,75}$/

export function encodeSlot(value: string, encoding: SlotEncoding): Buffer {
  if (encoding === 'verbatim') return Buffer.from(value)
  const isHtml = encoding === 'quoted-printable-html'
  if (value === '') return Buffer.alloc(0)
  if ((isHtml ? plainHtml : plainText).test(value)) return Buffer.from(value + SOFT_BREAK, 'latin1')
  const text = isHtml ? escapeHtml(value) : value
  return encodeFullLines(text.replace(/\r\n|\r|\n/g, '\r\n'))
}

/** Encodes text whose line ends are CRLF, in quoted-printable that ends at the start of a line. */
export function encodeFullLines(text: string): Buffer {
  if (text === '' || text.endsWith('\r\n')) return encodeQuotedPrintable(Buffer.from(text))
  return Buffer.concat([encodeQuotedPrintable(Buffer.from(text), true), softBreak])
}
