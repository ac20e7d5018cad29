/**
 * Codes and their hashes: HMAC-SHA-256 under a key of this installation, with a salt for each code.
 *
 * A code has few digits, so the hash hides it only from readers without the key. The key is in `service_state`: an
 * extract of the codes does not reveal them, but the entire database does. A code in a backup expires within an
 * hour.
 */
import { createHmac, createSecretKey, hkdfSync, type KeyObject, randomInt, timingSafeEqual } from 'node:crypto'
import { randomSecret } from '../../base/platform/ids.js'

const SALT_BYTES = 16
const KEY_BYTES = 32
/** Separates this use of the secret from its others. */
const KEY_CONTEXT = 'sms code'

interface CodeHash {
  readonly salt: Uint8Array
  readonly code_hash: Uint8Array
}

/** Makes a code of random digits, each equally likely. Leading zeros stay. */
export function generateCode(digits: number): string {
  return String(randomInt(10 ** digits)).padStart(digits, '0')
}

/** `secret` is the service's secret for SMS. */
export function deriveCodeKey(secret: KeyObject): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', KEY_CONTEXT, KEY_BYTES)))
}

export function hashCode(key: KeyObject, id: string, code: string): CodeHash {
  const salt = randomSecret(SALT_BYTES)
  return { salt, code_hash: computeHash(key, { salt, id, code }) }
}

/** Compares in constant time. */
export function isCode(key: KeyObject, row: CodeHash & { readonly id: string }, code: string): boolean {
  return timingSafeEqual(computeHash(key, { salt: row.salt, id: row.id, code }), row.code_hash)
}

/** The salt and the id have a fixed length, so different inputs never join to the same bytes. */
function computeHash(
  key: KeyObject,
  { salt, id, code }: { readonly salt: Uint8Array; readonly id: string; readonly code: string },
): Buffer {
  return createHmac('sha256', key).update(salt).update(id).update(code).digest()
}
