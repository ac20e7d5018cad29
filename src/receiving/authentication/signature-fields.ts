/**
 * The DKIM-Signature fields of a message, before any of them is verified: which are looked at,
 * and under which names their keys are.
 *
 * The first `mostSignatures` from the top count, for those are the last that were made; what
 * is below is named and not verified, so that a message with hundreds costs no more than ten.
 */
import { fieldsNamed, fieldValue, type Header, type HeaderField, spliceHeader } from '../../mail/header-fields.js'

export const mostSignatures = 10

export interface SignatureField {
  /** `d=` and `s=`; empty: not there. */
  readonly domain: string
  readonly selector: string
}

export interface SignatureFields {
  readonly verified: readonly SignatureField[]
  readonly surplus: readonly SignatureField[]
  /** The message without the surplus, its header closed by an empty line. */
  readonly message: Buffer
}

export function signatureFields(raw: Buffer, header: Header): SignatureFields {
  const all = fieldsNamed(header, 'dkim-signature')
  const surplus = all.slice(mostSignatures)
  return {
    verified: all.slice(0, mostSignatures).map((field) => signatureField(raw, field)),
    surplus: surplus.map((field) => signatureField(raw, field)),
    message: surplus.length > 0 || !isClosed(raw, header) ? spliceHeader(raw, header, { remove: surplus }) : raw,
  }
}

/** Where the key is (RFC 6376 section 3.6.2.1). */
export function keyName({ domain, selector }: SignatureField): string {
  return `${selector}._domainkey.${domain}`
}

/** A header that a line which is no field has ended would be read on by mailauth. */
function isClosed(raw: Buffer, { end, bodyStart }: Header): boolean {
  return bodyStart > end || end === raw.length
}

function signatureField(raw: Buffer, field: HeaderField): SignatureField {
  const tags = fieldValue(raw, field).split(';')
  return { domain: tag(tags, 'd'), selector: tag(tags, 's') }
}

function tag(tags: readonly string[], name: string): string {
  for (const text of tags) {
    const at = text.indexOf('=')
    if (at !== -1 && text.slice(0, at).trim() === name) return text.slice(at + 1).replace(/\s+/g, '')
  }
  return ''
}
