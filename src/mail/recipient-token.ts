/**
 * Tokens that stand for one recipient of one email, and that nobody else can make.
 *
 * A token is the recipient's id (16 bytes) and 80 bits of HMAC-SHA256 over it: 26 + 16
 * characters of RFC 4648 base32 in lower case, safe where case is lost. What it is for goes
 * into the MAC, so that one that was seen in one place is worth nothing in another; only
 * that of a return path is over the id alone, and no other input has its length.
 *
 * Limit: tokens do not expire.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'

/** `bounce`: the return path. `reference`: the field that complaints bring back. */
export type TokenPurpose = 'bounce' | 'reference' | 'unsubscribe'

const ID_BYTES = 16
const MAC_BYTES = 10
const ID_CHARS = 26

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'
const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const tokenForm = /^[a-z2-7]{42}$/

const macPrefixes: Readonly<Record<TokenPurpose, string>> = {
  bounce: '',
  reference: 'reference of recipient ',
  unsubscribe: 'unsubscribe recipient ',
}

/** `secret`: `createSecretKey` of 32 random bytes, kept. */
export function createRecipientToken(secret: KeyObject, purpose: TokenPurpose, recipientId: string): string {
  if (!uuidForm.test(recipientId)) throw new Error('a recipient id is no UUID')
  const id = Buffer.from(recipientId.replaceAll('-', ''), 'hex')
  return `${encodeBase32(id)}${encodeBase32(computeMac(secret, purpose, id))}`
}

/** The recipient id in `text`, in whichever case; null: no token of ours for this purpose. */
export function recipientOfToken(secret: KeyObject, purpose: TokenPurpose, text: string): string | null {
  const chars = text.toLowerCase()
  if (!tokenForm.test(chars)) return null
  const id = decodeBase32(chars.slice(0, ID_CHARS), ID_BYTES)
  const mac = decodeBase32(chars.slice(ID_CHARS), MAC_BYTES)
  if (!timingSafeEqual(mac, computeMac(secret, purpose, id))) return null
  // The last character of the id has two bits that carry nothing: one spelling alone is ours.
  if (encodeBase32(id) !== chars.slice(0, ID_CHARS)) return null
  const hex = id.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

function computeMac(secret: KeyObject, purpose: TokenPurpose, id: Buffer): Buffer {
  return createHmac('sha256', secret).update(macPrefixes[purpose]).update(id).digest().subarray(0, MAC_BYTES)
}

function encodeBase32(bytes: Buffer): string {
  let text = ''
  let bits = 0
  let held = 0
  for (const byte of bytes) {
    held = ((held << 8) | byte) & 0xfff
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += ALPHABET[(held >> bits) & 31]
    }
  }
  return bits > 0 ? text + ALPHABET[(held << (5 - bits)) & 31] : text
}

function decodeBase32(text: string, size: number): Buffer {
  const bytes = Buffer.alloc(size)
  let bits = 0
  let held = 0
  let at = 0
  for (const char of text) {
    held = ((held << 5) | ALPHABET.indexOf(char)) & 0xfff
    bits += 5
    if (bits < 8) continue
    bits -= 8
    if (at < size) bytes[at++] = (held >> bits) & 0xff
  }
  return bytes
}
