/**
 * Parses SMTP replies from chunks of any size (RFC 5321 section 4.2, RFC 2034).
 *
 * Accepts continuation lines, a code without text, a bare LF as line end, an enhanced code on any
 * line, and lines with different codes (the last one counts). Text is made printable.
 *
 * The input is untrusted: a line over 4 KB, a reply over 64 KB or 200 lines, or a line without a code
 * is `nonsense`, after which the parser takes nothing more.
 */
import { MAX_REPLY_TEXT, type Reply } from '../../../base/mail/reply.js'
import { toPrintable, truncateUtf8 } from './printable-text.js'

const MAX_LINE = 4096
const MAX_BYTES = 64 * 1024
const MAX_LINES = 200
const CR = 0x0d
const LF = 0x0a

/** A reply, and its lines without codes. The lines of EHLO list the extensions. */
export interface ServerReply {
  readonly reply: Reply
  readonly lines: readonly string[]
}

export type ParseResult =
  | ({ readonly kind: 'reply' } & ServerReply)
  | { readonly kind: 'nonsense'; readonly why: string }

interface ReplyLine {
  readonly code: number
  readonly isContinued: boolean
  readonly enhanced: string | null
  readonly text: string
}

export class ReplyParser {
  private partial: Buffer = Buffer.alloc(0)
  private lines: ReplyLine[] = []
  private bytes = 0
  private isBroken = false

  /** True if the parser holds a part of a reply. */
  get isMidway(): boolean {
    return this.partial.length > 0 || this.lines.length > 0
  }

  /** Returns the replies that end in `chunk`, in order. `nonsense` is always the last. */
  feed(chunk: Buffer): readonly ParseResult[] {
    if (this.isBroken) return []
    const parsed: ParseResult[] = []
    const bytes = this.partial.length === 0 ? chunk : Buffer.concat([this.partial, chunk])
    let at = 0
    for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, at)) {
      const result = this.takeLine(bytes.subarray(at, end))
      at = end + 1
      if (result === null) continue
      parsed.push(result)
      if (result.kind === 'nonsense') return parsed
    }
    // The line is copied, because a slice would keep the entire chunk in memory.
    this.partial = Buffer.from(bytes.subarray(at))
    if (this.partial.length > MAX_LINE) parsed.push(this.failParsing('a line without end'))
    return parsed
  }

  private takeLine(bytes: Buffer): ParseResult | null {
    this.bytes += bytes.length
    if (bytes.length > MAX_LINE) return this.failParsing('a line too long')
    if (this.bytes > MAX_BYTES || this.lines.length >= MAX_LINES) return this.failParsing('a reply too long')
    const line = parseLine(toPrintable(bytes.at(-1) === CR ? bytes.subarray(0, -1) : bytes))
    if (line === null) return this.failParsing(`not a reply: ${toPrintable(bytes).slice(0, 80)}`)
    this.lines.push(line)
    if (line.isContinued) return null
    const serverReply = joinLines(this.lines, line.code)
    this.lines = []
    this.bytes = 0
    return { kind: 'reply', ...serverReply }
  }

  private failParsing(why: string): ParseResult {
    this.isBroken = true
    this.partial = Buffer.alloc(0)
    this.lines = []
    return { kind: 'nonsense', why }
  }
}

function parseLine(line: string): ReplyLine | null {
  const match = /^([2-5]\d\d)(?:([ -])(.*))?$/s.exec(line)
  if (match === null) return null
  const [, code = '', separator, rest = ''] = match
  const status = /^([245])\.\d{1,3}\.\d{1,3}(?= |$)/.exec(rest)
  const enhanced = status !== null && status[1] === code[0] ? status[0] : null
  const text = enhanced === null ? rest : rest.slice(enhanced.length)
  return { code: Number(code), isContinued: separator === '-', enhanced, text: text.trim() }
}

function joinLines(lines: readonly ReplyLine[], code: number): ServerReply {
  const kind = String(code).charAt(0)
  const enhanced = lines.find((line) => line.enhanced?.startsWith(kind))?.enhanced ?? null
  const texts = lines.map((line) => line.text)
  const text = texts.filter((part) => part !== '').join(' ')
  return { reply: { code, enhanced, text: truncateUtf8(text, MAX_REPLY_TEXT) }, lines: texts }
}
