/**
 * Composes the mail of a notice: text, and the same in simple HTML.
 *
 * It is mail of the service, from `service.mail_from`: charged to no workspace, signed with the service's key, sent
 * from the null return path, and marked as automatic (RFC 3834), so that it gets no automatic reply.
 */
import type { Address } from '../../base/mail/address.js'
import { html, type Markup } from '../../base/mail/markup.js'
import { createMessageId } from '../../base/mail/message-id.js'
import { toOneLine } from '../../base/mail/printable.js'
import { uuidv7 } from '../../base/platform/ids.js'
import { composeMessage } from '../../outbound/sending/compose-message.js'
import { enqueueServiceEmail, type ServiceNotice, type ServiceSender } from '../../records/messages/service-email.js'

/** A paragraph, a link, or a list of lines. */
export type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'link'; readonly url: string; readonly label: string }
  | { readonly kind: 'list'; readonly lines: readonly string[] }

export interface NoticeMail {
  readonly to: Address
  readonly subject: string
  readonly pieces: readonly Piece[]
  /** True if a link in it gives access to anyone who has it. Absent if not. */
  readonly givesAccess?: boolean
}

export function composeNotice({ hostname, mailFrom }: ServiceSender, mail: NoticeMail, now: number): ServiceNotice {
  const id = uuidv7(now)
  const { to, pieces, givesAccess = false } = mail
  const subject = toOneLine(mail.subject)
  const { raw } = composeMessage(
    {
      from: { address: mailFrom, name: 'Posthorn' },
      to: [{ address: to, name: '' }],
      cc: [],
      bcc: [],
      replyTo: [],
      subject,
      text: renderText(pieces),
      html: renderHtml(pieces).text,
      fields: [{ name: 'Auto-Submitted', value: 'auto-generated' }],
      attachments: [],
      inlineImages: [],
    },
    { emailId: id, hostname, now },
  )
  const messageId = createMessageId(id, hostname)
  return enqueueServiceEmail({ id, messageId, from: mailFrom, to, subject, now, givesAccess }, raw)
}

const MAX_NAME_LENGTH = 60

/**
 * A name that users chose, in quotes: letters, digits, blanks and a few signs. Mail programs turn none of these into a
 * link. Null if nothing is left.
 */
export function quoteName(text: string): string | null {
  const words = text.normalize('NFC').replace(/[^\p{L}\p{M}\p{N}&'’,_-]+/gu, ' ')
  const name = [...words.trim()].slice(0, MAX_NAME_LENGTH).join('').trim()
  return name === '' ? null : `"${name}"`
}

function renderText(pieces: readonly Piece[]): string {
  return `${pieces.map(renderTextPiece).join('\n\n')}\n`
}

function renderTextPiece(piece: Piece): string {
  switch (piece.kind) {
    case 'text':
      return piece.text
    case 'link':
      return piece.url
    case 'list':
      return piece.lines.map((line) => `  ${line}`).join('\n')
  }
}

function renderHtml(pieces: readonly Piece[]): Markup {
  return html`<!doctype html>
<html lang="en"><body style="font: 16px/1.5 sans-serif; max-width: 34em">
${pieces.map(renderHtmlPiece)}</body></html>
`
}

function renderHtmlPiece(piece: Piece): Markup {
  switch (piece.kind) {
    case 'text':
      return html`<p>${piece.text}</p>\n`
    case 'link':
      return html`<p><a href="${piece.url}">${piece.label}</a></p>\n`
    case 'list':
      return html`<ul>${piece.lines.map((line) => html`<li><code>${line}</code></li>`)}</ul>\n`
  }
}

/** The time as text, such as `2026-11-29 14:05 UTC`. */
export function formatTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
