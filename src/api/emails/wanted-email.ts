/**
 * From a request whose form is right to the email that is wanted: names made one, template
 * filled in, files looked up, limits that have codes of their own.
 *
 * With a template its subject and bodies are the email's, whatever stands beside it.
 */

import { Refusal } from '../../mail/refusal.js'
import { recipientIds } from '../../messages/queue/enqueue.js'
import { checkSize, encodedSize, type WantedEmail } from '../../sending/compose-email.js'
import type { Attachment, InlineImage, MessageContent } from '../../sending/message-content.js'
import { releaseTime } from '../../sending/schedule.js'
import type { EmailRequest } from './email-request.js'
import type { StoredParts } from './stored-parts.js'

/** 10 MB: one attachment or image, decoded. */
const MAX_ATTACHMENT = 10 * 1_048_576

/** Throws a Refusal for what is not there, too large or too far ahead. */
export function wantedEmail(request: EmailRequest, now: number, stored: StoredParts): WantedEmail {
  const { template_id: templateId, from, to, cc = [], bcc = [], reply_to: replyTo = [], headers = {} } = request
  const { tracking, tags = [], priority, scheduled_for: scheduledFor } = request
  const ids = recipientIds(to.length + cc.length + bcc.length, now)
  const words = wordsOf(request, ids[0] ?? '', stored)
  const files = filesOf(request, stored)
  return {
    content: {
      ...{ from, to, cc, bcc, replyTo },
      ...words,
      fields: Object.entries(headers).map(([name, value]) => ({ name, value })),
      ...files,
    },
    options: {
      trackOpens: tracking?.open ?? true,
      trackClicks: tracking?.click ?? true,
      tags,
      priority,
      scheduledFor: scheduledFor === undefined ? null : releaseTime(scheduledFor, now),
    },
    templateId: templateId ?? null,
    recipientIds: ids,
  }
}

type Words = Pick<MessageContent, 'subject' | 'html' | 'text'>

function wordsOf(request: EmailRequest, recipientId: string, { template, fill, hold }: StoredParts): Words {
  const { template_id: id, template_data: data = {}, from, subject = '', html, htmlbody, text, textbody } = request
  if (id === undefined) return { subject, html: html ?? htmlbody ?? null, text: text ?? textbody ?? null }
  const words = fill({ template: template(id), data, from: from.address, recipientId })
  hold(Buffer.byteLength(words.html ?? '') + Buffer.byteLength(words.text ?? ''))
  return words
}

type Files = Pick<MessageContent, 'attachments' | 'inlineImages'>
type RequestedAttachment = NonNullable<EmailRequest['attachments']>[number]
type RequestedImage = NonNullable<EmailRequest['inline_images']>[number]

/** A file that is there, and will be read when all of them are known to be. */
interface Found<File> {
  readonly size: number
  readonly cached: boolean
  readonly open: () => File
}

function filesOf(
  { attachments = [], inline_images = [] }: Pick<EmailRequest, 'attachments' | 'inline_images'>,
  stored: StoredParts,
): Files {
  const found = {
    attachments: attachments.map((file, place) => foundAttachment(file, `attachments[${place}]`, stored)),
    images: inline_images.map((image, place) => foundImage(image, `inline_images[${place}]`, stored)),
  }
  const all = [...found.attachments, ...found.images]
  checkSize(encodedSize(all.reduce((sum, { size }) => sum + size, 0)))
  stored.hold(all.reduce((sum, { size, cached }) => sum + (cached ? size : 0), 0))
  return {
    attachments: found.attachments.map(({ open }) => open()),
    inlineImages: found.images.map(({ open }) => open()),
  }
}

/** Throws as `wantedEmail` does. */
export function sentAttachments(attachments: EmailRequest['attachments'], stored: StoredParts): readonly Attachment[] {
  return filesOf({ attachments, inline_images: [] }, stored).attachments
}

function foundAttachment(file: RequestedAttachment, field: string, stored: StoredParts): Found<Attachment> {
  if ('file_cache_key' in file) {
    const row = stored.file(field, file.file_cache_key)
    const { name = row.name } = file
    const open = (): Attachment => ({
      filename: name,
      content: stored.bytes(field, row),
      contentType: row.content_type,
    })
    return { size: row.size, cached: true, open }
  }
  const { filename, content_type: contentType } = file
  const content = withinLimit(field, file.content)
  return { size: content.length, cached: false, open: () => ({ filename, content, contentType }) }
}

function foundImage(image: RequestedImage, field: string, stored: StoredParts): Found<InlineImage> {
  const { cid } = image
  if ('file_cache_key' in image) {
    const row = stored.file(field, image.file_cache_key)
    const { name: filename, content_type: contentType, size } = row
    return { size, cached: true, open: () => ({ cid, filename, content: stored.bytes(field, row), contentType }) }
  }
  const { filename = null } = image
  const content = withinLimit(field, image.content)
  const contentType = image.content_type ?? imageType(content)
  return { size: content.length, cached: false, open: () => ({ cid, filename, content, contentType }) }
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
