/**
 * The name and the media type with which an attachment is downloaded. The type is one that browsers
 * show or save and never execute, else `application/octet-stream`. Pure.
 */
import type { MimeAttachment } from '../../../records/messages/mime/mime-parts-protocol.js'

type NamedAttachment = Pick<MimeAttachment, 'filename' | 'content_type'>

const UNKNOWN_TYPE = 'application/octet-stream'

/** Extensions for attachments without a name, for the most frequent types. */
const extensions: Readonly<Record<string, string>> = {
  'message/rfc822': '.eml',
  'text/plain': '.txt',
  'text/html': '.html',
  'text/calendar': '.ics',
  'application/pdf': '.pdf',
  'image/png': '.png',
  'image/jpeg': '.jpg',
  'image/gif': '.gif',
}

/** The name in the message; without one, a name from its place and type. */
export function attachmentNameOf({ filename, content_type: type }: NamedAttachment, place: number): string {
  return filename ?? `attachment-${place + 1}${Object.hasOwn(extensions, type) ? (extensions[type] ?? '') : ''}`
}

/** `+xml` types are not among them, because browsers execute them, nor are types that browsers sniff. */
const inertTypes =
  /^(?:audio\/[\w.-]+|video\/[\w.-]+|image\/(?:png|jpeg|gif|webp|avif|bmp|tiff|heic)|text\/(?:plain|csv|calendar)|message\/rfc822|application\/(?:pdf|zip|gzip|json|rtf|msword|pkcs7-signature|pgp-signature|ms-tnef|vnd\.[\w.-]+))$/

export function downloadTypeOf(declared: string): string {
  return inertTypes.test(declared) ? declared : UNKNOWN_TYPE
}
