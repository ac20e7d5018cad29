/**
 * A message of text, HTML or both and nothing else: most mail, so it is written straight
 * out. The general way through nodemailer's tree of parts (`compose-message.ts`) costs
 * eight times as much, and would be the largest part of a request of the REST door; tests
 * hold the two against each other. Encodings are nodemailer's here too.
 */
import { hasLongerLines } from 'nodemailer/lib/mime-funcs'
import { encode as encodeQuoted, wrap as wrapQuoted } from 'nodemailer/lib/qp'
import { formatMessageDate } from '../mail/message-date.js'
import { encodeBase64Lines } from './base64-lines.js'
import { composeHeader } from './compose-header.js'
import type { MessageContent } from './message-content.js'

export interface PlainMessage {
  /** Its `fields` without a Message-ID. */
  readonly content: MessageContent
  readonly messageId: string
  /** Lines end with CRLF; empty: no such part. */
  readonly text: string
  readonly html: string
  /** What nobody can know before. */
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

/** In plain ASCII there is little to encode (RFC 2045 section 6.7): looking at each byte would take ten times as long. */
export function toQuotedPrintable(text: string): string {
  if (!ascii.test(text)) return encodeQuoted(text)
  return text.replaceAll('=', '=3D').replace(/[\t ](?=[\r\n]|$)/g, (blank) => (blank === ' ' ? '=20' : '=09'))
}

/** Quoted-printable keeps text readable while most of it is ASCII. */
function chooseEncoding(text: string): '7bit' | 'quoted-printable' | 'base64' {
  if (ascii.test(text)) return hasLongerLines(text, 76) ? 'quoted-printable' : '7bit'
  const odd = text.replace(/[\t\r\n\x20-\x7e]+/g, '').length
  return odd * 3 > text.length ? 'base64' : 'quoted-printable'
}
