/**
 * Signed links to attachments, which need no key and are valid for an hour.
 *
 * The signature is an HMAC-SHA256 over everything in the link. The link gives access to anyone who
 * has it, so the signature is in the query, which is never logged.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { Refusal } from '../../mail/refusal.js'

interface LinkedAttachment {
  readonly workspaceId: string
  readonly inboundId: string
  /** Index among the attachments of the email, from 0. */
  readonly place: number
  /** Epoch milliseconds. */
  readonly expiresAt: number
}

export const LINK_LIFETIME = 3_600_000

/** `publicUrl`: without a trailing slash. */
export function buildAttachmentLink(secret: KeyObject, publicUrl: string, linked: LinkedAttachment): string {
  const { workspaceId, inboundId, place, expiresAt } = linked
  const query = new URLSearchParams({
    workspace: workspaceId,
    expires: String(expiresAt),
    signature: signatureOf(secret, linked),
  })
  return `${publicUrl}/v1/inbound/${inboundId}/attachments/${place}?${query.toString()}`
}

/** Throws a Refusal `forbidden` for a wrong signature or an expired link. */
export function verifyAttachmentLink(
  secret: KeyObject,
  linked: LinkedAttachment,
  signature: string,
  now: number,
): void {
  // Compared as text, since several base64 texts decode to the same bytes.
  const given = Buffer.from(signature)
  const right = Buffer.from(signatureOf(secret, linked))
  if (given.length !== right.length || !timingSafeEqual(given, right)) {
    throw new Refusal('forbidden', 'the signature of the link is wrong')
  }
  if (now >= linked.expiresAt) {
    throw new Refusal('forbidden', 'the link has expired: list the attachments again for a new link')
  }
}

/** Signs a JSON text, so that different links never have the same text. */
function signatureOf(secret: KeyObject, { workspaceId, inboundId, place, expiresAt }: LinkedAttachment): string {
  const text = JSON.stringify(['inbound-attachment', workspaceId, inboundId, place, expiresAt])
  return createHmac('sha256', secret).update(text).digest('base64url')
}
