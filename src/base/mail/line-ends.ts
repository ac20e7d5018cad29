/**
 * Converts the line ends of large text, in one pass over the bytes: a regular expression would cost a match for each of
 * millions of lines.
 */

const CR = 0x0d
const LF = 0x0a

/** The same lines, each ended by CRLF. CR, LF and CRLF count as line ends. */
export function withCrlf(text: Buffer): Buffer {
  const converted = Buffer.allocUnsafe(text.length + countLoneLineEnds(text))
  let at = 0
  for (let from = 0; from < text.length; from += 1) {
    const byte = text[from] ?? 0
    if (byte !== CR && byte !== LF) {
      converted[at++] = byte
      continue
    }
    converted[at++] = CR
    converted[at++] = LF
    if (byte === CR && text[from + 1] === LF) from += 1
  }
  return converted
}

function countLoneLineEnds(text: Buffer): number {
  let count = 0
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === LF ? text[at - 1] !== CR : text[at] === CR && text[at + 1] !== LF) count += 1
  }
  return count
}
