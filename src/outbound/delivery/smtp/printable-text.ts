/** Makes untrusted bytes fit for logs, mails and API answers. */
import { isUtf8 } from 'node:buffer'

/** Decodes valid UTF-8, else Latin-1; tabs become blanks, other control characters `?`. */
export function toPrintable(bytes: Buffer): string {
  const text = bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1')
  return /^[\x20-\x7e]*$/.test(text) ? text : text.replace(/\t/g, ' ').replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?')
}

/** Keeps as many whole characters as fit into `limit` bytes of UTF-8. */
export function truncateUtf8(text: string, limit: number): string {
  if (text.length * 3 <= limit || Buffer.byteLength(text) <= limit) return text
  const bytes = Buffer.from(text)
  let end = limit
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}
