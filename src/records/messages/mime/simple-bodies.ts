/**
 * The bodies of a message of simple structure, read in one pass: one text, or multiparts of texts, in UTF-8 or ASCII,
 * without attachments. Most mail is of this kind, and the complete parser takes ten times as long for it.
 *
 * It reads only what has a single meaning, and then gives what mailparser gives (a test compares them); for everything
 * else it returns null: other charsets, names of files, repeated fields, flowed text, a boundary that is missing or
 * followed by something odd, CR or LF alone, a part without content.
 *
 * Limits: messages of less than 64 KB, 20 parts, multiparts nested four deep.
 */
import { isUtf8 } from 'node:buffer'
import { type Header, type HeaderField, readFieldValue, scanHeader } from '../../../base/mail/header-fields.js'
import { decodeLooseQuotedPrintable } from './loose-quoted-printable.js'

const MAX_SIZE = 65_536
const MAX_PARTS = 20
const MAX_DEPTH = 4
/** Characters of a value. */
const MAX_VALUE = 500

/** Joins texts as mailparser does: undefined if there is none. */
export interface JoinedBodies {
  readonly html?: string | undefined
  readonly text?: string | undefined
}

interface SimpleBodies extends JoinedBodies {
  /** The only body is the message itself and as written, so the line end of its last line belongs to the message. */
  readonly lastLineEnds: boolean
}

/** What the header of a part says about its content. */
interface ContentHeader {
  readonly type: string
  readonly encoding: string
  /** The boundary of a multipart. */
  readonly boundary: string
}

interface Leaf {
  readonly isHtml: boolean
  readonly content: string
  /** It is one of several alternatives, or within one. */
  readonly alternative: boolean
}

const LF = 0x0a
const CR = 0x0d
const DASH = 0x2d

/** Null: not of a simple structure. */
export function readSimpleBodies(raw: Buffer, header: Header): SimpleBodies | null {
  if (raw.length >= MAX_SIZE || hasLoneCr(raw)) return null
  const leaves: Leaf[] = []
  const root = readContentHeader(raw, header)
  if (root === null || !collectLeaves(raw, header, root, { leaves, alternative: false, depth: 0 })) return null
  const isText = root.boundary === ''
  const { html, text } = joinBodies(leaves, isText)
  return { html, text, lastLineEnds: isText && root.encoding !== 'base64' }
}

function hasLoneCr(raw: Buffer): boolean {
  for (let at = raw.indexOf(CR); at !== -1; at = raw.indexOf(CR, at + 1)) if (raw[at + 1] !== LF) return true
  return false
}

interface Collected {
  readonly leaves: Leaf[]
  readonly alternative: boolean
  readonly depth: number
}

/** False: not of a simple structure. */
function collectLeaves(raw: Buffer, header: Header, content: ContentHeader, to: Collected): boolean {
  const { leaves, depth } = to
  if (content.boundary === '') {
    const decoded = decodeContent(raw.subarray(header.bodyStart), content.encoding)
    if (decoded === null || leaves.length === MAX_PARTS) return false
    const { alternative } = to
    leaves.push({ isHtml: content.type === 'text/html', content: decoded.replaceAll('\r\n', '\n'), alternative })
    return true
  }
  const parts = depth === MAX_DEPTH ? null : splitParts(raw.subarray(header.bodyStart), content.boundary)
  const alternative = to.alternative || content.type === 'multipart/alternative'
  return parts?.every((part) => collectPart(part, { leaves, alternative, depth: depth + 1 })) ?? false
}

function collectPart(part: Buffer, to: Collected): boolean {
  const header = scanHeader(part)
  if (header.bodyStart >= part.length) return false
  const content = readContentHeader(part, header)
  return content !== null && collectLeaves(part, header, content, to)
}

const contentFields = new Set(['content-type', 'content-transfer-encoding', 'content-disposition'])

/** Null: something unusual. */
function readContentHeader(raw: Buffer, header: Header): ContentHeader | null {
  // Without an empty line, or with one of these beginnings, mailparser sees another header.
  if (header.bodyStart === header.end || /^(?:from|post) /i.test(raw.toString('latin1', 0, 5))) return null
  const values = new Map<string, string>()
  for (const field of header.fields) {
    if (!contentFields.has(field.name)) continue
    if (values.has(field.name) || field.end - field.colon > MAX_VALUE || !isPlainValue(raw, field)) return null
    values.set(field.name, readValue(raw, field))
  }
  const encoding = values.get('content-transfer-encoding') ?? ''
  if (!/^(?:|7bit|8bit|quoted-printable|base64)$/.test(encoding)) return null
  if (!/^(?:|inline)$/.test(values.get('content-disposition') ?? '')) return null
  const type = parseContentType(values.get('content-type') ?? 'text/plain')
  return type === null ? null : { type: type.type, boundary: type.boundary, encoding }
}

