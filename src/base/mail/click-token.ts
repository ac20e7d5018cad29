/**
 * Tokens of links whose URL is one recipient's own, because it has variables: no stored list can have such a URL, so
 * the token in the link says that this server wrote it into that email.
 *
 * 128 bits of HMAC-SHA256 over the email's id and the URL: 26 characters of RFC 4648 base32 in lower case.
 * Limit: tokens do not expire; a link ends with the records of its broadcast.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { encodeBase32 } from './base32.js'

const MAC_BYTES = 16
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'

/**
 * `secret` also signs the tokens of recipients (`recipient-token.ts`), but their inputs never begin like these. `url`
 * is the one that a click leads to.
 */
export function createClickToken(secret: KeyObject, emailId: string, url: string): string {
  const mac = createHmac('sha256', secret).update(`click in email ${emailId} ${url}`).digest()
  return encodeBase32(mac.subarray(0, MAC_BYTES), ALPHABET)
}

/** Whether `token`, in any case, was made for this URL in this email. */
export function isClickToken(secret: KeyObject, { emailId, url, token }: ClickToken): boolean {
  // Compared as text, since several base32 texts decode to the same bytes.
  const given = Buffer.from(token.toLowerCase())
  const right = Buffer.from(createClickToken(secret, emailId, url))
  return given.length === right.length && timingSafeEqual(given, right)
}

interface ClickToken {
  readonly emailId: string
  readonly url: string
  readonly token: string
}
