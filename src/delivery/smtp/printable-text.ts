/** A stranger's bytes as text that may stand in logs, mails and answers. */
import { isUtf8 } from 'node:buffer'

/** UTF-8 where it is valid, else Latin-1; tabs as blanks, other control characters as `?`. */
export function toPrintable(bytes: Buffer): string {
  const text = bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1')
  return /^[\x20-\x7e]*$/.test(text) ? text : text.replace(/\t/g, ' ').replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?')
}

/** As many whole characters as `limit` bytes of UTF-8 hold. */
export function truncateUtf8(text: string, limit: number): string {
  if (text.length * 3 <= limit || Buffer.byteLength(text) <= limit) return text
  const bytes = Buffer.from(text)
  let end = limit
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}
