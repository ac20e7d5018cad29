/**
 * An attachment as a file for whoever downloads it: a name and a type that do no harm, whatever
 * the message says. Pure.
 *
 * The name has no path, no device of Windows, no control or direction characters, no dot at its
 * beginning, and fits every file system (RFC 6266 section 4.3). The type is one that browsers
 * show or save and never execute, else `application/octet-stream`.
 *
 * Limit: the extension is the sender's; a program called `.exe` stays one.
 */
import type { MimeAttachment } from '../../messages/mime/mime-parts-protocol.js'

type NamedAttachment = Pick<MimeAttachment, 'filename' | 'content_type'>

const UNKNOWN_TYPE = 'application/octet-stream'
/** Bytes: file systems have 255, and whoever saves a file twice adds to its name. */
const MAX_NAME_BYTES = 200
const MAX_EXTENSION = 20

/** Of attachments without a name, the commonest. */
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

/** As the message says; where it does not, by its place and its type. */
export function fileNameOf({ filename, content_type: type }: NamedAttachment, place: number): string {
  return filename ?? `attachment-${place + 1}${Object.hasOwn(extensions, type) ? (extensions[type] ?? '') : ''}`
}

/** Without `+xml`, which browsers run, and the types that they guess from. */
const inertTypes =
  /^(?:audio\/[\w.-]+|video\/[\w.-]+|image\/(?:png|jpeg|gif|webp|avif|bmp|tiff|heic)|text\/(?:plain|csv|calendar)|message\/rfc822|application\/(?:pdf|zip|gzip|json|rtf|msword|pkcs7-signature|pgp-signature|ms-tnef|vnd\.[\w.-]+))$/

export function downloadTypeOf(declared: string): string {
  return inertTypes.test(declared) ? declared : UNKNOWN_TYPE
}

/** RFC 6266: the name for everybody, and as it is for those who read RFC 8187. */
export function formatContentDisposition(name: string): string {
  const safe = sanitizeFileName(name)
  const ascii = safe.replace(/[^\x20-\x7e]|%/gu, '_')
  const plain = `attachment; filename="${ascii}"`
  return ascii === safe ? plain : `${plain}; filename*=UTF-8''${encodeExtValue(safe)}`
}

/** RFC 8187 section 3.2.1: what is no `attr-char` is written in percent. */
function encodeExtValue(text: string): string {
  return encodeURIComponent(text).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

export function sanitizeFileName(name: string): string {
  const clean = name
    .normalize('NFC')
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '')
    .replace(/[/\\:*?"<>|]/g, '_')
    .replace(/\s+/gu, ' ')
  const short = shortenName(clean.replace(/^[\s.]+/, ''))
    // Windows forgets what stands at the end.
    .replace(/(?<![\s.])[\s.]+$/, '')
  if (short === '') return 'attachment'
  return /^(?:con|prn|aux|nul|conin\$|conout\$|com[\d¹²³]|lpt[\d¹²³])\s*(?:\.|$)/i.test(short) ? `_${short}` : short
}

/** Cut before its extension, and never within a character. */
function shortenName(name: string): string {
  if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return name
  const dot = name.lastIndexOf('.')
  const end = dot > 0 && Buffer.byteLength(name.slice(dot)) <= MAX_EXTENSION ? name.slice(dot) : ''
  const room = MAX_NAME_BYTES - Buffer.byteLength(end)
  let stem = ''
  let bytes = 0
  for (const char of name) {
    bytes += Buffer.byteLength(char)
    if (bytes > room) break
    stem += char
  }
  return stem + end
}
