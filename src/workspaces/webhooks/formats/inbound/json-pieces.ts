/**
 * Encodes bytes as JSON texts, piece by piece, so that the heap never holds a message of megabytes as one string.
 */

const QUOTE = Buffer.from('"')
/** Bytes of a piece; a multiple of 3, so that pieces in base64 join without padding. */
const PIECE = 49_152

/** A JSON string of the bytes in base64. */
export function encodeBase64(bytes: Buffer): readonly Buffer[] {
  return [QUOTE, ...piecesOf(bytes).map((piece) => Buffer.from(piece.toString('base64'))), QUOTE]
}

/** A JSON string of the bytes as UTF-8. Bytes that are not UTF-8 become U+FFFD. */
export function encodeUtf8(bytes: Buffer): readonly Buffer[] {
  const decoded = decodeUtf8(bytes)
  return [QUOTE, ...decoded.map((text) => Buffer.from(JSON.stringify(text).slice(1, -1))), QUOTE]
}

/** Texts that join to the bytes as UTF-8. No text ends within a character. */
export function decodeUtf8(bytes: Buffer): readonly string[] {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const texts = piecesOf(bytes).map((piece) => decoder.decode(piece, { stream: true }))
  return [...texts, decoder.decode()]
}

function piecesOf(bytes: Buffer): readonly Buffer[] {
  const count = Math.ceil(bytes.length / PIECE)
  return Array.from({ length: count }, (_, place) => bytes.subarray(place * PIECE, (place + 1) * PIECE))
}
