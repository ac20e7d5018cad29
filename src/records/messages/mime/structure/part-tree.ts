/**
 * The parts of a message as its reader is meant to see them (RFC 2045, 2046), however the message is written.
 *
 * It reads as the generous parsers do: blanks behind a delimiter, delimiters of an outer multipart in an inner one that does
 * not end, a header without an empty line, a digest's parts without a type. A boundary that is missing or never comes is
 * guessed from the first line that looks like a delimiter and is followed by the header of a part. `odd` tells that
 * mailparser would read the message in another way; `ambiguous` that programs would.
 *
 * Limits: 1,000 parts, 20 levels, 256 MB in all passes over multiparts. What lies beyond them is one part, and ambiguous.
 */
import { type Header, scanHeaderOrEmpty } from '../../../../base/mail/header-fields.js'
import { type DeclaredContent, readDeclaredContent } from './declared-content.js'
import { type Delimited, guessBoundary, splitAtDelimiters } from './delimiters.js'

export interface Part {
  /** Its header; the places count from `start`. */
  readonly header: Header
  readonly start: number
  /** Places in the message. */
  readonly bodyStart: number
  readonly end: number
  readonly content: DeclaredContent
  /** In lower case: as declared, or what it means in its place. */
  readonly type: string
  /** Null: it is no multipart, or its parts cannot be found. A message that is shown in a message has one. */
  readonly children: readonly Part[] | null
}

interface PartTree {
  readonly root: Part
  readonly odd: boolean
  readonly ambiguous: boolean
}

const MAX_PARTS = 1_000
const MAX_DEPTH = 20
const MAX_SEARCHED = 256 * 1_048_576
/** Bytes of a part's header; mailparser reads no message with a longer one. */
const MAX_HEADER = 1_048_576

interface Place {
  readonly start: number
  readonly end: number
  readonly depth: number
  /** It stands where a message is shown and not attached: it is the message itself, or a part of a digest. */
  readonly showsMessage: boolean
  /** The type of a part that declares none. */
  readonly defaultType: string
}

/** Finds the parts for a reader that needs nothing else. */
export function readPartTree(raw: Buffer): Part {
  return new PartTreeReader(raw, () => true).read().root
}

export class PartTreeReader {
  private odd = false
  private ambiguous = false
  private partsLeft = MAX_PARTS
  private searchLeft = MAX_SEARCHED

  constructor(
    private readonly raw: Buffer,
    /** Whether mailparser reads the header of a part in the same way. */
    private readonly isReadAlike: (raw: Buffer, header: Header, content: DeclaredContent) => boolean,
  ) {}

  read(): PartTree {
    const root = this.readPart({
      start: 0,
      end: this.raw.length,
      depth: 0,
      showsMessage: true,
      defaultType: 'text/plain',
    })
    return { root, odd: this.odd, ambiguous: this.ambiguous }
  }

  private readPart({ start: from, end, depth, showsMessage, defaultType }: Place): Part {
    const start = this.skipStrayLine(from, end)
    const bytes = this.raw.subarray(start, Math.min(end, start + MAX_HEADER))
    const header = scanHeaderOrEmpty(bytes)
    const content = readDeclaredContent(bytes, header)
    const bodyStart = start + header.bodyStart
    if (start !== from || !this.isReadAlike(bytes, header, content)) this.odd = true
    const isCut = header.end === MAX_HEADER
    if (header.bodyStart === header.end && bodyStart < end && !isCut) this.note()
    if (content.ambiguous) this.note()
    const type = content.type || defaultType
    if (content.type === '' && defaultType !== 'text/plain') this.odd = true
    const place = { start: bodyStart, end, depth, showsMessage }
    const part = { header, start, bodyStart, end, content, type }
    return { ...part, children: isCut ? null : this.readChildren(part, place) }
  }

  private readChildren({ type, content }: Omit<Part, 'children'>, body: Omit<Place, 'defaultType'>): Part['children'] {
    const { start, end, depth, showsMessage } = body
    if (start >= end) return null
    const isShownMessage = isMessage(type) && isShown(content.disposition, showsMessage)
    if (!isShownMessage && !type.startsWith('multipart/')) return null
    // No standard but RFC 6532 allows to encode a message as a whole, and few programs show one.
    if (isShownMessage && content.encoding !== '') {
      this.ambiguous = true
      return null
    }
    if (depth === MAX_DEPTH) return this.giveUp()
    const isDigest = type === 'multipart/digest'
    const defaultType = isDigest ? 'message/rfc822' : 'text/plain'
    const below = { depth: depth + 1, showsMessage: isDigest, defaultType }
    if (isShownMessage) {
      // mailparser takes it for a file without a disposition, and under its other names.
      if (content.disposition === '' || type !== 'message/rfc822') this.odd = true
      return [this.readPart({ start, end, ...below })]
    }
    const found = this.split(content, start, end)
    if (found === null) return this.giveUp()
    this.partsLeft -= found.parts.length
    if (found.isOdd) this.odd = true
    if (found.goesOn || content.encoding !== '') this.note()
    return found.parts.map((part) => this.readPart({ ...part, ...below }))
  }

  private split({ boundaries }: DeclaredContent, start: number, end: number): Delimited | null {
    for (const [index, boundary] of boundaries.entries()) {
      const found = this.splitAt(boundary, start, end)
      // Another form than the written one: programs that know only that see no parts.
      if (found !== null) return index === 0 ? found : this.noted(found)
    }
    const guessed = guessBoundary(this.raw, start, end)
    return guessed === null || boundaries.includes(guessed) ? null : this.noted(this.splitAt(guessed, start, end))
  }

  private splitAt(boundary: string, start: number, end: number): Delimited | null {
    this.searchLeft -= end - start
    if (this.searchLeft < 0) return null
    return splitAtDelimiters(this.raw, { start, end, boundary, max: this.partsLeft })
  }

  /** A line of blanks or of a mailbox file in front of a good header hides it from parsers. */
  private skipStrayLine(start: number, end: number): number {
    const line = this.raw.toString('latin1', start, Math.min(end, start + 6))
    if (!/^(?:>?From |[ \t]+[^\s])/.test(line)) return start
    const next = this.raw.indexOf('\n', start) + 1
    return next > 0 && next < end && /^[\w-]+[ \t]*:/.test(this.raw.toString('latin1', next, next + 80)) ? next : start
  }

  private noted<T>(value: T): T {
    this.note()
    return value
  }

  private giveUp(): null {
    return this.noted(null)
  }

  private note(): void {
    this.odd = true
    this.ambiguous = true
  }
}

/** RFC 2046 section 5.2.1; with UTF-8 in its header (RFC 6532 section 3.7); of news (RFC 5537 section 4.1, now obsolete). */
export function isMessage(type: string): boolean {
  return type === 'message/rfc822' || type === 'message/global' || type === 'message/news'
}

function isShown(disposition: string, showsMessage: boolean): boolean {
  return disposition === 'inline' || (disposition === '' && showsMessage)
}
