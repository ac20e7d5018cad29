/** Decodes the text of a part from its octets: its charset, and flowed lines (RFC 3676). Lines end with LF. */
import { decodeCharset, UNDECLARED } from '../../../../base/mail/charset.js'
import type { DeclaredContent } from './declared-content.js'

/** Decodes text. An unknown charset is treated as if none were declared. */
export function decodeText(octets: Buffer, content: DeclaredContent): string {
  const isFlowed = content.parameter('format').trim().toLowerCase() === 'flowed'
  const joined = isFlowed ? joinFlowedLines(octets, content.parameter('delsp').trim().toLowerCase() === 'yes') : octets
  const charset = content.parameter('charset') || UNDECLARED
  const text = /^utf-?8$/i.test(charset) ? joined.toString() : decodeCharset(joined, charset)
  return (text ?? decodeCharset(joined, UNDECLARED) ?? '').replaceAll('\r\n', '\n')
}

/**
 * Joins flowed lines (RFC 3676 sections 4.1 to 4.4): a line that ends with a blank continues, except the one before a
 * signature. If `dropsBlanks`, that blank is no part of the text.
 */
function joinFlowedLines(octets: Buffer, dropsBlanks: boolean): Buffer {
  const lines = octets.toString('latin1').split(/\r?\n/)
  // Nothing follows the last line end, not even an empty line.
  if (lines.at(-1) === '' && !lines.at(-2)?.endsWith(' ')) lines.pop()
  let goesOn = false
  const pieces = lines.flatMap((line, index) => {
    const before = goesOn ? [] : [index === 0 ? '' : '\n']
    const isSignature = !goesOn && line === '-- '
    const text = goesOn || !line.startsWith(' ') ? line : line.slice(1)
    goesOn = line.endsWith(' ') && !isSignature
    const isLast = index === lines.length - 1
    return [...before, goesOn && dropsBlanks && !isLast ? text.slice(0, -1) : text]
  })
  return Buffer.from(pieces.join(''), 'latin1')
}
