/**
 * Takes a report apart: its parts in their order, decoded, as flat text (RFC 2045, 2046, 6522).
 *
 * Why not as people see it: mailparser joins all text parts to one body and hides their types, on which reading a report
 * depends, and a hostile returned message can make it exceed its limits. Here the returned message (message/rfc822 and
 * the like) is not parsed: a report in it is not about our mail.
 *
 * Never throws and never waits. Limits: the first megabyte and the first 128 KB of each part unless the caller says
 * otherwise, 50 parts. If a boundary never comes, the body is one part. Charsets are those of `mail/charset.ts`.
 */

import { decodeCharset } from '../../../base/mail/charset.js'
import { readQuotedPrintable } from '../../../base/mail/quoted-printable.js'
import { type Part, readPartTree } from '../../../records/messages/mime/structure/part-tree.js'
import { decodeUuencoded } from '../../../records/messages/mime/structure/uuencode.js'
import type { ReportedHeader } from './report.js'
import { parseHeader } from './report-fields.js'

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
const MAX_PARTS = 50

export function parseReport(raw: Buffer): ParsedReport {
  const read = raw.subarray(0, defaultLimits.bytes)
  const root = readPartTree(read)
  return {
    header: parseHeader(decodeText(read.toString('latin1', 0, root.bodyStart), 'utf-8')),
    parts: collectParts(read, root, defaultLimits.part).map(({ type, charset, content }) => ({
      ...{ type, text: decodeText(content, charset) },
    })),
  }
}

/** The parts as bytes, with limits of the caller. */
export function splitReport(raw: Buffer, limits = defaultLimits): readonly SplitPart[] {
  const read = raw.subarray(0, limits.bytes)
  return collectParts(read, readPartTree(read), limits.part)
}

function collectParts(raw: Buffer, root: Part, maxPart: number): readonly SplitPart[] {
  const parts: SplitPart[] = []
  const collect = (part: Part): void => {
    if (parts.length >= MAX_PARTS) return
    const { type, children, bodyStart, end, content } = part
    if (type.startsWith('multipart/') && children !== null) {
      for (const child of children) collect(child)
      return
    }
    const body = raw.subarray(bodyStart, Math.min(end, bodyStart + maxPart))
    parts.push({ type, charset: content.charset || 'utf-8', content: decodeTransfer(body, content.encoding) })
  }
  collect(root)
  return parts
}

/** In Latin-1: each character stands for one byte. */
function decodeTransfer(body: Buffer, encoding: Part['content']['encoding']): string {
  const text = body.toString('latin1')
  if (encoding === 'base64') return Buffer.from(text, 'base64').toString('latin1')
  if (encoding === 'uuencode') return decodeUuencoded(body)?.toString('latin1') ?? text
  return encoding === 'quoted-printable' ? readQuotedPrintable(text) : text
}

function isJapanese(bytes: string): boolean {
  return (bytes.includes('\x1b$B') || bytes.includes('\x1b$@')) && !/[\x80-\xff]/.test(bytes)
}

function decodeText(bytes: string, charset: string): string {
  const buffer = Buffer.from(bytes, 'latin1')
  const declared = charset.toLowerCase() === 'us-ascii' ? 'utf-8' : charset
  // Japanese servers put it undeclared into diagnostics; in UTF-8 its escape sequences mean nothing.
  const label = declared.toLowerCase() === 'utf-8' && isJapanese(bytes) ? 'iso-2022-jp' : declared
  return decodeCharset(buffer, label) ?? buffer.toString('utf8')
}
