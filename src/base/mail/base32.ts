/**
 * Encodes and decodes base32 without padding, with any alphabet of 32 characters (RFC 4648 sections 6 and 7): five bits
 * a character, the unused bits of the last one are 0.
 */

export function encodeBase32(bytes: Buffer, alphabet: string): string {
  let text = ''
  let bits = 0
  let held = 0
  for (const byte of bytes) {
    held = ((held << 8) | byte) & 0xfff
    for (bits += 8; bits >= 5; bits -= 5) text += alphabet.charAt((held >> (bits - 5)) & 31)
  }
  return bits > 0 ? text + alphabet.charAt((held << (5 - bits)) & 31) : text
}

/** The first `size` bytes. `text` has characters of the alphabet only. */
export function decodeBase32(text: string, size: number, alphabet: string): Buffer {
  const bytes = Buffer.alloc(size)
  let bits = 0
  let held = 0
  let at = 0
  for (const char of text) {
    held = ((held << 5) | alphabet.indexOf(char)) & 0xfff
    bits += 5
    if (bits < 8) continue
    bits -= 8
    if (at < size) bytes[at++] = (held >> bits) & 0xff
  }
  return bytes
}
