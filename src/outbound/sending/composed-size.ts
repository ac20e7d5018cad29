/** The largest message that a request may compose, and a lower bound of its size before it is composed. */
import { Refusal } from '../../base/mail/refusal.js'
import type { RequestedContent } from './message-content.js'

/** 15 MB: the encoded size of header, bodies, images and attachments. */
const MAX_COMPOSED = 15 * 1_048_576

/** Throws a Refusal `too-large`. `size` is the number of bytes of the message, or of the known part of it. */
export function checkSize(size: number): void {
  if (size <= MAX_COMPOSED) return
  const message = `the composed message has ${size} bytes or more, allowed: ${MAX_COMPOSED}`
  throw new Refusal('too-large', message, { size, limit: MAX_COMPOSED })
}

/** Returns a lower bound of the composed size, so that content that is too large is refused before it is encoded. */
export function minSizeOf({ html, text, attachments, inlineImages }: RequestedContent): number {
  const files = [...attachments, ...inlineImages].reduce((sum, { content }) => sum + content.length, 0)
  return Buffer.byteLength(html ?? '') + Buffer.byteLength(text ?? '') + base64SizeOf(files)
}

/** Returns the length of `bytes` bytes in base64, without line ends. */
export function base64SizeOf(bytes: number): number {
  return Math.ceil(bytes / 3) * 4
}
