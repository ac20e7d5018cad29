/**
 * The form of a message's lines, looked at once before anything else reads it.
 *
 * A line ends with CRLF and holds no CR, LF or NUL (RFC 5321 section 2.3.8, RFC 5322
 * section 2.3): servers that disagree about a bare CR or LF see different messages,
 * which is how mail is smuggled. RFC 5322 section 2.1.1 allows 998 octets in a line;
 * many programs send more, so the limit is the caller's.
 *
 * Bytes are looked for, not looked at one by one: a fraction of a microsecond a kilobyte of common
 * lines. Of the shortest lines it is half a second for 34 MB, so it can be done in steps.
 */
import { isAscii } from 'node:buffer'

export interface LineLimits {
  /** Octets in one line, its CRLF not counted. */
  readonly maxLineOctets: number
}

export type LineCheck =
  /** `has8bit`: some byte is not ASCII (8BITMIME, RFC 6152). */
  | { readonly kind: 'ok'; readonly has8bit: boolean }
  /** Bare CR, bare LF or NUL; `line` counts from 1. */
  | { readonly kind: 'bare-line-break'; readonly line: number }
  | { readonly kind: 'line-too-long'; readonly line: number; readonly octets: number }

const NUL = 0x00
const LF = 0x0a
const CR = 0x0d

/** Lines of one step: two milliseconds. */
const LINES_PER_STEP = 65_536

/** Yields after each step but the last. */
export function* checkLinesInSteps(
  raw: Buffer,
  { maxLineOctets }: LineLimits,
): Generator<undefined, LineCheck, undefined> {
  let line = 1
  let start = 0
  const nul = indexOrEnd(raw, NUL, 0)
  let cr = indexOrEnd(raw, CR, 0)
  for (;;) {
    const lf = indexOrEnd(raw, LF, start)
    const end = lf < raw.length ? lf - 1 : lf
    if (nul < lf || cr < end || (lf < raw.length && cr !== end)) return { kind: 'bare-line-break', line }
    if (end - start > maxLineOctets) return { kind: 'line-too-long', line, octets: end - start }
    if (lf === raw.length) return { kind: 'ok', has8bit: !isAscii(raw) }
    start = lf + 1
    cr = indexOrEnd(raw, CR, start)
    line++
    if (line % LINES_PER_STEP === 0) yield
  }
}

function indexOrEnd(raw: Buffer, byte: number, from: number): number {
  const at = raw.indexOf(byte, from)
  return at === -1 ? raw.length : at
}
