/** The largest message that a request may have composed, and what is known of its size before it is composed. */
import { Refusal } from '../../base/mail/refusal.js'
import type { RequestedContent } from './message-content.js'

/** 15 MB: header, bodies, images and attachments, encoded. */
const MAX_COMPOSED = 15 * 1_048_576

/** Throws a Refusal `too-large`. `size`: bytes of the message, or the part that is known so far. */
export function checkSize(size: number): void {
  if (size <= MAX_COMPOSED) return
  const message = `the composed message has ${size} bytes or more, allowed: ${MAX_COMPOSED}`
  throw new Refusal('too-large', message, { size, limit: MAX_COMPOSED })
}

/** A lower bound of the composed size, so that content that is too large is refused before it is encoded. */
export function minSizeOf({ html, text, attachments, inlineImages }: RequestedContent): number {
  const files = [...attachments, ...inlineImages].reduce((sum, { content }) => sum + content.length, 0)
  return Buffer.byteLength(html ?? '') + Buffer.byteLength(text ?? '') + base64SizeOf(files)
}

/** The length of `bytes` bytes in base64, without line ends. */
export function base64SizeOf(bytes: number): number {
  return Math.ceil(bytes / 3) * 4
}
