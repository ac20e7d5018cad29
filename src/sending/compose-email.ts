/**
 * From an API request to all that one commit of it writes: composed, then prepared as a
 * message that was submitted by SMTP is.
 */
import type { Principal } from '../accounts/principal.js'
import { scanHeader } from '../mail/header-fields.js'
import { Refusal } from '../mail/refusal.js'
import { uuidv7 } from '../platform/ids.js'
import { freeMemory } from '../platform/memory/free-memory.js'
import { composeMessage } from './compose-message.js'
import type { MessageContent } from './message-content.js'
import type { PreparedEmail, PrepareEmail } from './prepare-email.js'
import type { SendingOptions } from './submitted-message.js'

/** 15 MB: header, bodies, images and attachments, encoded. */
const MAX_COMPOSED = 15 * 1_048_576

export interface RequestedEmail {
  readonly content: MessageContent
  readonly options: SendingOptions
  /** That its subject and bodies are made of. */
  readonly templateId: string | null
  /** Of `recipientIds`, one for each of To, Cc and Bcc in this order; empty: the message speaks of none. */
  readonly recipientIds: readonly string[]
}

export interface ComposeDeps {
  readonly hostname: string
  readonly prepare: PrepareEmail
}

/** Throws a Refusal for what may not be sent. */
export type ComposeEmail = (principal: Principal, wanted: RequestedEmail, now: number) => PreparedEmail

export function composeEmail({ hostname, prepare }: ComposeDeps): ComposeEmail {
  return (principal, { content, options, templateId, recipientIds }, now) => {
    checkSize(minSizeOf(content))
    const emailId = uuidv7(now)
    const raw = composeMessage(content, { emailId, hostname, now })
    checkSize(raw.length)
    const recipients = [...content.to, ...content.cc, ...content.bcc]
    const message = {
      // An app that asked over HTTP hears of bounces by events, not by a DSN.
      envelopeFrom: '' as const,
      envid: null,
      ret: null,
      recipients: recipients.map(({ address }, place) => ({
        address,
        notify: null,
        orcpt: null,
        id: recipientIds[place],
      })),
      smtputf8: true,
      raw,
      protocol: 'HTTPS',
    }
    const { from, to, cc, replyTo, subject } = content
    const summary = { from: [from] as const, to, cc, replyTo, subject }
    const submission = { emailId, source: 'rest' as const, message, header: scanHeader(raw), summary, options, now }
    const prepared = prepare(principal, { ...submission, templateId })
    freeMemory(raw)
    return prepared
  }
}

/** Throws a Refusal `too-large`. `size`: of a message, or as much of it as is known. */
export function checkSize(size: number): void {
  if (size <= MAX_COMPOSED) return
  const message = `the composed message has ${size} bytes or more, allowed: ${MAX_COMPOSED}`
  throw new Refusal('too-large', message, { size, limit: MAX_COMPOSED })
}

/** What is too large by itself is not encoded first. */
export function minSizeOf({ html, text, attachments, inlineImages }: MessageContent): number {
  const files = [...attachments, ...inlineImages].reduce((sum, { content }) => sum + content.length, 0)
  return Buffer.byteLength(html ?? '') + Buffer.byteLength(text ?? '') + base64SizeOf(files)
}

/** Of so many bytes in base64. */
export function base64SizeOf(bytes: number): number {
  return Math.ceil(bytes / 3) * 4
}
