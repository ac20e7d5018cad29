/**
 * The field by which a complaint tells of whose message it speaks.
 *
 * Providers that pass complaints on strike addresses out of them, the return path too, and
 * leave other fields of the message alone. Each recipient has a field of its own, above the
 * DKIM signature, which does not cover it: its token is proof enough.
 *
 * Limit: whoever sees the message, as the readers of a list, can complain in its recipient's name.
 */
import type { KeyObject } from 'node:crypto'
import { createRecipientToken, recipientOfToken } from './recipient-token.js'

const FIELD_NAME = 'X-Posthorn-Reference'

/** In lower case, as header fields are looked for. */
export const REFERENCE_FIELD = 'x-posthorn-reference'

/** The whole field with its CRLF. */
export function createReferenceField(secret: KeyObject, recipientId: string): string {
  return `${FIELD_NAME}: ${createRecipientToken(secret, 'reference', recipientId)}\r\n`
}

/** The recipient id in such a field's value; null: none of ours. */
export function recipientOfReference(secret: KeyObject, value: string): string | null {
  return recipientOfToken(secret, 'reference', value.trim())
}
