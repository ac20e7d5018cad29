/**
 * Walks the parts of a message (RFC 2045, 2046). It is the only walker, for everything that asks which parts there are:
 * bodies and files, reports, rules, tracking. So all of them see the same parts.
 *
 * It reads as the tolerant parsers do. It accepts blanks after a delimiter, delimiters of an outer multipart in an
 * inner one that does not end, a header without an empty line, and parts of a digest without a type. If a boundary is
 * missing or never occurs, the walker guesses it from the first line that looks like a delimiter and is followed by the
 * header of a part. `ambiguous` tells that programs would read the message in another way; `isExact`, of a part, that
 * none can.
 *
 * A part is opened when its reader asks for the parts in it, so a reader pays only for what it reads, and may wait
 * between two parts. Nothing is copied.
 *
 * Limits: the reader sets them, by default 1,000 parts, 20 levels, 256 MB in all passes over multiparts; 1 MB of a
 * part's header. Everything beyond them is one part, and ambiguous.
 */
import { type Header, scanHeaderOrEmpty } from '../../../../base/mail/header-fields.js'
import { DeclaredContent } from './declared-content.js'
import { type Delimited, guessBoundary, splitAtDelimiters } from './delimiters.js'

export interface Part {
  /** The header of the part. Its places count from `start`. */
  readonly header: Header
  readonly start: number
  /** Places in the message. */
  readonly bodyStart: number
  readonly end: number
  readonly content: DeclaredContent
  /** The type in lower case: the declared one, or the one that the part's place implies. */
  readonly type: string
  /** 0 is the message itself. */
  readonly depth: number
  /** True if a message in the part is shown and not attached: the part is the message itself, or a part of a digest. */
  readonly showsMessage: boolean
  /** True if all programs find the same header, type and content in the part. */
  readonly isExact: boolean
}

interface OpenedPart {
  readonly parts: readonly Part[]
  /** True if all programs find the same parts. */
  readonly isExact: boolean
}

interface WalkLimits {
  readonly parts: number
  readonly depth: number
  /** The most bytes of all passes over multiparts. */
  readonly searched: number
  /** The most bytes of the headers of all parts, except the message itself. */
  readonly headers: number
}

const defaultLimits: WalkLimits = {
  parts: 1_000,
  depth: 20,
  searched: 256 * 1_048_576,
  headers: Number.POSITIVE_INFINITY,
}
/** The most bytes of a part's header. */
export const MAX_HEADER = 1_048_576

type Place = Pick<Part, 'start' | 'end' | 'depth' | 'showsMessage'>

export class PartWalker {
  /** True if programs differ in which parts they see in what was opened so far, or in how they decode them. */
  ambiguous = false
  readonly root: Part
  private partsLeft: number
  private searchLeft: number
  private headersLeft: number

  /** `header` is that of the message, if it is known. */
  constructor(
    readonly raw: Buffer,
    header: Header | null = null,
    private readonly limits: WalkLimits = defaultLimits,
  ) {
    this.partsLeft = limits.parts
    this.searchLeft = limits.searched
    this.headersLeft = limits.headers
    this.root = this.readPart({ start: 0, end: raw.length, depth: 0, showsMessage: true }, 'text/plain', header)
  }

