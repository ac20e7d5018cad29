/** Finds the delimiter lines of a multipart (RFC 2046 section 5.1.1). Blanks may follow them. */

export interface Delimited {
  /** The parts, without the line ends that belong to the delimiters. */
  readonly parts: readonly { readonly start: number; readonly end: number }[]
  /** True if there are more delimiters after the last one. */
  readonly goesOn: boolean
  /** True if each delimiter is a whole line between CRLF, nothing else looks like one, and the last is marked. */
  readonly isExact: boolean
}

interface Search {
  readonly start: number
  readonly end: number
  readonly boundary: string
  /** The most parts. */
  readonly max: number
}

const LF = 0x0a
const CR = 0x0d
const DASH = 0x2d

/** Returns null if there is no such line, or if there are too many parts. */
export function splitAtDelimiters(raw: Buffer, { start, end, boundary, max }: Search): Delimited | null {
  const mark = Buffer.from(`--${boundary}`)
  const bytes = raw.subarray(0, end)
  const parts: { start: number; end: number }[] = []
  let open = -1
  let isExact = /^[\x20-\x7e]*[\x21-\x7e]$/.test(boundary)
  for (let at = findAtLine(bytes, mark, start, start); at !== -1; at = findAtLine(bytes, mark, at + 1, start)) {
    const line = readDelimiterLine(bytes, at + mark.length)
    if (line === null || !line.isExact || raw[at - 2] !== CR) isExact = false
    if (line === null) continue
    if (open !== -1) {
      const partEnd = at - (raw[at - 2] === CR ? 2 : 1)
      if (partEnd < open) isExact = false
      parts.push({ start: open, end: Math.max(open, partEnd) })
    }
    if (parts.length > max) return null
    if (line.isLast) {
      if (open === -1) {
        isExact = false
        continue
      }
      const next = findAtLine(bytes, mark, line.end, start)
      return { parts, goesOn: hasDelimiter(bytes, mark, next), isExact: isExact && next === -1 }
    }
    open = line.end
  }
  if (open === -1) return null
  return { parts: [...parts, { start: open, end }], goesOn: false, isExact: false }
}

/** Returns where the mark begins a line or the body, or -1 if it does not. */
function findAtLine(bytes: Buffer, mark: Buffer, from: number, bodyStart: number): number {
  let at = bytes.indexOf(mark, from)
  while (at > bodyStart && bytes[at - 1] !== LF) at = bytes.indexOf(mark, at + 1)
  return at
}

function hasDelimiter(bytes: Buffer, mark: Buffer, from: number): boolean {
  for (let at = from; at !== -1; at = findAtLine(bytes, mark, at + 1, from)) {
    const line = readDelimiterLine(bytes, at + mark.length)
    if (line !== null && !line.isLast) return true
  }
  return false
}

interface DelimiterLine {
  readonly isLast: boolean
  /** True if the line ends with CRLF, or with the multipart. */
  readonly isExact: boolean
  /** The place after its line end. */
  readonly end: number
}

/** `at` is the place after the boundary. Returns null if the line continues. */
function readDelimiterLine(bytes: Buffer, at: number): DelimiterLine | null {
  const isLast = bytes[at] === DASH && bytes[at + 1] === DASH
  let place = isLast ? at + 2 : at
  while (bytes[place] === 0x20 || bytes[place] === 0x09) place += 1
  if (place >= bytes.length) return { isLast, isExact: isLast, end: place }
  if (bytes[place] === CR && bytes[place + 1] === LF) return { isLast, isExact: true, end: place + 2 }
  return bytes[place] === LF ? { isLast, isExact: false, end: place + 1 } : null
}

/** The most lines that are checked. */
const MAX_GUESSES = 1_000
const MAX_BOUNDARY = 200
/** The most octets of the line and of the name of the field after it. */
const MAX_LINES = 300

/** Returns the boundary of the first line that looks like a delimiter before a part's header, or null. */
export function guessBoundary(raw: Buffer, start: number, end: number): string | null {
  const bytes = raw.subarray(0, end)
  let at = bytes.indexOf('--', start)
  for (let guesses = 0; at !== -1 && guesses < MAX_GUESSES; guesses += 1) {
    if (at === start || bytes[at - 1] === LF) {
      const [line = '', next = ''] = bytes.toString('utf8', at + 2, Math.min(end, at + MAX_LINES)).split('\n', 2)
      const boundary = line.trimEnd()
      if (boundary !== '' && boundary.length <= MAX_BOUNDARY && /^content-[a-z-]{1,40}[ \t]{0,9}:/i.test(next))
        return boundary
    }
    const next = bytes.indexOf('\n--', at)
    at = next === -1 ? -1 : next + 1
  }
  return null
}
