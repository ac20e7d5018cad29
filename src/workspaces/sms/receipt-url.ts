/**
 * The URL at which a provider reports what happened to one message. Its token is the permission: 128 bits of an HMAC
 * over the id of the code, in lower-case base32. We store nothing for it.
 *
 * Limit: a token is valid as long as the record of its code.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { encodeBase32 } from '../../base/mail/base32.js'

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'
const MAC_BYTES = 16
/** Separates this use of the secret from its others. */
const CONTEXT = 'receipt of '

/** `secret` is the service's secret for SMS. `publicUrl` has no slash at its end. */
export function buildReceiptUrl(secret: KeyObject, publicUrl: string, smsId: string): string {
  return `${publicUrl}/v1/sms/receipts/${smsId}/${createToken(secret, smsId)}`
}

/** Compares in constant time. */
export function isReceiptToken(secret: KeyObject, smsId: string, token: string): boolean {
  // We compare text, because the last character of a token has unused bits.
  const given = Buffer.from(token)
  const right = Buffer.from(createToken(secret, smsId))
  return given.length === right.length && timingSafeEqual(given, right)
}

function createToken(secret: KeyObject, smsId: string): string {
  const mac = createHmac('sha256', secret).update(`${CONTEXT}${smsId}`).digest()
  return encodeBase32(mac.subarray(0, MAC_BYTES), ALPHABET)
}
