/**
 * The secret in the link of an invitation: its id, and an HMAC-SHA256 over it.
 *
 * Nothing secret is stored, and whoever writes the mail can make the link from the record
 * alone. What it is worth, the state of the invitation says: each works once.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'

export function buildInvitationToken(secret: KeyObject, id: string): string {
  return `${id}.${signatureOf(secret, id)}`
}

/** The id of the invitation, or null: this is no token of ours. */
export function parseInvitationToken(secret: KeyObject, token: string): string | null {
  const [, id, signature] = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([\w-]{43})$/.exec(token) ?? []
  if (id === undefined || signature === undefined) return null
  // As text: base64 has many ways to write the same bytes, and one of them is ours.
  return timingSafeEqual(Buffer.from(signature), Buffer.from(signatureOf(secret, id))) ? id : null
}

/** As JSON with its purpose, so that no other link of ours has the same text. */
function signatureOf(secret: KeyObject, id: string): string {
  return createHmac('sha256', secret)
    .update(JSON.stringify(['invitation', id]))
    .digest('base64url')
}
