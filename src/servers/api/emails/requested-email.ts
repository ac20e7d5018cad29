/**
 * Makes the requested email of a parsed request: alternative names are merged, the template is rendered, files are
 * looked up, and limits that have separate error codes are checked.
 *
 * If there is a template, its subject and bodies replace those of the request.
 */
import { Refusal } from '../../../base/mail/refusal.js'
import { base64SizeOf, checkSize } from '../../../outbound/sending/composed-size.js'
import type { RequestedEmail } from '../../../outbound/sending/email-composer.js'
import type {
  Attachment,
  InlineImage,
  MessageContent,
  RequestedContent,
} from '../../../outbound/sending/message-content.js'
import { parseReleaseTime } from '../../../outbound/sending/schedule.js'
import { createRecipientIds } from '../../../records/messages/queue/enqueue.js'
import type { EmailRequest } from './email-request.js'
import type { StoredParts } from './stored-parts.js'

/** 10 MB for one decoded attachment or image. */
const MAX_ATTACHMENT_BYTES = 10 * 1_048_576

const UNKNOWN_TYPE = 'application/octet-stream'

/** How an interface sends emails, beyond what a request says. */
export interface Manner {
  /** Whether opens and clicks are tracked if neither the request nor the domain says so. */
  readonly tracksByDefault: boolean
  /** True if an email is also recorded when the suppression list has all of its recipients. */
  readonly keepsSuppressed?: boolean
  /** True if nothing is sent: the email is recorded as cancelled. */
  readonly isTest?: boolean
}

/** Rejects with a Refusal for an unknown template or file, too many bytes, or a schedule too far ahead. */
export async function buildRequestedEmail(
  request: EmailRequest,
  now: number,
  stored: StoredParts,
  { tracksByDefault, keepsSuppressed = false, isTest = false }: Manner,
): Promise<RequestedEmail> {
  const { from, to, cc = [], bcc = [], reply_to: replyTo = [], headers = {} } = request
  const { tracking, tags = [], priority, scheduled_for: scheduledFor = request.scheduled_at } = request
  const ids = createRecipientIds(to.length + cc.length + bcc.length, now)
  const { templateId, subject, html, text, hasUnsubscribeLink } = await resolveTextContent(
    request,
    ids[0] ?? '',
    stored,
  )
  const { attachments, inlineImages } = await resolveFileContent(request, stored)
  const fields = Object.entries(headers).map(([name, value]) => ({ name, value }))
  return {
    content: { from, to, cc, bcc, replyTo, subject, html, text, fields, attachments, inlineImages },
    options: {
      trackOpens: tracking?.open ?? null,
      trackClicks: tracking?.click ?? null,
      tags,
      priority,
      dropped: isTest,
      scheduledFor: scheduledFor === undefined ? null : parseReleaseTime(scheduledFor, now),
    },
    templateId,
    recipientIds: ids,
    hasUnsubscribeLink,
    ...{ tracksByDefault, keepsSuppressed },
  }
}

type TextContent = Pick<RequestedContent, 'subject' | 'html' | 'text'> &
  Pick<RequestedEmail, 'hasUnsubscribeLink' | 'templateId'>

async function resolveTextContent(
  request: EmailRequest,
  recipientId: string,
  stored: StoredParts,
): Promise<TextContent> {
  const { subject = '', html, htmlbody, text, textbody, template: named } = request
  const { template_id: id, template_alias: alias = named?.id, template_data: data = named?.variables ?? {} } = request
  if (id === undefined && alias === undefined) {
    const bodies = { html: html ?? htmlbody ?? null, text: text ?? textbody ?? null }
    return { ...bodies, subject, hasUnsubscribeLink: false, templateId: null }
  }
  const template =
    alias === undefined ? await stored.requireTemplate(id ?? '') : await stored.requireTemplateByAlias(alias)
  const words = await stored.fillTemplate({ template, data, from: request.from.address, recipientId })
  stored.hold(Buffer.byteLength(words.html ?? '') + Buffer.byteLength(words.text ?? ''))
  return { ...words, templateId: template.id }
}

type FileContent = Pick<MessageContent, 'attachments' | 'inlineImages'>
const noFiles: FileContent = { attachments: [], inlineImages: [] }
type RequestedAttachment = NonNullable<EmailRequest['attachments']>[number]
type RequestedImage = NonNullable<EmailRequest['inline_images']>[number]

