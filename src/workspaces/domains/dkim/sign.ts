/**
 * Signs a message with DKIM: rsa-sha256, relaxed/relaxed (RFC 6376, RFC 8301).
 *
 * The signature covers every occurrence of the fields in `signedNames`, from the bottom up (section 5.4.2). It lists
 * From once more than From occurs, so a second From that someone adds later breaks the signature (section 8.15). It
 * has the tags v, a, c, d, s, t, h, bh and b, but no l=, i= or x=.
 *
 * RSA takes some 0.3 ms, so this runs on the signing thread. It signs the fields that `scanHeader` finds, so a
 * message whose header does not end with an empty line must go through `spliceHeader` first.
 *
 * Limit: a line of the field has at most 78 octets unless domain or selector are longer.
 */
import { type KeyObject, sign } from 'node:crypto'
import { type HeaderField, scanHeader } from '../../../base/mail/header-fields.js'
import { canonicalizeField, hashRelaxedBody } from './canonical.js'

export interface DkimKey {
  /** The `d=` tag: a domain name in A-labels. */
  readonly domain: string
  readonly selector: string
  /** An RSA key, parsed once, because parsing a PEM costs more than the signature. */
  readonly keyObject: KeyObject
}

/** The names in the order of the `h=` tag. */
export const signedNames = [
  'from',
  'to',
  'cc',
  'subject',
  'date',
  'message-id',
  'reply-to',
  'in-reply-to',
  'references',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
  'list-unsubscribe',
  'list-unsubscribe-post',
] as const

const MAX_LINE_LENGTH = 78
const FOLD = '\r\n '

/**
 * Returns the complete field, folded, with its CRLF, to be put on top of `raw`. If `bodyHash` is given, the body was
 * hashed before and need not be in `raw`.
 */
export function signDkim(raw: Buffer, key: DkimKey, now: number, bodyHash?: string): string {
  const { fields, bodyStart } = scanHeader(raw)
  const signed = selectSignedFields(fields, signedNames)
  const names = [...signed.map((field) => field.name), 'from']
  const unsigned = buildSignatureField(key, now, names, bodyHash ?? hashRelaxedBody(raw, bodyStart))
  const canonical = signed.map((field) => canonicalizeField(raw, field)).join('') + canonicalizeSignatureField(unsigned)
  const signature = sign('sha256', Buffer.from(canonical, 'latin1'), key.keyObject)
  return `${unsigned}${foldBase64(signature.toString('base64'), 'b='.length + 1)}\r\n`
}

/** Selects the fields by name in the order of the tag. Occurrences of one name come from the bottom up. */
export function selectSignedFields(fields: readonly HeaderField[], covered: readonly string[]): readonly HeaderField[] {
  const byName = new Map<string, HeaderField[]>(covered.map((name) => [name, []]))
  for (const field of fields) byName.get(field.name)?.unshift(field)
  return [...byName.values()].flat()
}

/** The field up to and including `b=`. */
function buildSignatureField(key: DkimKey, now: number, names: readonly string[], bodyHash: string): string {
  return [
    'DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed;',
    `d=${key.domain};`,
    `s=${key.selector}; t=${Math.floor(now / 1000)};`,
    `h=${foldNames(names)};`,
    `bh=${bodyHash};`,
    'b=',
  ].join(FOLD)
}

/** Joins the names with colons, and folds after a colon. */
export function foldNames(names: readonly string[]): string {
  let text = ''
  let room = MAX_LINE_LENGTH - ' h='.length
  for (const [index, name] of names.entries()) {
    const part = index < names.length - 1 ? `${name}:` : name
    if (part.length + 1 > room) {
      text += FOLD
      room = MAX_LINE_LENGTH - 1
    }
    text += part
    room -= part.length
  }
  return text
}

/** Divides `text` into lines. The first line already holds `used` octets. */
export function foldBase64(text: string, used: number): string {
  const lines = [text.slice(0, MAX_LINE_LENGTH - used)]
  for (let at = MAX_LINE_LENGTH - used; at < text.length; at += MAX_LINE_LENGTH - 1)
    lines.push(text.slice(at, at + MAX_LINE_LENGTH - 1))
  return lines.join(FOLD)
}

/** Our field in canonical form. Its folds are the only blanks that are not single spaces. */
function canonicalizeSignatureField(field: string): string {
  return field.replace('DKIM-Signature: ', 'dkim-signature:').replaceAll('\r\n', '')
}
