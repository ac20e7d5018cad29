/**
 * A *return path* is an envelope sender of this server with a token for one recipient of one email, which no other server can make
 * (VERP). Other places have such tokens too.
 *
 * A token is the recipient's id (16 bytes) and 80 bits of HMAC-SHA256 over it: 26 + 16 characters of
 * RFC 4648 base32 in lower case, safe where case is lost. The MAC covers the token's purpose, so a token
 * seen in one place is worth nothing in another; only that of a return path covers the id alone, and no
 * other input has its length. Limit: tokens do not expire.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { Address, DomainName } from './address.js'
import { decodeBase32, encodeBase32 } from './base32.js'

type TokenPurpose = 'bounce' | 'reference' | 'unsubscribe'

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

const RETURN_PATH_PREFIX = 'bounce+'

/**
 * The return path of one recipient (VERP): `bounce+<token>@<mail host>`, 49 octets of the 64 that a local
 * part may have. `secret`: `createSecretKey` of 32 random bytes, stored.
 *
 * Limit: anyone who has seen a message's return path can bounce that one recipient of it.
 */
export function createReturnPath(secret: KeyObject, recipientId: string, host: DomainName): string {
  return `${RETURN_PATH_PREFIX}${createRecipientToken(secret, 'bounce', recipientId)}@${host}`
}

/** The recipient id in the local part of a return path, or null if it is none of ours. */
export function recipientOfReturnPath(secret: KeyObject, localPart: string): string | null {
  if (!localPart.toLowerCase().startsWith(RETURN_PATH_PREFIX)) return null
  return recipientOfToken(secret, 'bounce', localPart.slice(RETURN_PATH_PREFIX.length))
}

/**
 * The token that unsubscribes the recipient: 42 characters, the same number for every recipient.
 *
 * Limit: if the message is passed on, its reader can unsubscribe the recipient.
 */
export function createUnsubscribeToken(secret: KeyObject, recipientId: string): string {
  return createRecipientToken(secret, 'unsubscribe', recipientId)
}

/**
 * An address that unsubscribes the recipient: `unsubscribe+<token>@<mail host>`, for List-Unsubscribe
 * (RFC 2369 section 3.2). 54 octets of the 64 that a local part may have.
 */
export function createUnsubscribeAddress(secret: KeyObject, recipientId: string, host: DomainName): Address {
  return unsubscribeAddressOf(createUnsubscribeToken(secret, recipientId), host)
}

export function unsubscribeAddressOf(token: string, host: DomainName): Address {
  return `unsubscribe+${token}@${host}` as Address
}

/** The recipient id in such a token, or null if it is none of ours. */
export function recipientOfUnsubscribe(secret: KeyObject, token: string): string | null {
  return recipientOfToken(secret, 'unsubscribe', token)
}

const REFERENCE_FIELD_NAME = 'X-Posthorn-Reference'

/** In lower case, as header fields are looked up. */
export const REFERENCE_FIELD = REFERENCE_FIELD_NAME.toLowerCase()

/**
 * The header field, with its CRLF, that says which recipient's message a complaint is about. Providers
 * that pass complaints on remove addresses, the return path too, and keep other fields. It stands above
 * the DKIM signature, which does not cover it: its token is proof enough.
 *
 * Limit: anyone who sees the message, such as the readers of a list, can complain in its recipient's name.
 */
export function createReferenceField(secret: KeyObject, recipientId: string): string {
  return `${REFERENCE_FIELD_NAME}: ${createRecipientToken(secret, 'reference', recipientId)}\r\n`
}

/** The recipient id in such a field's value, or null if it is none of ours. */
export function recipientOfReference(secret: KeyObject, value: string): string | null {
  return recipientOfToken(secret, 'reference', value.trim())
}

function createRecipientToken(secret: KeyObject, purpose: TokenPurpose, recipientId: string): string {
  if (!uuidForm.test(recipientId)) throw new Error('a recipient id is not a UUID')
  const id = Buffer.from(recipientId.replaceAll('-', ''), 'hex')
  return `${encodeBase32(id, ALPHABET)}${encodeBase32(computeMac(secret, purpose, id), ALPHABET)}`
}

/** The recipient id in `text`, in any case. Null if it is no token of ours for this purpose. */
function recipientOfToken(secret: KeyObject, purpose: TokenPurpose, text: string): string | null {
  const chars = text.toLowerCase()
  if (!tokenForm.test(chars)) return null
  const id = decodeBase32(chars.slice(0, ID_CHARS), ID_BYTES, ALPHABET)
  const mac = decodeBase32(chars.slice(ID_CHARS), MAC_BYTES, ALPHABET)
  if (!timingSafeEqual(mac, computeMac(secret, purpose, id))) return null
  // The last character of the id has two unused bits: only one spelling is ours.
  if (encodeBase32(id, ALPHABET) !== chars.slice(0, ID_CHARS)) return null
  const hex = id.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

function computeMac(secret: KeyObject, purpose: TokenPurpose, id: Buffer): Buffer {
  return createHmac('sha256', secret).update(macPrefixes[purpose]).update(id).digest().subarray(0, MAC_BYTES)
}