/** A file that exists, and is read when all files are known to exist. */
interface ResolvedFile<File> {
  readonly size: number
  readonly cached: boolean
  readonly read: () => File | Promise<File>
}

async function resolveFileContent(
  { attachments = [], inline_images = [] }: Pick<EmailRequest, 'attachments' | 'inline_images'>,
  stored: StoredParts,
): Promise<FileContent> {
  if (attachments.length + inline_images.length === 0) return noFiles
  const files: ResolvedFile<Attachment>[] = []
  const images = await Promise.all(
    inline_images.map((image, place) => resolveImage(image, `inline_images[${place}]`, stored)),
  )
  for (const [place, file] of attachments.entries()) {
    const image = toInlineImage(file)
    if (image === null) files.push(await resolveAttachment(file, `attachments[${place}]`, stored))
    else images.push(await resolveImage(image, `attachments[${place}]`, stored))
  }
  const all = [...files, ...images]
  checkSize(base64SizeOf(all.reduce((sum, { size }) => sum + size, 0)))
  stored.hold(all.reduce((sum, { size, cached }) => sum + (cached ? size : 0), 0))
  return { attachments: await readAll(files), inlineImages: await readAll(images) }
}

/** An attachment with a content id is an image of the HTML. Null if it has none. */
function toInlineImage(file: RequestedAttachment): RequestedImage | null {
  if (!('content' in file) || file.content_id === undefined) return null
  const { filename, content, content_type: given, content_id: cid } = file
  return { filename, content, cid, content_type: given === UNKNOWN_TYPE ? undefined : given }
}

/** Reads them one after the other: a file that is named several times is read once. */
async function readAll<File>(found: readonly ResolvedFile<File>[]): Promise<readonly File[]> {
  const files: File[] = []
  for (const { read } of found) files.push(await read())
  return files
}

/** Rejects as `buildRequestedEmail` does. */
export async function resolveAttachments(
  attachments: EmailRequest['attachments'],
  stored: StoredParts,
): Promise<readonly Attachment[]> {
  return (await resolveFileContent({ attachments, inline_images: [] }, stored)).attachments
}

async function resolveAttachment(
  file: RequestedAttachment,
  field: string,
  stored: StoredParts,
): Promise<ResolvedFile<Attachment>> {
  if ('file_cache_key' in file) {
    const row = await stored.requireFile(field, file.file_cache_key)
    const { name = row.name } = file
    const read = async (): Promise<Attachment> => ({
      filename: name,
      content: await stored.readBytes(field, row),
      contentType: row.content_type,
    })
    return { size: row.size, cached: true, read }
  }
  const { filename, content_type: contentType } = file
  const content = requireWithinLimit(field, file.content)
  return { size: content.length, cached: false, read: () => ({ filename, content, contentType, isOwn: true }) }
}

async function resolveImage(
  image: RequestedImage,
  field: string,
  stored: StoredParts,
): Promise<ResolvedFile<InlineImage>> {
  const { cid } = image
  if ('file_cache_key' in image) {
    const row = await stored.requireFile(field, image.file_cache_key)
    const { name: filename, content_type: contentType, size } = row
    const read = async (): Promise<InlineImage> => ({
      ...{ cid, filename, contentType },
      content: await stored.readBytes(field, row),
    })
    return { size, cached: true, read }
  }
  const { filename = null } = image
  const content = requireWithinLimit(field, image.content)
  const contentType = image.content_type ?? detectImageType(content)
  return { size: content.length, cached: false, read: () => ({ cid, filename, content, contentType, isOwn: true }) }
}

function requireWithinLimit(field: string, content: Buffer): Buffer {
  if (content.length <= MAX_ATTACHMENT_BYTES) return content
  const message = `${field}.content: has ${content.length} bytes, allowed: ${MAX_ATTACHMENT_BYTES}`
  const details = { field: `${field}.content`, value: content.length, limit: MAX_ATTACHMENT_BYTES }
  throw new Refusal('attachment-too-large', message, details)
}

const imageSignatures: readonly (readonly [type: string, start: RegExp])[] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8/],
  ['image/webp', /^RIFF....WEBP/s],
]

function detectImageType(content: Buffer): string {
  const start = content.toString('latin1', 0, 16)
  return imageSignatures.find(([, signature]) => signature.test(start))?.[0] ?? UNKNOWN_TYPE
}
