/** Splits the body of a multipart at its delimiter lines (RFC 2046 section 5.1.1), strictly and in one pass. */

/** Bytes of the message, without the line ends that belong to the delimiter lines. */
export interface Region {
  readonly start: number
  readonly end: number
}

const MAX_BOUNDARY = 200
const CRLF = '\r\n'

/** The body begins after an empty line. Null: the delimiters are not as they must be, or there are more than `max` parts. */
export function splitParts(raw: Buffer, body: Region, boundary: string, max: number): readonly Region[] | null {
  if (!/^[\x20-\x7e]*[\x21-\x7e]$/.test(boundary) || boundary.length > MAX_BOUNDARY) return null
  const bytes = raw.subarray(0, body.end)
  const mark = Buffer.from(`${CRLF}--${boundary}`, 'latin1')
  const regions: Region[] = []
  let partStart = -1
  // The line end of the empty line may be that of the first delimiter.
  for (let at = bytes.indexOf(mark, body.start - CRLF.length); at !== -1; ) {
    const line = readDelimiter(bytes, at + mark.length)
    if (line === null) return null
    if (partStart !== -1) regions.push({ start: partStart, end: at })
    if (partStart > at || regions.length > max) return null
    if (line.isLast) return partStart === -1 || bytes.indexOf(mark, line.end) !== -1 ? null : regions
    partStart = line.end + CRLF.length
    at = bytes.indexOf(mark, line.end)
  }
  return null
}

/** `end`: before the line end. Null: the line begins like a delimiter and goes on, or its end is missing. */
function readDelimiter(body: Buffer, at: number): { readonly isLast: boolean; readonly end: number } | null {
  const found = body.indexOf(CRLF, at, 'latin1')
  const end = found === -1 ? body.length : found
  const isLast = body[at] === 0x2d && body[at + 1] === 0x2d
  for (let place = isLast ? at + 2 : at; place < end; place += 1) {
    if (body[place] !== 0x20 && body[place] !== 0x09) return null
  }
  return found === -1 && !isLast ? null : { isLast, end }
}
