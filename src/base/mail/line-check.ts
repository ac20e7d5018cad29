/**
 * Checks the lines of a message once, before anything else reads it.
 *
 * A line ends with CRLF and holds no CR, LF or NUL (RFC 5321 section 2.3.8, RFC 5322 section 2.3): servers
 * that disagree about a bare CR or LF see different messages, which makes SMTP smuggling possible. RFC 5322
 * section 2.1.1 allows 998 octets in a line; many programs send more, so the caller sets the limit.
 *
 * The check searches for bytes instead of visiting each: a fraction of a microsecond for a kilobyte of common
 * lines. 34 MB of the shortest lines take half a second, so the check runs in steps.
 */
import { isAscii } from 'node:buffer'

export interface LineLimits {
  /** Octets in one line without its CRLF. */
  readonly maxLineOctets: number
}

export type LineCheck =
  /** `has8bit` says that at least one byte is not ASCII (8BITMIME, RFC 6152). */
  | { readonly kind: 'ok'; readonly has8bit: boolean }
  /** Bare CR, bare LF or NUL; `line` counts from 1. */
  | { readonly kind: 'bare-line-break'; readonly line: number }
  | { readonly kind: 'line-too-long'; readonly line: number; readonly octets: number }

const NUL = 0x00
const LF = 0x0a
const CR = 0x0d

/** Lines of one step, which takes a millisecond or two. */
const LINES_PER_STEP = 16_384

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
