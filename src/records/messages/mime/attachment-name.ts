/** The name under which an attachment is listed and downloaded. Pure. */
import type { MimeAttachment } from './mime-parts-protocol.js'

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
export function attachmentNameOf(
  { filename, content_type: type }: Pick<MimeAttachment, 'filename' | 'content_type'>,
  place: number,
): string {
  return filename ?? `attachment-${place + 1}${Object.hasOwn(extensions, type) ? (extensions[type] ?? '') : ''}`
}
