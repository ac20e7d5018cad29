/**
 * Finds the token of a recipient in a composed message, and writes the same message with another token.
 *
 * All tokens have the same length and consist of characters that no transfer encoding escapes. So messages that differ
 * only in them are encoded alike, with line breaks at the same places, and a message with attachments of megabytes is
 * encoded once for all of its recipients. The token must be unpredictable, so that content of the client never looks
 * like it. It must stand in a URL, so that two of them share no group of base64.
 *
 * The time is linear in the size of the header and the bodies; attachments are not read.
 */
import { BASE64_LINE, BYTES_PER_LINE } from '../../base/mail/base64-lines.js'
import { scanHeader } from '../../base/mail/header-fields.js'
import type { RecipientCopy } from '../../records/messages/email/recipient-copies.js'

export type BodyEncoding = '7bit' | 'quoted-printable' | 'base64'

/** The place of the encoded text or HTML in a message, counted from its end, because the header may still change. */
export interface EncodedBody {
  readonly encoding: BodyEncoding
  /** Bytes from the body's first byte, and from the byte after its last one, to the end of the message. */
  readonly startFromEnd: number
  readonly endFromEnd: number
}

/** `text.slice(from, to)` is written at `at`. */
interface Segment {
  readonly at: number
  readonly from: number
  readonly to: number
}

interface TokenPlace {
  /** In base64, the bytes that share groups of three with the token. Null if the token stands there unencoded. */
  readonly neighbours: { readonly before: Buffer; readonly after: Buffer } | null
  /** The places of the token, or of its groups in base64. There are several if a line ends within them. */
  readonly segments: readonly Segment[]
}

/** What all copies of a message have in common: everything except the bytes between the first and the last token. */
export interface CopyFrame {
  readonly prefix: number
  readonly suffix: number
  readonly places: readonly TokenPlace[]
}

/** Returns null if the token does not occur. */
export function findCopyFrame(raw: Buffer, bodies: readonly EncodedBody[], token: string): CopyFrame | null {
  const places = findPlainPlaces(raw, 0, scanHeader(raw).bodyStart, token)
  for (const { encoding, startFromEnd, endFromEnd } of bodies) {
    const find = encoding === 'base64' ? findBase64Places : findPlainPlaces
    for (const place of find(raw, raw.length - startFromEnd, raw.length - endFromEnd, token)) places.push(place)
  }
  // The places are in the order of the message: the header, then its bodies.
  const first = places[0]?.segments[0]
  const last = places.at(-1)?.segments.at(-1)
  if (first === undefined || last === undefined) return null
  return { prefix: first.at, suffix: raw.length - (last.at + last.to - last.from), places }
}

/** Returns the bytes of each copy that it does not share. */
export function copySizeOf(raw: Buffer, { prefix, suffix }: CopyFrame): number {
  return raw.length - prefix - suffix
}

/** Writes the message with `token` into `bytes`. The token is as long as the one by which `frame` was found. */
export function writeCopy(
  raw: Buffer,
  { prefix, suffix, places }: CopyFrame,
  token: string,
  bytes: Buffer,
): RecipientCopy {
  raw.copy(bytes, 0, prefix, raw.length - suffix)
  for (const { neighbours, segments } of places) {
    const text = neighbours === null ? token : encodeGroups(neighbours, token)
    for (const { at, from, to } of segments) bytes.write(text.slice(from, to), at - prefix, 'latin1')
  }
  return { prefix, suffix, bytes }
}

function encodeGroups({ before, after }: NonNullable<TokenPlace['neighbours']>, token: string): string {
  return Buffer.concat([before, Buffer.from(token, 'latin1'), after]).toString('base64')
}

const SOFT_BREAK = '=\r\n'

/** Finds places in plain text, a header, or quoted-printable, where a soft line break may stand within the token. */
function findPlainPlaces(raw: Buffer, start: number, end: number, token: string): TokenPlace[] {
  const text = raw.toString('latin1', start, end)
  const joined = text.replaceAll(SOFT_BREAK, '')
  const places: TokenPlace[] = []
  let removed = 0
  let nextBreak = text.indexOf(SOFT_BREAK)
  // Advances to the last soft break before the place `at` of `joined`.
  const passBreaks = (at: number): void => {
    while (nextBreak !== -1 && nextBreak - removed <= at) {
      removed += SOFT_BREAK.length
      nextBreak = text.indexOf(SOFT_BREAK, nextBreak + SOFT_BREAK.length)
    }
  }
  for (let at = joined.indexOf(token); at !== -1; at = joined.indexOf(token, at + token.length)) {
    const segments: Segment[] = []
    for (let from = 0; from < token.length; ) {
      passBreaks(at + from)
      const left = nextBreak === -1 ? token.length : nextBreak - removed - at
      const to = Math.min(token.length, left)
      segments.push({ at: start + at + from + removed, from, to })
      from = to
    }
    places.push({ neighbours: null, segments })
  }
  return places
}

/** Finds places in the lines of `encodeBase64Lines`. */
function findBase64Places(raw: Buffer, start: number, end: number, token: string): TokenPlace[] {
  const decoded = Buffer.from(raw.toString('latin1', start, end), 'base64')
  const places: TokenPlace[] = []
  for (let at = decoded.indexOf(token); at !== -1; at = decoded.indexOf(token, at + token.length)) {
    const first = at - (at % 3)
    const tokenEnd = at + token.length
    const last = Math.min(decoded.length, Math.ceil(tokenEnd / 3) * 3)
    places.push({
      neighbours: {
        before: Buffer.from(decoded.subarray(first, at)),
        after: Buffer.from(decoded.subarray(tokenEnd, last)),
      },
      segments: segmentsOfGroups(start, first, last),
    })
  }
  return places
}

/** Returns the segments that encode the bytes from `first` to `last` of a body that begins at `start`. */
function segmentsOfGroups(start: number, first: number, last: number): readonly Segment[] {
  const segments: Segment[] = []
  const length = Math.ceil((last - first) / 3) * 4
  for (let from = 0; from < length; ) {
    const line = Math.floor((first + (from / 4) * 3) / BYTES_PER_LINE)
    const column = ((first + (from / 4) * 3 - line * BYTES_PER_LINE) / 3) * 4
    const to = Math.min(length, from + BASE64_LINE - column)
    segments.push({ at: start + line * (BASE64_LINE + 2) + column, from, to })
    from = to
  }
  return segments
}
