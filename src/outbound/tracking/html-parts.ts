/**
 * Finds the HTML bodies of a MIME message with their places (RFC 2046), or why the message must stay as it is.
 *
 * Strict where readers differ: a boundary that is missing, occurs after the last part or begins another line, a
 * second Content-Type, or a part without an empty line after its header makes the whole message malformed.
 * Files (`mail/file-part`), message/*, multipart/report and the like, and all but the root of multipart/related are not bodies.
 *
 * Limits: 10 levels, 500 parts, 128 KB of their headers, 64 MB in all passes over multiparts. What exceeds them is
 * malformed too.
 */
import { fileNameOf, isFilePart, type PartPlace } from '../../base/mail/file-part.js'
import { findFields, type Header, readFieldValue, scanHeaderOrEmpty } from '../../base/mail/header-fields.js'
import { parseDeclaredValue, readDeclaredWord } from './content-type.js'
import { type Region, splitParts } from './split-parts.js'
import type { TrackingSkip } from './track-email.js'

const MAX_DEPTH = 10
const MAX_PARTS = 500
/** Bytes. */
const MAX_PART_HEADERS = 131_072
const MAX_SEARCHED = 64 * 1_048_576

/** A part of the message; places count from the start of the message. */
interface MimePart {
  readonly start: number
  readonly end: number
  /** Its places count from `start`. */
  readonly header: Header
}

export interface HtmlPart extends MimePart {
  /** The declared charset; null: none is declared. */
  readonly charset: string | null
}

interface Found {
  readonly htmlParts: HtmlPart[]
  /** Parts that may still be found, and bytes that their headers may have. */
  partsLeft: number
  headerLeft: number
  /** Bytes in which delimiters may still be looked for. */
  searchLeft: number
  /** Why there may be HTML that is not touched. */
  skipped: TrackingSkip | null
}

/** Ends the search: the message must stay as it is. */
class Untouchable extends Error {}

export function findHtmlParts(raw: Buffer, header: Header): readonly HtmlPart[] | TrackingSkip {
  const limits = { partsLeft: MAX_PARTS - 1, headerLeft: MAX_PART_HEADERS, searchLeft: MAX_SEARCHED }
  const found: Found = { htmlParts: [], ...limits, skipped: null }
  try {
    searchPart(raw, { start: 0, end: raw.length, header }, { place: 'message', depth: 0 }, found)
  } catch (error) {
    if (error instanceof Untouchable) return 'malformed'
    throw error
  }
  return found.htmlParts.length === 0 && found.skipped !== null ? found.skipped : found.htmlParts
}

interface Position {
  readonly place: PartPlace
  readonly depth: number
}

function searchPart(raw: Buffer, part: MimePart, position: Position, found: Found): void {
  const value = readOnlyField(raw, part, 'content-type') ?? ''
  readOnlyField(raw, part, 'content-transfer-encoding')
  const type = readDeclaredWord(value)
  if (type === 'text/html') addHtmlPart(raw, part, { type: value, place: position.place }, found)
  else if (type.startsWith('multipart/')) searchMultipart(raw, part, { ...position, type, value }, found)
  else if (/^application\/(?:x-)?pkcs7-mime$/.test(type))
    found.skipped ??= /signed/i.test(value) ? 'signed' : 'encrypted'
}

/** Null: there is none. */
function readOnlyField(raw: Buffer, { start, header }: MimePart, name: string): string | null {
  const fields = findFields(header, name)
  if (fields.length > 1) throw new Untouchable()
  const [field] = fields
  return field === undefined ? null : readFieldValue(raw.subarray(start), field)
}

interface DeclaredHtml {
  /** The value of Content-Type. */
  readonly type: string
  readonly place: PartPlace
}

function addHtmlPart(raw: Buffer, part: MimePart, { type, place }: DeclaredHtml, found: Found): void {
  const written = readOnlyField(raw, part, 'content-disposition') ?? ''
  const disposition = written === '' ? '' : readDeclaredWord(written) || 'unreadable'
  if (isFilePart({ disposition, dispositionName: fileNameOf(written), typeName: fileNameOf(type) }, place)) return
  const declared = parseDeclaredValue(type)
  if (declared === null || part.header.bodyStart === part.header.end) throw new Untouchable()
  found.htmlParts.push({ ...part, charset: declared.parameters.get('charset') ?? null })
}

interface Multipart extends Position {
  readonly type: string
  readonly value: string
}

function searchMultipart(raw: Buffer, part: MimePart, { type, value, place, depth }: Multipart, found: Found): void {
  if (type === 'multipart/signed') found.skipped ??= 'signed'
  if (type === 'multipart/encrypted') found.skipped ??= 'encrypted'
  if (!/^multipart\/(?:alternative|mixed|related)$/.test(type)) return
  const declared = parseDeclaredValue(value)
  const boundary = declared?.parameters.get('boundary') ?? ''
  const { start, end, header } = part
  found.searchLeft -= end - start
  if (declared === null || header.bodyStart === header.end) throw new Untouchable()
  if (depth === MAX_DEPTH || found.searchLeft < 0) throw new Untouchable()
  const regions = splitParts(raw, { start: start + header.bodyStart, end }, boundary, found.partsLeft)
  if (regions === null) throw new Untouchable()
  found.partsLeft -= regions.length
  const children = regions.map((region) => scanPart(raw, region, found))
  const searched = type === 'multipart/related' ? findRoot(raw, children, declared.parameters.get('start')) : children
  const inner = type !== 'multipart/mixed' || place === 'body' ? 'body' : 'other'
  for (const child of searched) searchPart(raw, child, { place: inner, depth: depth + 1 }, found)
}

function scanPart(raw: Buffer, { start, end }: Region, found: Found): MimePart {
  const header = scanHeaderOrEmpty(raw.subarray(start, Math.min(end, start + found.headerLeft)))
  found.headerLeft -= header.bodyStart
  if (header.bodyStart === header.end && end > start) throw new Untouchable()
  return { start, end, header }
}

/** RFC 2387 section 3.2: the part that `start` names, else the first. */
function findRoot(raw: Buffer, children: readonly MimePart[], start: string | undefined): readonly MimePart[] {
  if (start === undefined) return children.slice(0, 1)
  const root = children.find((child) => readOnlyField(raw, child, 'content-id') === start)
  if (root === undefined) throw new Untouchable()
  return [root]
}