  /** Yields the parts that contain no others, in their order. `opens` decides whether to look into a part. */
  *leaves(opens: (part: Part) => boolean): Generator<Part> {
    const waiting: Part[] = [this.root]
    for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
      const opened = opens(part) ? this.open(part) : null
      if (opened === null) yield part
      else waiting.push(...opened.parts.toReversed())
    }
  }

  /**
   * Returns the parts of a multipart, or the message in a message that is shown. Returns null if it is neither, or if
   * its parts cannot be found.
   */
  open(part: Part): OpenedPart | null {
    if (isShownMessage(part)) return this.openMessage(part)
    const { content, bodyStart: start, end, depth } = part
    if (start >= end || !part.type.startsWith('multipart/')) return null
    if (depth >= this.limits.depth) return this.noted(null)
    const isDigest = part.type === 'multipart/digest'
    const below = { depth: depth + 1, showsMessage: isDigest }
    const found = this.split(content, start, end)
    if (found === null) return this.noted(null)
    this.partsLeft -= found.parts.length
    if (found.goesOn || content.encoding !== '') this.ambiguous = true
    const defaultType = isDigest ? 'message/rfc822' : 'text/plain'
    return {
      parts: found.parts.map((place) => this.readPart({ ...place, ...below }, defaultType)),
      isExact: found.isExact,
    }
  }

  /** Returns the message in a message, shown or attached. Only RFC 6532 lets it be encoded; few programs show that. */
  openMessage({ content, bodyStart: start, end, depth }: Part): OpenedPart | null {
    if (start >= end) return null
    if (content.encoding !== '' || depth >= this.limits.depth) return this.noted(null)
    const message = this.readPart({ start, end, depth: depth + 1, showsMessage: false }, 'text/plain')
    return { parts: [message], isExact: true }
  }

  private readPart(place: Place, defaultType: string, known: Header | null = null): Part {
    const { end } = place
    const start = this.skipStrayLine(place.start, end)
    const bytes = this.raw.subarray(start, Math.min(end, start + Math.min(MAX_HEADER, this.headersLeft)))
    const isKnown = known !== null && start === 0 && known.bodyStart <= MAX_HEADER
    const header = isKnown ? known : scanHeaderOrEmpty(bytes)
    if (place.depth > 0) this.headersLeft -= header.bodyStart
    const content = new DeclaredContent(bytes, header)
    const hasEnd = header.bodyStart > header.end
    const bodyStart = start + header.bodyStart
    if ((!hasEnd && bodyStart < end) || content.ambiguous) this.ambiguous = true
    const type = content.type || defaultType
    const isExact = hasEnd && start === place.start && content.isExact
    return { ...place, start, header, bodyStart, content, type, isExact }
  }

  private split(content: DeclaredContent, start: number, end: number): Delimited | null {
    const { boundaries } = content
    for (const [index, boundary] of boundaries.entries()) {
      const found = this.splitAt(boundary, start, end)
      // This form differs from the written one, so programs that know only the written form see no parts.
      if (found !== null) return index === 0 ? found : this.noted({ ...found, isExact: false })
    }
    const guessed = guessBoundary(this.raw, start, end)
    const found = guessed === null || boundaries.includes(guessed) ? null : this.splitAt(guessed, start, end)
    return this.noted(found === null ? null : { ...found, isExact: false })
  }

  private splitAt(boundary: string, start: number, end: number): Delimited | null {
    this.searchLeft -= end - start
    if (this.searchLeft < 0) return null
    return splitAtDelimiters(this.raw, { start, end, boundary, max: this.partsLeft })
  }

  /** Skips a line of blanks or of a mailbox file in front of a good header, which hides the header from parsers. */
  private skipStrayLine(start: number, end: number): number {
    const first = this.raw[start]
    if (first !== 0x46 && first !== 0x3e && first !== 0x20 && first !== 0x09) return start
    const line = this.raw.toString('latin1', start, Math.min(end, start + 6))
    if (!/^(?:>?From |[ \t]+[^\s])/.test(line)) return start
    const next = this.raw.indexOf('\n', start) + 1
    return next > 0 && next < end && /^[\w-]+[ \t]*:/.test(this.raw.toString('latin1', next, next + 80)) ? next : start
  }

  private noted<T>(value: T): T {
    this.ambiguous = true
    return value
  }
}

function isShownMessage({ type, content: { disposition }, showsMessage }: Part): boolean {
  return isMessage(type) && (disposition === 'inline' || (disposition === '' && showsMessage))
}

/**
 * Tells whether the type is a message: plain (RFC 2046 section 5.2.1), with UTF-8 in its header (RFC 6532 section 3.7),
 * or of news (RFC 5537 section 4.1, now obsolete).
 */
export function isMessage(type: string): boolean {
  return type === 'message/rfc822' || type === 'message/global' || type === 'message/news'
}
