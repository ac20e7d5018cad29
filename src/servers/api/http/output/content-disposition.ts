/**
 * Writes `Content-Disposition: attachment` with a file name that is safe whatever its source. Pure.
 *
 * The name has no path, no Windows device name, no control or direction characters, no leading dot,
 * and fits every file system (RFC 6266 section 4.3).
 *
 * Limit: the extension is the sender's, so a program named `.exe` keeps it.
 */

/** Bytes. File systems allow 255, and saving a file twice lengthens its name. */
const MAX_NAME_BYTES = 200
const MAX_EXTENSION = 20

/** `filename` in ASCII and, if the name has other characters, `filename*` for clients that know RFC 8187. */
export function formatContentDisposition(name: string): string {
  const safe = sanitizeFileName(name)
  const ascii = safe.replace(/[^\x20-\x7e]|%/gu, '_')
  const plain = `attachment; filename="${ascii}"`
  return ascii === safe ? plain : `${plain}; filename*=UTF-8''${encodeExtValue(safe)}`
}

/** Characters other than `attr-char` (RFC 8187 section 3.2.1) are percent-encoded. */
function encodeExtValue(text: string): string {
  return encodeURIComponent(text).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

export function sanitizeFileName(name: string): string {
  const clean = name
    .normalize('NFC')
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '')
    .replace(/[/\\:*?"<>|]/g, '_')
    .replace(/\s+/gu, ' ')
  const bare = clean.replace(/^[\s.]+/, '')
  const named = deviceName.test(bare) ? `_${bare}` : bare
  // Windows drops blanks and dots at the end of a name.
  return shortenName(named).replace(/(?<![\s.])[\s.]+$/, '') || 'attachment'
}

/** Windows opens a device by such a name, whatever its extension. */
const deviceName = /^(?:con|prn|aux|nul|conin\$|conout\$|com[\d¹²³]|lpt[\d¹²³])\s*(?:\.|$)/i

/** Cuts before the extension, and never within a character. */
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
