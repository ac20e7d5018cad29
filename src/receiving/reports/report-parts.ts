/**
 * Takes a report apart: its parts in their order, decoded, as flat text (RFC 2045, 2046, 6522).
 *
 * Why not by `messages/mime`: that parser joins all text parts to one body and hides their types, on which reading
 * a report depends, and a hostile returned message can make it exceed its limits. Here the returned message
 * (message/rfc822 and the like) is not parsed: a report in it is not about our mail.
 *
 * Never throws and never waits. Limits: the first megabyte and the first 128 KB of each part unless the caller says
 * otherwise, 50 parts in four levels, each level one pass. If a boundary never comes, the body is one part. Charsets
 * are those of `mail/charset.ts`.
 */

import { decodeCharset } from '../../mail/charset.js'
import { readQuotedPrintable } from '../../mail/quoted-printable.js'
import type { ReportedHeader } from './report.js'
import { firstValueOf, parseHeader } from './report-fields.js'

export interface ReportPart {
  /** `type/subtype`, lower case. */
  readonly type: string
  readonly text: string
}

/** A part as its bytes. */
interface SplitPart {
  /** `type/subtype`, lower case. */
  readonly type: string
  readonly charset: string
  /** Decoded; each character stands for one byte. */
  readonly content: string
}

interface SplitLimits {
  /** Bytes of the message that are read. */
  readonly bytes: number
  /** Bytes of one part, before they are decoded. */
  readonly part: number
}

export interface ParsedReport {
  readonly header: ReportedHeader
  readonly parts: readonly ReportPart[]
}

const defaultLimits: SplitLimits = { bytes: 1_048_576, part: 131_072 }
const MAX_HEADER = 65_536
const MAX_PARTS = 50
const MAX_DEPTH = 4

export function parseReport(raw: Buffer): ParsedReport {
  const text = raw.toString('latin1', 0, Math.min(raw.length, defaultLimits.bytes))
  return {
    header: parseHeader(decodeText(text.slice(0, findBodyStart(text)), 'utf-8')),
    parts: splitReport(raw).map(({ type, charset, content }) => ({ type, text: decodeText(content, charset) })),
  }
}

/** The parts as bytes, with limits of the caller. */
export function splitReport(raw: Buffer, limits = defaultLimits): readonly SplitPart[] {
  const parts: SplitPart[] = []
  collectParts(raw.toString('latin1', 0, Math.min(raw.length, limits.bytes)), 0, limits.part, parts)
  return parts
}

function collectParts(source: string, depth: number, maxPart: number, parts: SplitPart[]): void {
  if (parts.length >= MAX_PARTS) return
  const body = findBodyStart(source)
  const header = parseHeader(source.slice(0, body))
  const declared = firstValueOf(header, 'content-type') ?? 'text/plain'
  const type = /^\s{0,40}([\w.+-]{1,60}\/[\w.+-]{1,60})/.exec(declared)?.[1]?.toLowerCase() ?? 'text/plain'
  const boundary = type.startsWith('multipart/') && depth < MAX_DEPTH ? readParameter(declared, 'boundary') : null
  const pieces = boundary === null ? [] : splitAtBoundary(source, body, boundary)
  if (pieces.length > 0) {
    for (const piece of pieces) collectParts(piece, depth + 1, maxPart, parts)
    return
  }
  const content = decodeTransfer(
    source.slice(body, body + maxPart),
    firstValueOf(header, 'content-transfer-encoding') ?? '',
  )
  parts.push({ type, charset: readParameter(declared, 'charset') ?? 'utf-8', content })
}

/** Where the body begins: after the first empty line, or after the header limit if there is none. */
function findBodyStart(source: string): number {
  if (/^\r?\n/.test(source)) return source.indexOf('\n') + 1
  const end = /\n\r?\n/.exec(source.slice(0, MAX_HEADER))
  return end === null ? Math.min(source.length, MAX_HEADER) : end.index + end[0].length
}

/** The pieces between boundary lines; preamble and epilogue are dropped. */
function splitAtBoundary(source: string, body: number, boundary: string): readonly string[] {
  const mark = `\n--${boundary}`
  const pieces: string[] = []
  let at = source.indexOf(mark, body - 1)
  while (at !== -1 && pieces.length < MAX_PARTS) {
    const start = source.indexOf('\n', at + mark.length)
    if (start === -1 || source.startsWith('--', at + mark.length)) break
    const next = source.indexOf(mark, start)
    pieces.push(source.slice(start + 1, next === -1 ? source.length : next))
    at = next
  }
  return pieces
}

function readParameter(value: string, name: string): string | null {
  const found = new RegExp(`;\\s*${name}\\s*=\\s*(?:"([^"]{1,200})"|([^\\s;"]{1,200}))`, 'i').exec(value)
  return found?.[1] ?? found?.[2] ?? null
}

/** In Latin-1: each character stands for one byte. */
function decodeTransfer(text: string, encoding: string): string {
  const word = encoding.trim().toLowerCase()
  if (word === 'base64') return Buffer.from(text, 'base64').toString('latin1')
  if (word !== 'quoted-printable') return text
  return readQuotedPrintable(text)
}

function decodeText(bytes: string, charset: string): string {
  const buffer = Buffer.from(bytes, 'latin1')
  const label = charset.toLowerCase() === 'us-ascii' ? 'utf-8' : charset
  return decodeCharset(buffer, label) ?? buffer.toString('utf8')
}
