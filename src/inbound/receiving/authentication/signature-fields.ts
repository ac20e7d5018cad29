/**
 * Selects the DKIM-Signature and ARC fields of a message that are verified, and names their keys.
 *
 * The first `MAX_SIGNATURES` from the top are verified, since those were made last; the ones below are named and not
 * verified, so a message with hundreds costs no more than ten. A field that is longer, or lists more names, than any
 * signer needs is not verified either: mailauth compares each name with each field of the header (26 s of work for a
 * header of 2 MB).
 *
 * An ARC chain with such a field is removed as a whole, and fails. mailauth makes n lists of up to n lines from a field
 * of n lines (27 s for one of a megabyte), so the fields with the most lines are removed until the rest is cheap. For
 * each of them another field of the same name is appended to the header, so every signature over that name fails, and
 * none passes because the field is missing.
 */
import { domainToASCII } from 'node:url'
import {
  findFields,
  type Header,
  type HeaderField,
  readFieldValue,
  spliceHeader,
} from '../../../base/mail/header-fields.js'
import { notVerifiedPrefix } from './bounded-verifier.js'

const MAX_SIGNATURES = 10

const MAX_FIELD = 16_384
/** Names in the `h=` tag; other colons of the field count too. */
const MAX_NAMES = 200
/** Maximum of unverified signatures that are reported. */
const MAX_SKIPPED = 10
const MAX_NAME = 255
/** Sum of the squared numbers of lines of all fields. A To of 2,000 lines is within it. */
const MAX_LINE_WORK = 4_000_000

export interface SignatureField {
  /** `d=` and `s=`. Empty if they are missing. */
  readonly domain: string
  readonly selector: string
}

export interface SkippedSignature extends SignatureField {
  readonly reason: string
}

export interface SignatureFields {
  readonly verifiable: readonly SignatureField[]
  readonly skipped: readonly SkippedSignature[]
  /** An ARC field is too large; `message` has no ARC fields then. */
  readonly oversizedChain: boolean
  /** The message without the fields that are not verified, its header closed by an empty line. */
  readonly message: Buffer
  /** Where the body of `message` begins. */
  readonly bodyStart: number
  /** The header of `message` if it was received like this. Null otherwise. */
  readonly header: Header | null
}

export function selectSignatures(raw: Buffer, header: Header): SignatureFields {
  const all = findFields(header, 'dkim-signature')
  const sized = all.filter((field) => !isOversized(raw, field))
  const verified = new Set(sized.slice(0, MAX_SIGNATURES))
  const over = all.filter((field) => !verified.has(field))
  const chain = header.fields.filter(({ name }) => name.startsWith('arc-'))
  const oversizedChain = chain.some((field) => isOversized(raw, field))
  // mailauth reads a return path from it, which is not needed: 0.3 s for one of 2 MB.
  const paths = findFields(header, 'return-path').filter((field) => isOversized(raw, field))
  const unread = new Set([...over, ...paths, ...(oversizedChain ? chain : [])])
  const many = findManyLined(
    raw,
    header.fields.filter((field) => !unread.has(field)),
  )
  const remove = [...unread, ...many]
  const append = buildPlaceholders([...paths, ...many])
  const changes = remove.length > 0 || !isClosed(raw, header)
  const message = changes ? spliceHeader(raw, header, { remove, append }) : raw
  return {
    verifiable: [...verified].map((field) => parseSignatureField(raw, field)),
    skipped: over.slice(0, MAX_SKIPPED).map((field) => toSkipped(raw, field)),
    oversizedChain,
    message,
    bodyStart: message.length - (raw.length - header.bodyStart),
    header: changes ? null : header,
  }
}

/** The DNS name of the key (RFC 6376 section 3.6.2.1), in A-labels (RFC 8616 section 3). Empty if there is none. */
export function keyNameOf({ domain, selector }: SignatureField): string {
  if (domain === '' || selector === '') return ''
  const name = `${selector}._domainkey.${domain}`
  return /^[!-~]*$/.test(name) ? name : domainToASCII(name)
}

function toSkipped(raw: Buffer, field: HeaderField): SkippedSignature {
  const reason = isOversized(raw, field) ? 'signature too long' : `more than ${MAX_SIGNATURES} signatures`
  const { domain, selector } = parseSignatureField(raw, field)
  return {
    domain: domain.slice(0, MAX_NAME),
    selector: selector.slice(0, MAX_NAME),
    reason: `${notVerifiedPrefix}${reason}`,
  }
}

/** The fields with the most lines, as many as exceed the limit. */
function findManyLined(raw: Buffer, fields: readonly HeaderField[]): readonly HeaderField[] {
  const last = fields.at(-1)
  // A header this short has too few lines, however they are spread over its fields.
  if (last === undefined || last.end ** 2 <= MAX_LINE_WORK) return []
  const folded = fields.map((field) => ({ field, work: countLines(raw, field) ** 2 })).filter(({ work }) => work > 1)
  let left = folded.reduce((sum, { work }) => sum + work, 0)
  const removed: HeaderField[] = []
  for (const { field, work } of folded.toSorted((a, b) => b.work - a.work)) {
    if (left <= MAX_LINE_WORK) break
    removed.push(field)
    left -= work
  }
  return removed
}

/** Signatures get none, since a placeholder would be verified. */
function buildPlaceholders(fields: readonly HeaderField[]): string {
  const names = fields.map(({ name }) => name).filter((name) => name !== 'dkim-signature' && !name.startsWith('arc-'))
  return names.map((name) => `${name}: taken out\r\n`).join('')
}

function countLines(raw: Buffer, { start, end }: HeaderField): number {
  let lines = 0
  for (let at = raw.indexOf('\n', start); at !== -1 && at < end; at = raw.indexOf('\n', at + 1)) lines += 1
  return lines
}

/** An authentication report contains many colons, and its names are not looked up. */
function isOversized(raw: Buffer, { name, start, colon, end }: HeaderField): boolean {
  if (end - start > MAX_FIELD) return true
  if (name === 'arc-authentication-results') return false
  let names = 0
  for (let at = raw.indexOf(':', colon + 1); at !== -1 && at < end; at = raw.indexOf(':', at + 1)) names += 1
  return names > MAX_NAMES
}

/** mailauth would read on after a header that was ended by a line that is no field. */
function isClosed(raw: Buffer, { end, bodyStart }: Header): boolean {
  return bodyStart > end || end === raw.length
}

function parseSignatureField(raw: Buffer, field: HeaderField): SignatureField {
  const tags = readFieldValue(raw, field).split(';')
  return { domain: readTag(tags, 'd'), selector: readTag(tags, 's') }
}

function readTag(tags: readonly string[], name: string): string {
  for (const text of tags) {
    const at = text.indexOf('=')
    if (at !== -1 && text.slice(0, at).trim() === name) return text.slice(at + 1).replace(/\s+/g, '')
  }
  return ''
}
