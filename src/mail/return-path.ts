/**
 * Per-recipient return paths: `bounce+<token>@<mail host>` (VERP).
 *
 * The token is the recipient's id (16 bytes) and 80 bits of HMAC-SHA256 over it: what
 * arrives at such an address speaks of that recipient, and nobody can make an address
 * for another one. 26 + 16 characters of RFC 4648 base32 in lower case: with the prefix
 * 49 octets of the 64 that a local part may have, and safe where case is lost.
 *
 * Limit: tokens do not expire; whoever saw one message's return path can bounce that
 * one recipient of it.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { DomainName } from './address.js'

const PREFIX = 'bounce+'
const ID_BYTES = 16
const MAC_BYTES = 10
const ID_CHARS = 26
const TOKEN_CHARS = 42

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const token = /^[a-z2-7]{42}$/

/** `secret`: `createSecretKey` of 32 random bytes, kept. */
export function returnPath(secret: KeyObject, recipientId: string, host: DomainName): string {
  if (!uuid.test(recipientId)) throw new Error('a recipient id is no UUID')
  const id = Buffer.from(recipientId.replaceAll('-', ''), 'hex')
  return `${PREFIX}${base32(id)}${base32(macOf(secret, id))}@${host}`
}

/** The recipient id in the local part of a return path; null: none of ours. */
export function recipientOfReturnPath(secret: KeyObject, localPart: string): string | null {
  if (localPart.length !== PREFIX.length + TOKEN_CHARS) return null
  const text = localPart.toLowerCase()
  const chars = text.slice(PREFIX.length)
  if (!text.startsWith(PREFIX) || !token.test(chars)) return null
  const id = bytesOf(chars.slice(0, ID_CHARS), ID_BYTES)
  const mac = bytesOf(chars.slice(ID_CHARS), MAC_BYTES)
  if (!timingSafeEqual(mac, macOf(secret, id))) return null
  // The last character of the id has two bits that carry nothing: one spelling alone is ours.
  if (base32(id) !== chars.slice(0, ID_CHARS)) return null
  const hex = id.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

function macOf(secret: KeyObject, id: Buffer): Buffer {
  return createHmac('sha256', secret).update(id).digest().subarray(0, MAC_BYTES)
}

function base32(bytes: Buffer): string {
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

function bytesOf(text: string, size: number): Buffer {
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
