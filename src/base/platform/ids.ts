/**
 * Ids and secrets from the machine's random source.
 *
 * UUIDv7 (RFC 9562 section 5.7): 48 bits of milliseconds, then 74 random bits, so that
 * ids sort by time and index inserts append. Ids of one millisecond are not ordered.
 */
import { createHash, randomFillSync } from 'node:crypto'

const randomPool = Buffer.alloc(16 * 256)
let usedBytes = randomPool.length

function takeRandomBytes(): Buffer {
  if (usedBytes === randomPool.length) {
    randomFillSync(randomPool)
    usedBytes = 0
  }
  usedBytes += 16
  return randomPool.subarray(usedBytes - 16, usedBytes)
}

/** A UUIDv7 of the moment `now` (epoch milliseconds). */
export function uuidv7(now: number): string {
  return formatUuid(takeRandomBytes(), now)
}

/** Makes the same UUIDv7 for the same moment and `name`. If a row is written twice under it, the first one is found. */
export function namedUuidv7(now: number, name: string): string {
  return formatUuid(createHash('sha256').update(name).digest().subarray(0, 16), now)
}

/** No UUIDv7 of the moment `now` or later sorts before this text. */
export function firstUuidv7(now: number): string {
  const hex = now.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}`
}

/** Epoch milliseconds, or null if the text is no UUIDv7. */
export function timeOfUuid(text: string): number | null {
  const [, high = '', low = ''] =
    /^([\da-f]{8})-([\da-f]{4})-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i.exec(text) ?? []
  return high === '' ? null : Number.parseInt(high + low, 16)
}

function formatUuid(bytes: Buffer, now: number): string {
  bytes.writeUIntBE(now, 0, 6)
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f)
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f)
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** `size` random bytes for keys and tokens. */
export function randomSecret(size: number): Buffer {
  return randomFillSync(Buffer.allocUnsafeSlow(size))
}
