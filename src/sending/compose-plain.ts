/**
 * Composes a message of text, HTML or both, without files: most messages. nodemailer's tree of parts
 * (`compose-message.ts`) costs eight times as much, which would be the largest share of a REST request; tests compare
 * the results of both. The encodings are nodemailer's here too.
 */
import { hasLongerLines } from 'nodemailer/lib/mime-funcs'
import { encode as encodeQuoted, wrap as wrapQuoted } from 'nodemailer/lib/qp'
import { encodeBase64Lines } from '../mail/base64-lines.js'
import { formatMessageDate } from '../mail/message-date.js'

import { composeHeader } from './compose-header.js'
import type { MessageContent } from './message-content.js'

interface PlainMessage {
  /** Without a Message-ID in `fields`. */
  readonly content: MessageContent
  readonly messageId: string
  /** Lines end with CRLF; empty: no such part. */
  readonly text: string
  readonly html: string
  /** Must not be predictable for the client. */
  readonly boundary: string
  readonly now: number
}

const ascii = /^[\t\r\n\x20-\x7e]*$/

export function composePlain({ content, messageId, text, html, boundary, now }: PlainMessage): Buffer {
  const top = `${composeHeader(content)}Message-ID: ${messageId}\r\nDate: ${formatMessageDate(now)}\r\nMIME-Version: 1.0\r\n`
  if (html === '') return Buffer.from(`${top}${composePart('plain', text)}\r\n`)
  if (text === '') return Buffer.from(`${top}${composePart('html', html)}\r\n`)
  // No line of quoted-printable begins like this (RFC 2045 section 6.7).
  const line = `--=_${boundary}`
  return Buffer.from(
    `${top}Content-Type: multipart/alternative;\r\n boundary="=_${boundary}"\r\n\r\n` +
      `${line}\r\n${composePart('plain', text)}\r\n${line}\r\n${composePart('html', html)}\r\n${line}--\r\n`,
  )
}

function composePart(subtype: 'plain' | 'html', text: string): string {
  const encoding = chooseEncoding(text)
  const header = `Content-Type: text/${subtype}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n`
  switch (encoding) {
    case '7bit':
      return header + text
    case 'quoted-printable':
      return header + wrapQuoted(toQuotedPrintable(text))
    case 'base64':
      return header + encodeBase64Lines(Buffer.from(text)).toString('latin1')
  }
}

/** Plain ASCII needs few escapes (RFC 2045 section 6.7); encoding it byte by byte takes ten times as long. */
export function toQuotedPrintable(text: string): string {
  if (!ascii.test(text)) return encodeQuoted(text)
  return text.replaceAll('=', '=3D').replace(/[\t ](?=[\r\n]|$)/g, (blank) => (blank === ' ' ? '=20' : '=09'))
}

/** Quoted-printable keeps text readable while most of it is ASCII. */
function chooseEncoding(text: string): '7bit' | 'quoted-printable' | 'base64' {
  if (ascii.test(text)) return hasLongerLines(text, 76) ? 'quoted-printable' : '7bit'
  const escaped = text.replace(/[\t\r\n\x20-\x7e]+/g, '').length
  return escaped * 3 > text.length ? 'base64' : 'quoted-printable'
}
