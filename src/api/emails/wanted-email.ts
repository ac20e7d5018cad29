/**
 * From a request whose form is right to the email that is wanted: names made one, files
 * looked up, limits that have codes of their own.
 *
 * There are no templates and no cached files in this version: each is unknown.
 */
import { Refusal } from '../../mail/refusal.js'
import type { WantedEmail } from '../../sending/compose-email.js'
import type { Attachment, InlineImage } from '../../sending/message-content.js'
import { releaseTime } from '../../sending/schedule.js'
import type { EmailRequest } from './email-request.js'

/** 10 MB: one attachment or image, decoded. */
const MAX_ATTACHMENT = 10 * 1_048_576

/** Throws a Refusal for what is not there, too large or too far ahead. */
export function wantedEmail(request: EmailRequest, now: number): WantedEmail {
  const { template_id: templateId, from, to, cc = [], bcc = [], reply_to: replyTo = [], headers = {} } = request
  if (templateId !== undefined) {
    throw new Refusal('template-not-found', 'no such template', { id: templateId })
  }
  const { tracking, tags = [], priority, scheduled_for: scheduledFor } = request
  return {
    content: {
      ...{ from, to, cc, bcc, replyTo },
      subject: request.subject ?? '',
      html: request.html ?? request.htmlbody ?? null,
      text: request.text ?? request.textbody ?? null,
      fields: Object.entries(headers).map(([name, value]) => ({ name, value })),
      attachments: (request.attachments ?? []).map(sentAttachment),
      inlineImages: (request.inline_images ?? []).map(inlineImage),
    },
    options: {
      trackOpens: tracking?.open ?? true,
      trackClicks: tracking?.click ?? true,
      tags,
      priority,
      scheduledFor: scheduledFor === undefined ? null : releaseTime(scheduledFor, now),
    },
  }
}

type RequestedAttachment = NonNullable<EmailRequest['attachments']>[number]
type RequestedImage = NonNullable<EmailRequest['inline_images']>[number]

export function sentAttachment(file: RequestedAttachment, place: number): Attachment {
  const field = `attachments[${place}]`
  if ('file_cache_key' in file) throw unknownFile(field, file.file_cache_key)
  return { filename: file.filename, content: withinLimit(field, file.content), contentType: file.content_type }
}

function inlineImage(image: RequestedImage, place: number): InlineImage {
  const field = `inline_images[${place}]`
  if ('file_cache_key' in image) throw unknownFile(field, image.file_cache_key)
  const content = withinLimit(field, image.content)
  const contentType = image.content_type ?? imageType(content)
  return { cid: image.cid, filename: image.filename ?? null, content, contentType }
}

function unknownFile(field: string, key: string): Refusal {
  const message = `${field}.file_cache_key: no such file`
  return new Refusal('invalid-parameter', message, { field: `${field}.file_cache_key`, value: key })
}

function withinLimit(field: string, content: Buffer): Buffer {
  if (content.length <= MAX_ATTACHMENT) return content
  const message = `${field}.content: has ${content.length} bytes, allowed: ${MAX_ATTACHMENT}`
  const details = { field: `${field}.content`, value: content.length, limit: MAX_ATTACHMENT }
  throw new Refusal('attachment-too-large', message, details)
}

const signatures: readonly (readonly [type: string, start: RegExp])[] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8/],
  ['image/webp', /^RIFF....WEBP/s],
]

function imageType(content: Buffer): string {
  const start = content.toString('latin1', 0, 16)
  return signatures.find(([, signature]) => signature.test(start))?.[0] ?? 'application/octet-stream'
}
