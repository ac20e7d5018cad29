/**
 * The DKIM-Signature and ARC fields of a message, before any of them is verified: which are
 * looked at, and under which names their keys are.
 *
 * The first `mostSignatures` from the top count, for those are the last that were made; what
 * is below is named and not verified, so that a message with hundreds costs no more than ten.
 * Nor is a field that is longer, or lists more names, than any signer has use for: mailauth
 * compares each name with each field of the header (26 s of work in a header of 2 MB). An ARC
 * chain with such a field is taken out as a whole, and has failed.
 *
 * Of a field of n lines mailauth makes n lists of up to n lines (27 s for one of a megabyte), so
 * the fields with the most lines are taken out until the rest is soon read. Last in the header
 * stands another field of the same name for each: so every signature over that name fails, and
 * none passes by what is not there.
 */
import { domainToASCII } from 'node:url'
import { findFields, type Header, type HeaderField, readFieldValue, spliceHeader } from '../../mail/header-fields.js'
import { notVerifiedPrefix } from './bounded-verifier.js'

export const MAX_SIGNATURES = 10

const MAX_FIELD = 16_384
/** In the `h=` tag, with what other colons there are. */
const MAX_NAMES = 200
/** Of those that are not verified: so many are told of. */
const MAX_SKIPPED = 10
const MAX_NAME = 255
/** Squares of the numbers of lines, of all fields together: a To of 2,000 lines is within. */
const MAX_LINE_WORK = 4_000_000

export interface SignatureField {
  /** `d=` and `s=`; empty: not there. */
  readonly domain: string
  readonly selector: string
}

export interface SkippedSignature extends SignatureField {
  readonly reason: string
}

export interface SignatureFields {
  readonly verifiable: readonly SignatureField[]
  readonly skipped: readonly SkippedSignature[]
  /** An ARC field is too long; there is none in `message` then. */
  readonly oversizedChain: boolean
  /** The message without what is passed over, its header closed by an empty line. */
  readonly message: Buffer
  /** Of `message`. */
  readonly bodyStart: number
}

export function selectSignatures(raw: Buffer, header: Header): SignatureFields {
  const all = findFields(header, 'dkim-signature')
  const sized = all.filter((field) => !isOversized(raw, field))
  const verified = new Set(sized.slice(0, MAX_SIGNATURES))
  const over = all.filter((field) => !verified.has(field))
  const chain = header.fields.filter(({ name }) => name.startsWith('arc-'))
  const oversizedChain = chain.some((field) => isOversized(raw, field))
  // mailauth reads a return path from it that nobody asks for: 0.3 s in one of 2 MB.
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
  }
}

/** Where the key is (RFC 6376 section 3.6.2.1), in A-labels (RFC 8616 section 3); empty: nowhere. */
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

/** Those with the most lines, as many as cost too much. */
function findManyLined(raw: Buffer, fields: readonly HeaderField[]): readonly HeaderField[] {
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

/** None of signatures, which would be verified. */
function buildPlaceholders(fields: readonly HeaderField[]): string {
  const names = fields.map(({ name }) => name).filter((name) => name !== 'dkim-signature' && !name.startsWith('arc-'))
  return names.map((name) => `${name}: taken out\r\n`).join('')
}

function countLines(raw: Buffer, { start, end }: HeaderField): number {
  let lines = 0
  for (let at = raw.indexOf('\n', start); at !== -1 && at < end; at = raw.indexOf('\n', at + 1)) lines += 1
  return lines
}

/** An authentication report has colons enough of its own, and nobody looks them up. */
function isOversized(raw: Buffer, { name, start, colon, end }: HeaderField): boolean {
  if (end - start > MAX_FIELD) return true
  if (name === 'arc-authentication-results') return false
  let names = 0
  for (let at = raw.indexOf(':', colon + 1); at !== -1 && at < end; at = raw.indexOf(':', at + 1)) names += 1
  return names > MAX_NAMES
}

/** A header that a line which is no field has ended would be read on by mailauth. */
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
