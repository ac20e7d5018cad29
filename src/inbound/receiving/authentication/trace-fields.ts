/**
 * The fields that are prepended to an inbound message: Return-Path, authentication results, Received, in this
 * order (RFC 5321 section 4.4, RFC 7208 section 9.1, RFC 8601 section 4).
 *
 * Return-Path fields of others are removed, because there may be only one, and so is every Authentication-Results
 * field from outside that has our authserv-id (RFC 8601 section 5) or an unreadable one. All other bytes stay as
 * they were.
 *
 * Untrusted values are sanitized: no line end, no control character, no bracket or quote that would end a comment,
 * no line over 998 octets.
 *
 * Known limit: results in ARC sets stay, because seals cover them.
 */
import { isIP } from 'node:net'
import { type Address, tryParseDomainName } from '../../../base/mail/address.js'
import { type Header, type HeaderField, readFieldValue, spliceToPieces } from '../../../base/mail/header-fields.js'
import { formatMessageDate } from '../../../base/mail/message-date.js'
import type { TlsFacts } from './received-message.js'
import type { ResultField } from './result-fields.js'

/** The facts that are known before the message is authenticated. */
export interface TraceFacts {
  /** Empty for `<>`. */
  readonly returnPath: Address | ''
  readonly helo: string
  /** The IP address of the client. */
  readonly address: string
  /** Our own name: the `by` of Received and the authserv-id of our results. */
  readonly hostname: string
  /** The word after `with`. */
  readonly protocol: string
  readonly tls: TlsFacts | null
  readonly id: string
  /** Null if there are several, since none may learn of the others. */
  readonly recipient: Address | null
  /** Epoch milliseconds. */
  readonly now: number
}

/** The message in pieces, most of them views of `raw`. `header` is the header of `raw`. */
export function withTrace(
  raw: Buffer,
  header: Header,
  trace: TraceFacts,
  results: readonly ResultField[],
): readonly Buffer[] {
  const remove = header.fields.filter(
    (field) => field.name === 'return-path' || isForgedResult(raw, field, trace.hostname),
  )
  return spliceToPieces(raw, header, { remove, prepend: formatTraceFields(trace, results) })
}

/** Whole lines with CRLF. */
export function formatTraceFields(trace: TraceFacts, results: readonly ResultField[]): string {
  let fields = foldField('Return-Path', [`<${toMailbox(trace.returnPath)}>`])
  for (const { name, value } of results) {
    const words = wordsOf(value)
    if (words.length > 0) fields += foldField(name, words)
  }
  return fields + formatReceived(trace)
}

function formatReceived({ helo, address, hostname, protocol, tls, id, recipient, now }: TraceFacts): string {
  const comment = tls === null ? '' : ` (${toToken(tls.protocol)} ${toToken(tls.cipher)})`
  const to = recipient === null ? '' : `\r\n\tfor <${toMailbox(recipient)}>`
  return [
    `Received: from ${toToken(helo)} (${formatAddressLiteral(address)})\r\n`,
    `\tby ${toToken(hostname)} with ${toToken(protocol)}${comment}\r\n`,
    `\tid ${toToken(id)}${to};\r\n`,
    `\t${formatMessageDate(now)}\r\n`,
  ].join('')
}

/** RFC 5321 section 4.1.3. */
function formatAddressLiteral(address: string): string {
  const family = isIP(address)
  if (family === 0) return '[unknown]'
  return family === 6 ? `[IPv6:${toToken(address)}]` : `[${address}]`
}

/** Keeps what is allowed in a HELO name, a protocol word or an id; the rest becomes a question mark. */
function toToken(text: string): string {
  return text.slice(0, 255).replace(/[^\w.:[\]+/-]/g, '?') || '?'
}

/** The address was parsed already; in a quoted local part blanks and brackets are allowed. */
function toMailbox(address: string): string {
  return address.replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/gu, '?')
}

/** Maximum of characters of a piece, so that 4 octets for each fit into a line. */
const MAX_WORD = 230
const pieces = new RegExp(`.{1,${MAX_WORD}}`, 'gu')
const MAX_LINE = 76

function wordsOf(value: string): readonly string[] {
  const isPlain = !/[^\s\x21-\x7e]/.test(value)
  const text = isPlain ? value : value.replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/gu, ' ')
  const words = text.split(/\s+/)
  if (words.every(({ length }) => length > 0 && length <= MAX_WORD)) return words
  return words.flatMap((word) => word.match(pieces) ?? [])
}

function foldField(name: string, words: readonly string[]): string {
  const lines: string[] = []
  let line = `${name}:`
  for (const word of words) {
    // A line must not have the name alone: some readers lose the value of such a field.
    if (line.length + 1 + word.length > MAX_LINE && line !== `${name}:`) {
      lines.push(line)
      line = `\t${word}`
    } else line += ` ${word}`
  }
  return `${[...lines, line].join('\r\n')}\r\n`
}

/** Characters within which the authserv-id has to end, comments included; otherwise it counts as unreadable. */
const MAX_NAME = 2_000

function isForgedResult(raw: Buffer, field: HeaderField, hostname: string): boolean {
  if (field.name !== 'authentication-results') return false
  const id = serviceIdOf(readFieldValue(raw, field).slice(0, MAX_NAME))
  if (id === null) return true
  return id.toLowerCase() === hostname.toLowerCase() || tryParseDomainName(id) === tryParseDomainName(hostname)
}

/** The authserv-id (RFC 8601 section 2.2), which may be quoted and follow comments. Null if it cannot be read. */
export function serviceIdOf(value: string): string | null {
  const text = skipComments(value)
  if (text === null) return null
  const quoted = /^"((?:[^"\\]|\\.)*)"/su.exec(text)?.[1]
  if (quoted !== undefined) return quoted.replace(/\\(.)/gsu, '$1').trim()
  return /^[^\s;()<>@,:\\"/[\]?=]+/u.exec(text)?.[0] ?? null
}

/** The value without leading blanks and comments. Null if a comment never ends. */
function skipComments(value: string): string | null {
  let depth = 0
  for (let at = 0; at < value.length; at++) {
    const char = value[at] ?? ''
    if (char === '(') depth++
    else if (depth > 0 && char === ')') depth--
    else if (depth > 0 && char === '\\') at++
    else if (depth === 0 && !/\s/.test(char)) return value.slice(at)
  }
  return depth === 0 ? '' : null
}
