/**
 * Encodes base64 in lines of 76 characters (RFC 2045 section 6.8). Encodes line by line, which is several times as fast
 * as encoding everything and wrapping afterwards.
 */

/** Bytes that one line encodes, and its characters. */
export const BYTES_PER_LINE = 57
export const BASE64_LINE = 76

/** CRLF between the lines, none after the last. */
export function encodeBase64Lines(content: Buffer): Buffer {
  const lines = Math.ceil(content.length / BYTES_PER_LINE)
  const encoded = Buffer.allocUnsafe(Math.ceil(content.length / 3) * 4 + Math.max(0, lines - 1) * 2)
  let at = 0
  for (let from = 0; from < content.length; from += BYTES_PER_LINE) {
    if (from > 0) at += encoded.write('\r\n', at, 'latin1')
    at += encoded.write(content.toString('base64', from, from + BYTES_PER_LINE), at, 'latin1')
  }
  return encoded.subarray(0, at)
}