/** Printable ASCII and blanks: parsers differ in which other characters are blanks. */
function isPlainValue(raw: Buffer, { colon, end }: HeaderField): boolean {
  return /^[\t\r\n\x20-\x7e]*$/.test(raw.toString('latin1', colon + 1, end))
}

/** In lower case, but for what is quoted. */
function readValue(raw: Buffer, field: HeaderField): string {
  const value = readFieldValue(raw, field)
  return field.name === 'content-type' ? value : value.toLowerCase()
}

const typePattern =
  /^(text\/(?:plain|html)|multipart\/(?:alternative|mixed|related))((?:[ \t]*;[ \t]*[a-z]+=(?:"[^"\\]*"|[^\s"();\\=]+))*)[ \t]*;?$/i
const parameterPattern = /;[ \t]*([a-z]+)=(?:"([^"\\]*)"|([^\s"();\\=]+))/gi

function parseContentType(value: string): Omit<ContentHeader, 'encoding'> | null {
  const [, written = '', parameters = ''] = typePattern.exec(value) ?? []
  const type = written.toLowerCase()
  const known = new Map<string, string>()
  for (const [, name = '', quoted, plain] of parameters.matchAll(parameterPattern)) {
    if (known.has(name.toLowerCase())) return null
    known.set(name.toLowerCase(), quoted ?? plain ?? '')
  }
  if (type.startsWith('text/')) return [...known].every(isPlainCharset) ? { type, boundary: '' } : null
  const boundary = known.get('boundary') ?? ''
  const isUsual = [...known.keys()].every((name) => name === 'boundary' || name === 'type' || name === 'charset')
  return isUsual && /^[\x21-\x7e]+$/.test(boundary) ? { type, boundary } : null
}

function isPlainCharset([name, value]: readonly [string, string]): boolean {
  return name === 'charset' && /^(?:utf-?8|(?:us-)?ascii)$/i.test(value)
}

/** Header and content of each part, without the line end that belongs to the next delimiter. Null: not simple. */
function splitParts(body: Buffer, boundary: string): readonly Buffer[] | null {
  const delimiter = Buffer.from(`--${boundary}`, 'latin1')
  const parts: Buffer[] = []
  let start = -1
  for (let at = body.indexOf(delimiter); at !== -1; at = body.indexOf(delimiter, at + 1)) {
    if (at > 0 && body[at - 1] !== LF) continue
    if (start !== -1) {
      const end = at - (body[at - 2] === CR ? 2 : 1)
      if (end <= start || parts.length === MAX_PARTS) return null
      parts.push(body.subarray(start, end))
    }
    const after = at + delimiter.length
    if (body[after] === DASH && body[after + 1] === DASH) {
      const isEnd = start !== -1 && isLineEnd(body, after + 2) && !body.includes(delimiter, after)
      return isEnd ? parts : null
    }
    if (after >= body.length || !isLineEnd(body, after)) return null
    start = body.indexOf(LF, after) + 1
  }
  return null
}

function isLineEnd(body: Buffer, at: number): boolean {
  return at >= body.length || body[at] === LF || (body[at] === CR && body[at + 1] === LF)
}

/** Null: something that decoders read differently. */
function decodeContent(content: Buffer, encoding: string): string | null {
  if (encoding === 'quoted-printable') return toText(decodeLooseQuotedPrintable(content))
  if (encoding !== 'base64') return toText(content)
  const written = content.toString('latin1').replaceAll('\r\n', '').replaceAll('\n', '')
  return /^[A-Za-z0-9+/]*={0,2}$/.test(written) && written.length % 4 === 0
    ? toText(Buffer.from(written, 'base64'))
    : null
}

/** Octets that are not UTF-8 may be of another charset, which is not said. */
function toText(octets: Buffer | null): string | null {
  return octets !== null && isUtf8(octets) ? octets.toString() : null
}

/**
 * As mailparser joins them, with neither body converted: outside of alternatives an empty one stands in the place of the
 * other kind.
 */
function joinBodies(leaves: readonly Leaf[], isWhole: boolean): JoinedBodies {
  const hasHtml = leaves.some(({ isHtml }) => isHtml)
  const hasText = leaves.some(({ isHtml }) => !isHtml)
  const html: string[] = []
  const text: string[] = []
  for (const { isHtml, content, alternative } of leaves) {
    if (content === '') continue
    const [own, other] = isHtml ? [html, text] : [text, html]
    if (isHtml ? (!alternative && hasText) || (isWhole && !hasText) : !alternative && hasHtml) other.push('')
    own.push(content)
  }
  return {
    html: html.length === 0 ? undefined : html.join('<br/>\n'),
    text: text.length === 0 ? undefined : text.join('\n'),
  }
}
