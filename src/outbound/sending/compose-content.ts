/**
 * Composes the bytes of a message from the content of an API request, with tracked links. It does the work that takes
 * time with the size of the content, and nothing that needs the database. Pure.
 */

import { textOfHtml } from '../../records/messages/mime/text-of-html.js'
import type { EmailTracker, TrackedEmail } from '../tracking/track-email.js'
import { composeMessage } from './compose-message.js'
import type { ComposedMessage } from './compose-plain.js'
import { type CustomField, LONG_BODY, type MessageContent, type RequestedContent } from './message-content.js'
import type { SubmittedTracking } from './submitted-message.js'
import { insertUnsubscribeUrls } from './template-content.js'

export interface ContentToCompose {
  readonly content: RequestedContent
  readonly email: TrackedEmail
  readonly hostname: string
  /** Null if the bodies have no unsubscribe link. */
  readonly unsubscribe: UnsubscribeUse | null
}

/** The link of the first recipient. */
export interface UnsubscribeUse {
  /** Replaces `{{unsubscribe_url}}`. Null if the link is already in the bodies. */
  readonly url: string | null
  /** Fields that are added if the bodies have the link. */
  readonly fields: readonly CustomField[]
}

export interface ComposedContent extends ComposedMessage {
  readonly tracking: SubmittedTracking
  readonly hasUnsubscribeLink: boolean
}

/** The most characters and bytes that are composed on the main thread. HTML from which a text is made takes longer. */
const MAX_HERE = LONG_BODY
const MAX_CONVERTED_HERE = 16_384

/** Tells whether composing the content takes more than some milliseconds. */
export function isLargeContent({ html, text, attachments, inlineImages }: RequestedContent): boolean {
  const files = [...attachments, ...inlineImages].reduce((sum, { content }) => sum + content.length, 0)
  const htmlLength = html?.length ?? 0
  return htmlLength + (text?.length ?? 0) + files > MAX_HERE || (text === null && htmlLength > MAX_CONVERTED_HERE)
}

/** Throws a Refusal if there are too many unsubscribe links. */
export function composeContent(
  { content, email, hostname, unsubscribe }: ContentToCompose,
  tracker: EmailTracker,
): ComposedContent {
  const { content: linked, hasUnsubscribeLink } = linkContent(toText(content), unsubscribe)
  const { content: sent, tracking } = trackContent(tracker, linked, email)
  const { raw, bodies } = composeMessage(sent, { emailId: email.emailId, hostname, now: email.now })
  return { raw, bodies, tracking, hasUnsubscribeLink }
}

function toText(content: RequestedContent): MessageContent {
  const { html, text } = content
  return hasStrings(content) ? content : withBodies(content, html?.toString() ?? null, text?.toString() ?? null)
}

function hasStrings(content: RequestedContent): content is MessageContent {
  return !Buffer.isBuffer(content.html) && !Buffer.isBuffer(content.text)
}

function linkContent(
  content: MessageContent,
  unsubscribe: UnsubscribeUse | null,
): { readonly content: MessageContent; readonly hasUnsubscribeLink: boolean } {
  if (unsubscribe === null) return { content, hasUnsubscribeLink: false }
  const { url, fields } = unsubscribe
  const { html, text, hasUnsubscribeLink } =
    url === null ? { ...content, hasUnsubscribeLink: true } : insertUnsubscribeUrls(content, url)
  if (!hasUnsubscribeLink) return { content, hasUnsubscribeLink }
  return { content: { ...content, html, text, fields: [...content.fields, ...fields] }, hasUnsubscribeLink }
}

interface TrackedContent {
  readonly content: MessageContent
  readonly tracking: SubmittedTracking
}

/** Tracks the content. Text that is made from the HTML shows the URLs as they were submitted. */
function trackContent(tracker: EmailTracker, content: MessageContent, email: TrackedEmail): TrackedContent {
  const { html, text } = content
  const { opens, clicks } = email
  const begun = tracker.begin(email)
  if (begun === null || html === null || html === '')
    return { content, tracking: { opens, clicks, skipped: null, writes: [] } }
  const tracked = withBodies(content, begun.trackHtml(html), text ?? textOfHtml(html))
  const skipped = begun.skipped()
  const writes = skipped === null ? begun.collectWrites() : []
  return { content: tracked, tracking: { opens, clicks, skipped, writes } }
}

/** Copies field by field, because V8 takes tens of microseconds to spread the fields. */
function withBodies(content: RequestedContent, html: string | null, text: string | null): MessageContent {
  const { from, to, cc, bcc, replyTo, subject, fields, attachments, inlineImages } = content
  return { from, to, cc, bcc, replyTo, subject, html, text, fields, attachments, inlineImages }
}
