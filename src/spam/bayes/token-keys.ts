/**
 * Tokens as the database stores them: numbers of 48 bits.
 *
 * Hashes are stored instead of words, so that rows are small and of one size, and so that words of a deleted
 * message cannot be read from the table. The hash is neither secret nor cryptographic: a sender who can make two
 * words collide could as well write the other word.
 *
 * Among 200,000 tokens, the maximum of a workspace, two equal numbers are expected in one of 14,000 workspaces.
 */

const KEY_BYTES = 6

/** Two 32-bit FNV-1a hashes with different offsets and primes, each mixed at the end. */
export function hashToken(token: string): number {
  let high = 0x811c9dc5
  let low = 0x2f0b4c47
  for (let at = 0; at < token.length; at += 1) {
    const unit = token.charCodeAt(at)
    high = Math.imul(high ^ unit, 0x01000193)
    low = Math.imul(low ^ unit, 0x85ebca6b)
  }
  return (mixBits(high ^ (low >>> 15)) >>> 16) * 2 ** 32 + (mixBits(low) >>> 0)
}

function mixBits(word: number): number {
  const once = Math.imul(word ^ (word >>> 16), 0x7feb352d)
  const twice = Math.imul(once ^ (once >>> 15), 0x846ca68b)
  return twice ^ (twice >>> 16)
}

/** Not from Buffer's pool, because it is moved to the writer's thread. */
export function packKeys(keys: readonly number[]): Buffer {
  const packed = Buffer.alloc(keys.length * KEY_BYTES)
  keys.forEach((key, at) => {
    packed.writeUIntBE(key, at * KEY_BYTES, KEY_BYTES)
  })
  return packed
}

export function unpackKeys(packed: Buffer): readonly number[] {
  const keys: number[] = []
  for (let at = 0; at < packed.length; at += KEY_BYTES) {
    keys.push(packed.readUInt16BE(at) * 2 ** 32 + packed.readUInt32BE(at + 2))
  }
  return keys
}
