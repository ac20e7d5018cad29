/**
 * Composes the header fields of a message: addresses, subject and the client's own fields.
 *
 * Text that is not plain ASCII becomes encoded words (RFC 2047); only local parts stay UTF-8 (RFC 6532). Text that
 * looks like an encoded word is encoded too, so that readers see what the client wrote. Lines are folded at 76 octets
 * where there is a blank, but never into a line of only blanks, which some readers take for the end of the header.
 */
import { encodeWord, quoteString } from 'nodemailer/lib/mime-funcs'
import type { NamedAddress } from '../../base/mail/named-address.js'
import type { MessageContent } from './message-content.js'
import { readStructuredValue, type ValuePiece } from './structured-fields.js'

const MAX_LINE_LENGTH = 76
/** The most characters of an encoded word. They leave room for the field's name on the first line. */
const MAX_WORD_LENGTH = 52

/** Each line ends with CRLF. */
export function composeHeader(content: MessageContent): string {
  const { from, to, cc, replyTo, subject, fields } = content
  const lines = [
    composeMailboxes('From', [from]),
    composeMailboxes('To', to),
    composeMailboxes('Cc', cc),
    composeMailboxes('Reply-To', replyTo),
    composeSubject(subject),
    ...fields.map(({ name, value }) => formatField(name, formatCustomValue(name, value))),
  ]
  return lines.join('')
}

/** Composes the Subject field. `subject` is one line. */
export function composeSubject(subject: string): string {
  return formatField('Subject', formatUnstructured(subject))
}

/** Composes a field of addresses. Empty if there are none. */
export function composeMailboxes(name: string, list: readonly NamedAddress[]): string {
  return list.length === 0 ? '' : formatField(name, list.map(formatMailbox).join(', '))
}

function formatMailbox({ address, name }: NamedAddress): string {
  if (name !== '') return `${formatPhrase(name)} <${address}>`
  return address.startsWith('"') ? `<${address}>` : address
}

function formatPhrase(name: string): string {
  if (/^\w+(?: \w+)*$/.test(name) && name.length <= MAX_WORD_LENGTH) return name
  return isPlain(name) ? quoteString(name) : toEncodedWords(name)
}

/** Formats unstructured text (RFC 5322 section 2.2.1). Encoding keeps blanks at the ends and runs of blanks. */
function formatUnstructured(text: string): string {
  return isPlain(text) && !/^ | $| {2}/.test(text) ? text : toEncodedWords(text)
}

/** Formats a value that the client may have encoded itself. */
function formatCustomValue(name: string, value: string): string {
  if (/^[\t\x20-\x7e]*$/.test(value)) return value.trim()
  const pieces = readStructuredValue(name, value)
  // A string reports a fault. No request with a fault comes this far.
  return pieces === null || typeof pieces === 'string' ? toEncodedWords(value) : pieces.map(formatPiece).join('')
}

function formatPiece({ kind, text }: ValuePiece): string {
  if (kind === 'plain') return text
  return kind === 'phrase' ? formatPhrase(text) : formatUnstructured(text)
}

/** Tells whether text is printable ASCII in pieces that can be folded and do not look like an encoded word. */
function isPlain(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text) && !text.includes('=?') && !/\S{61}/.test(text)
}

function toEncodedWords(text: string): string {
  return encodeWord(text, isMostlyAscii(text) ? 'Q' : 'B', MAX_WORD_LENGTH)
}

/** Tells whether at most a third of the characters must be escaped. Then Q is shorter than base64, and readable. */
function isMostlyAscii(text: string): boolean {
  let escaped = 0
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) > 0x7e) escaped += 1
  return escaped * 3 <= text.length
}

function formatField(name: string, value: string): string {
  const line = `${name}: ${value}`
  return `${line.length <= MAX_LINE_LENGTH ? line : foldField(name, value)}\r\n`
}

/** Folds a field. The first word stays on the line of the name; blanks move to the next line with their word. */
function foldField(name: string, value: string): string {
  let text = `${name}:`
  let width = text.length
  for (const [piece, word] of ` ${value}`.matchAll(/[ \t]+([^ \t]*)/g)) {
    if (word === '') break
    if (width + piece.length > MAX_LINE_LENGTH && text.length > name.length + 1) {
      text += '\r\n'
      width = 0
    }
    text += piece
    width += piece.length
  }
  return text
}
