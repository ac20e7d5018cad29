/**
 * The form of a message's lines, looked at once before anything else reads it.
 *
 * A line ends with CRLF and holds no CR, LF or NUL (RFC 5321 section 2.3.8, RFC 5322
 * section 2.3): servers that disagree about a bare CR or LF see different messages,
 * which is how mail is smuggled. RFC 5322 section 2.1.1 allows 998 octets in a line;
 * many programs send more, so the limit is the caller's.
 *
 * One pass over the bytes: about a microsecond a kilobyte.
 */
import { isAscii } from 'node:buffer'

export interface FormLimits {
  /** Octets in one line, its CRLF not counted. */
  readonly lineOctets: number
}

export type MessageForm =
  /** `has8bit`: some byte is not ASCII (8BITMIME, RFC 6152). */
  | { readonly kind: 'ok'; readonly has8bit: boolean }
  /** Bare CR, bare LF or NUL; `line` counts from 1. */
  | { readonly kind: 'bare-line-break'; readonly line: number }
  | { readonly kind: 'line-too-long'; readonly line: number; readonly octets: number }

const NUL = 0x00
const LF = 0x0a
const CR = 0x0d

export function checkForm(raw: Buffer, { lineOctets }: FormLimits): MessageForm {
  let line = 1
  let start = 0
  for (let at = 0; at < raw.length; at++) {
    const byte = raw[at] as number
    if (byte > CR) continue
    if (byte === CR && raw[at + 1] === LF) {
      if (at - start > lineOctets) return { kind: 'line-too-long', line, octets: at - start }
      at++
      start = at + 1
      line++
    } else if (byte === CR || byte === LF || byte === NUL) {
      return { kind: 'bare-line-break', line }
    }
  }
  if (raw.length - start > lineOctets) return { kind: 'line-too-long', line, octets: raw.length - start }
  return { kind: 'ok', has8bit: !isAscii(raw) }
}
