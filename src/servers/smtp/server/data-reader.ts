/**
 * Reads what follows DATA: removes the dots that the client has added and finds the end (RFC 5321 section 4.5.2).
 *
 * smtp-server's parser does the same, but looks at each byte in JavaScript, copies each chunk once more, and takes a turn
 * of the event loop for each dot. This one searches for dots at the start of lines, and removes them in place: a
 * chunk is for it alone.
 *
 * As in smtp-server, only CRLF.CRLF ends the message, one of two dots is removed after a bare LF too (`line-check.ts`
 * refuses such a message), and a dot before anything else stays.
 */

const LF = 0x0a
const CR = 0x0d
const DOT = 0x2e
const DOTTED_LINE = Buffer.from('\n.')
const NONE = Buffer.alloc(0)

interface ReadChunk {
  /** Bytes of the message. */
  readonly content: Buffer
  /** What follows the end of the message. Null if the end has not come. */
  readonly rest: Buffer | null
}

/** The meaning of a dot at the start of a line. */
type DotKind = 'end' | 'added' | 'content' | 'undecided'

export class DataReader {
  /** A dot that ends a chunk, with the CR behind it. The next chunk decides what it means. */
  private undecided: Buffer = NONE
  /** The two bytes before the chunk, or before what is undecided. DATA begins with a line. */
  private before: readonly [number, number] = [CR, LF]

  read(chunk: Buffer): ReadChunk {
    const bytes = this.undecided.length === 0 ? chunk : Buffer.concat([this.undecided, chunk])
    this.undecided = NONE
    /** Where the next bytes go, and where they are now. The two differ once a dot was removed. */
    let to = 0
    let from = 0
    for (let dot = this.findFirstDot(bytes); dot !== -1; dot = findDot(bytes, dot + 1)) {
      const kind = this.judge(bytes, dot)
      if (kind === 'content') continue
      if (kind === 'undecided') this.holdBack(bytes, dot)
      to = moveTo(bytes, to, from, dot)
      if (kind === 'undecided') return { content: bytes.subarray(0, to), rest: null }
      if (kind === 'end') return { content: bytes.subarray(0, to), rest: bytes.subarray(dot + 3) }
      from = dot + 1
    }
    this.remember(bytes, bytes.length)
    return { content: bytes.subarray(0, moveTo(bytes, to, from, bytes.length)), rest: null }
  }

  private findFirstDot(bytes: Buffer): number {
    return this.before[1] === LF && bytes[0] === DOT ? 0 : findDot(bytes, 0)
  }

  /** `dot` follows an LF. */
  private judge(bytes: Buffer, dot: number): DotKind {
    const next = bytes[dot + 1]
    if (next === undefined) return 'undecided'
    if (next === DOT) return 'added'
    if (next !== CR || this.byteAt(bytes, dot - 2) !== CR) return 'content'
    if (dot + 2 === bytes.length) return 'undecided'
    return bytes[dot + 2] === LF ? 'end' : 'content'
  }

  private byteAt(bytes: Buffer, at: number): number | undefined {
    return at < 0 ? this.before[at + 2] : bytes[at]
  }

  private holdBack(bytes: Buffer, dot: number): void {
    // It is a copy, because two bytes must not keep the memory of the chunk.
    this.undecided = Buffer.from(bytes.subarray(dot))
    this.remember(bytes, dot)
  }

  /** Call it before bytes are moved. */
  private remember(bytes: Buffer, end: number): void {
    this.before = [this.byteAt(bytes, end - 2) ?? 0, this.byteAt(bytes, end - 1) ?? 0]
  }
}

/**
 * This many bytes are compared, or moved, one by one. A call of a native function costs more, and a chunk may be all
 * dots.
 */
const NEAR_BYTES = 32

/** The next dot that follows an LF, or -1 if there is none. */
function findDot(bytes: Buffer, from: number): number {
  const far = Math.min(bytes.length, from + NEAR_BYTES)
  for (let at = from; at < far; at += 1) if (bytes[at] === LF && bytes[at + 1] === DOT) return at + 1
  const lf = bytes.indexOf(DOTTED_LINE, far)
  return lf === -1 ? -1 : lf + 1
}

/** Moves the bytes from `from` to `end` down to `to`; returns where they end now. */
function moveTo(bytes: Buffer, to: number, from: number, end: number): number {
  if (to === from) return end
  if (end - from > NEAR_BYTES) bytes.copyWithin(to, from, end)
  else for (let at = from; at < end; at += 1) bytes[to + at - from] = bytes[at] ?? 0
  return to + end - from
}
