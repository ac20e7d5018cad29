/**
 * Tokens as the database keeps them: numbers of 48 bits.
 *
 * A hash and not the word, so that rows are small and of one size, and so that nobody reads
 * words of a deleted message in the table of tokens. It is no secret, and it is not cryptographic:
 * who could make two words collide could as well write the other word.
 *
 * Among 200,000 tokens, the most that a workspace keeps, two of the same number are to be
 * expected in one of 14,000 workspaces.
 */

const KEY_BYTES = 6

/** Two FNV-1a of 32 bits that begin and multiply differently, each stirred at the end. */
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

/** Not out of the pool: it goes to the writer's thread as it is. */
export function packKeys(keys: readonly number[]): Buffer {
  const packed = Buffer.alloc(keys.length * KEY_BYTES)
  keys.forEach((key, at) => {
    packed.writeUIntBE(key, at * KEY_BYTES, KEY_BYTES)
  })
  return packed
}

export function unpackKeys(packed: Buffer): readonly number[] {
  return Array.from({ length: packed.length / KEY_BYTES }, (_, at) => packed.readUIntBE(at * KEY_BYTES, KEY_BYTES))
}
