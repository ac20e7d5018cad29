/**
 * Takes a report apart: its parts in their order, decoded, as flat text (RFC 2045, 2046, 6522).
 *
 * The parser for readers joins all text parts to one body and hides their types, and a report cannot be read without
 * them. The returned message (message/rfc822 and the like) is not parsed: a report in it is not about our mail.
 *
 * Never throws and never waits. Limits: the first megabyte and the first 128 KB of each part unless the caller says
 * otherwise, 50 parts. If a boundary never comes, the body is one part. Charsets are those of `mail/charset.ts`.
 */

import { isAscii } from 'node:buffer'
import { decodeCharset } from '../../../base/mail/charset.js'
import { PartWalker } from '../../../records/messages/mime/structure/part-tree.js'
import { decodeTransfer } from '../../../records/messages/mime/structure/transfer-encoding.js'
import type { ReportedHeader } from './report.js'
import { parseHeader } from './report-fields.js'

export interface ReportPart {
  /** `type/subtype`, lower case. */
  readonly type: string
  readonly text: string
}

/** A part as its bytes, decoded. */
interface SplitPart {
  /** `type/subtype`, lower case. */
  readonly type: string
  readonly charset: string
  readonly content: Buffer
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
  const walker = walkReport(raw, defaultLimits)
  return {
    header: parseHeader(decodeText(walker.raw.subarray(0, walker.root.bodyStart), 'utf-8')),
    parts: collectParts(walker, defaultLimits.part).map(({ type, charset, content }) => ({
      ...{ type, text: decodeText(content, charset) },
    })),
  }
}

/** The parts as bytes, with limits of the caller. */
export function splitReport(raw: Buffer, limits = defaultLimits): readonly SplitPart[] {
  return collectParts(walkReport(raw, limits), limits.part)
}

function walkReport(raw: Buffer, { bytes }: SplitLimits): PartWalker {
  return new PartWalker(raw.subarray(0, bytes))
}

function collectParts(walker: PartWalker, maxPart: number): readonly SplitPart[] {
  const parts: SplitPart[] = []
  for (const { type, bodyStart, end, content } of walker.leaves((part) => part.type.startsWith('multipart/'))) {
    const body = walker.raw.subarray(bodyStart, Math.min(end, bodyStart + maxPart))
    const charset = content.parameter('charset') || 'utf-8'
    parts.push({ type, charset, content: decodeTransfer(body, content.encoding) })
    if (parts.length === MAX_PARTS) break
  }
  return parts
}

function isJapanese(bytes: Buffer): boolean {
  return (bytes.includes('\x1b$B') || bytes.includes('\x1b$@')) && isAscii(bytes)
}

function decodeText(bytes: Buffer, charset: string): string {
  const declared = charset.toLowerCase() === 'us-ascii' ? 'utf-8' : charset
  // Japanese servers put it undeclared into diagnostics; in UTF-8 its escape sequences mean nothing.
  const label = declared.toLowerCase() === 'utf-8' && isJapanese(bytes) ? 'iso-2022-jp' : declared
  return decodeCharset(bytes, label) ?? bytes.toString('utf8')
}
