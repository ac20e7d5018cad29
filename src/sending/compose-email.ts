/**
 * From an API request to a prepared email: composes the message, then prepares it as a message submitted by SMTP is.
 */
import type { Principal } from '../accounts/principal.js'
import { scanHeader } from '../mail/header-fields.js'
import { Refusal } from '../mail/refusal.js'
import { uuidv7 } from '../platform/ids.js'
import { composeMessage } from './compose-message.js'
import type { MessageContent } from './message-content.js'
import type { PreparedEmail, PrepareEmail } from './prepare-email.js'
import type { SendingOptions } from './submitted-message.js'

/** 15 MB: header, bodies, images and attachments, encoded. */
const MAX_COMPOSED = 15 * 1_048_576

export interface RequestedEmail {
  readonly content: MessageContent
  readonly options: SendingOptions
  /** The template that subject and bodies are made from. */
  readonly templateId: string | null
  /** One id for each recipient of To, Cc and Bcc, in this order; empty: the content mentions none of them. */
  readonly recipientIds: readonly string[]
}

interface ComposeDeps {
  readonly hostname: string
  readonly prepare: PrepareEmail
}

/** Throws a Refusal if the email may not be sent. */
export type ComposeEmail = (principal: Principal, requested: RequestedEmail, now: number) => PreparedEmail

export function composeEmail({ hostname, prepare }: ComposeDeps): ComposeEmail {
  return (principal, { content, options, templateId, recipientIds }, now) => {
    checkSize(minSizeOf(content))
    const emailId = uuidv7(now)
    const raw = composeMessage(content, { emailId, hostname, now })
    checkSize(raw.length)
    const recipients = [...content.to, ...content.cc, ...content.bcc]
    const message = {
      // Clients of the API learn of bounces by events, not by a DSN.
      envelopeFrom: '' as const,
      envid: null,
      ret: null,
      recipients: recipients.map(({ address }, index) => ({
        address,
        notify: null,
        orcpt: null,
        id: recipientIds[index],
      })),
      smtputf8: true,
      raw,
      protocol: 'HTTPS',
    }
    const { from, to, cc, replyTo, subject } = content
    const summary = { from: [from] as const, to, cc, replyTo, subject }
    const submission = { emailId, source: 'rest' as const, message, header: scanHeader(raw), summary, options, now }
    return prepare(principal, { ...submission, templateId })
  }
}

/** Throws a Refusal `too-large`. `size`: bytes of the message, or the part that is known so far. */
export function checkSize(size: number): void {
  if (size <= MAX_COMPOSED) return
  const message = `the composed message has ${size} bytes or more, allowed: ${MAX_COMPOSED}`
  throw new Refusal('too-large', message, { size, limit: MAX_COMPOSED })
}

/** A lower bound of the composed size, so that content that is too large is refused before it is encoded. */
export function minSizeOf({ html, text, attachments, inlineImages }: MessageContent): number {
  const files = [...attachments, ...inlineImages].reduce((sum, { content }) => sum + content.length, 0)
  return Buffer.byteLength(html ?? '') + Buffer.byteLength(text ?? '') + base64SizeOf(files)
}

/** The length of `bytes` bytes in base64, without line ends. */
export function base64SizeOf(bytes: number): number {
  return Math.ceil(bytes / 3) * 4
}
