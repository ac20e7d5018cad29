/**
 * From the content of an API request to the bytes of its message, with tracked links: what takes time with the size of
 * the content, and nothing that needs the database. Pure.
 */

import { textOfHtml } from '../messages/mime/text-of-html.js'
import type { BeginTracking, TrackedEmail } from '../tracking/track-email.js'
import { composeMessage } from './compose-message.js'
import type { ComposedMessage } from './compose-plain.js'
import type { MessageContent } from './message-content.js'
import type { SubmittedTracking } from './submitted-message.js'

export interface ContentToCompose {
  readonly content: MessageContent
  readonly email: TrackedEmail
  readonly hostname: string
}

export interface ComposedContent extends ComposedMessage {
  readonly tracking: SubmittedTracking
}

/** Characters and bytes of what is composed on the main thread; HTML from which a text is made takes longer. */
const MAX_HERE = 65_536
const MAX_CONVERTED_HERE = 16_384

/** Composing it takes more than some milliseconds. */
export function isLargeContent({ html, text, attachments, inlineImages }: MessageContent): boolean {
  const files = [...attachments, ...inlineImages].reduce((sum, { content }) => sum + content.length, 0)
  const htmlLength = html?.length ?? 0
  return htmlLength + (text?.length ?? 0) + files > MAX_HERE || (text === null && htmlLength > MAX_CONVERTED_HERE)
}

export function composeContent(
  { content, email, hostname }: ContentToCompose,
  beginTracking: BeginTracking,
): ComposedContent {
  const { content: sent, tracking } = trackContent(beginTracking, content, email)
  const { raw, bodies } = composeMessage(sent, { emailId: email.emailId, hostname, now: email.now })
  return { raw, bodies, tracking }
}

interface TrackedContent {
  readonly content: MessageContent
  readonly tracking: SubmittedTracking
}

/** Text that is made from the HTML shows the URLs as they were submitted. */
function trackContent(beginTracking: BeginTracking, content: MessageContent, email: TrackedEmail): TrackedContent {
  const { html, text } = content
  const { opens, clicks } = email
  const begun = beginTracking(email)
  if (begun === null || html === null || html === '')
    return { content, tracking: { opens, clicks, skipped: null, writes: [] } }
  const tracked = withBodies(content, begun.trackHtml(html), text ?? textOfHtml(html))
  const skipped = begun.skipped()
  const writes = skipped === null ? begun.collectWrites() : []
  return { content: tracked, tracking: { opens, clicks, skipped, writes } }
}

/** Field by field: V8 takes tens of microseconds to spread them. */
function withBodies(content: MessageContent, html: string, text: string): MessageContent {
  const { from, to, cc, bcc, replyTo, subject, fields, attachments, inlineImages } = content
  return { from, to, cc, bcc, replyTo, subject, html, text, fields, attachments, inlineImages }
}
