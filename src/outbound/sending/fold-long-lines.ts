/** Folds header lines that are longer than a limit (RFC 5322 section 2.2.3). Pure. Each octet is visited a few times. */

const LF = 0x0a
const SPACE = 0x20
const TAB = 0x09
const CRLF = Buffer.from('\r\n')

/**
 * `bytes` are lines that end with CRLF; the last may lack it. Returns null if a line has no blank at which it could be
 * folded. Blanks at the end of a line that is too long are dropped: a line of only blanks would end the header for some
 * readers.
 */
export function foldLongLines(bytes: Buffer, maxLineOctets: number): Buffer | null {
  const pieces: Buffer[] = []
  for (let start = 0; start < bytes.length; ) {
    const lf = bytes.indexOf(LF, start)
    const lineEnd = lf === -1 ? bytes.length : lf - 1
    const next = lf === -1 ? bytes.length : lf + 1
    const folded = lineEnd - start > maxLineOctets ? foldLine(bytes.subarray(start, lineEnd), maxLineOctets) : null
    if (folded === null && lineEnd - start > maxLineOctets) return null
    pieces.push(...(folded ?? [bytes.subarray(start, lineEnd)]), bytes.subarray(lineEnd, next))
    start = next
  }
  return Buffer.concat(pieces)
}

function foldLine(written: Buffer, maxLineOctets: number): readonly Buffer[] | null {
  const line = written.subarray(0, findTextEnd(written))
  const pieces: Buffer[] = []
  let start = 0
  while (line.length - start > maxLineOctets) {
    const text = findText(line, start)
    let at = start + maxLineOctets
    while (at > text && !isBlank(line[at])) at -= 1
    if (at <= text) return null
    pieces.push(line.subarray(start, at), CRLF)
    start = at
  }
  return [...pieces, line.subarray(start)]
}

/** The place of the first octet that is no blank. */
function findText(line: Buffer, start: number): number {
  let at = start
  while (isBlank(line[at])) at += 1
  return at
}

function findTextEnd(line: Buffer): number {
  let end = line.length
  while (end > 0 && isBlank(line[end - 1])) end -= 1
  return end
}

function isBlank(octet: number | undefined): boolean {
  return octet === SPACE || octet === TAB
}
