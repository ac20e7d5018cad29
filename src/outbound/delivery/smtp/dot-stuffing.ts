/**
 * Encodes a message for DATA (RFC 5321 section 4.5.2).
 *
 * A line that begins with a dot gets a second dot, and a line with a single dot ends the message. A message that
 * already ends with CRLF gets no other CRLF. Pieces may be cut anywhere, even inside a CRLF. A block that needs no dot
 * is passed on without a copy, so that memory stays bounded for any content. Only CRLF ends a line, because bare CR and
 * LF were refused when the message was accepted.
 */
const BLOCK_SIZE = 128 * 1024
const DOT = 0x2e
const CR = 0x0d
const LF = 0x0a
const DOTTED_LINE = Buffer.from('\r\n.')
const END = Buffer.from('.\r\n')
const LINE_END = Buffer.from('\r\n.\r\n')

/** Says how the bytes so far end. */
type Tail = 'line-start' | 'cr' | 'inside'

export function* dotStuff(pieces: readonly Buffer[]): Generator<Buffer> {
  let tail: Tail = 'line-start'
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += BLOCK_SIZE) {
      const block = piece.subarray(at, at + BLOCK_SIZE)
      yield stuffBlock(block, tail)
      tail = tailAfter(block, tail)
    }
  }
  yield tail === 'line-start' ? END : LINE_END
}

function tailAfter(block: Buffer, before: Tail): Tail {
  const last = block.at(-1)
  if (last === CR) return 'cr'
  const previousIsCr = block.length > 1 ? block.at(-2) === CR : before === 'cr'
  return last === LF && previousIsCr ? 'line-start' : 'inside'
}

function stuffBlock(block: Buffer, tail: Tail): Buffer {
  const dots = findLineDots(block, tail)
  if (dots.length === 0) return block
  const out = Buffer.allocUnsafe(block.length + dots.length)
  let from = 0
  let to = 0
  for (const dot of dots) {
    to += block.copy(out, to, from, dot)
    out[to++] = DOT
    from = dot
  }
  block.copy(out, to, from)
  return out
}

/** Returns the positions of dots at the start of a line. */
function findLineDots(block: Buffer, tail: Tail): readonly number[] {
  const dots: number[] = []
  const start = tail === 'line-start' ? 0 : tail === 'cr' && block[0] === LF ? 1 : -1
  if (start !== -1 && block[start] === DOT) dots.push(start)
  for (let at = block.indexOf(DOTTED_LINE); at !== -1; at = block.indexOf(DOTTED_LINE, at + 3)) dots.push(at + 2)
  return dots
}
