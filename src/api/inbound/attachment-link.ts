/**
 * Links to attachments that need no key: signed by us, for an hour.
 *
 * HMAC-SHA256 over all that the link names. Whoever has the link has the attachment, so the
 * signature stands in the query, which is never logged.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { Refusal } from '../../mail/refusal.js'

export interface LinkedAttachment {
  readonly workspaceId: string
  readonly inboundId: string
  /** Among those of the email. */
  readonly place: number
  /** Epoch milliseconds. */
  readonly expiresAt: number
}

export const LINK_LIFETIME = 3_600_000

/** Below `publicUrl`, which has no slash at its end. */
export function buildAttachmentLink(secret: KeyObject, publicUrl: string, linked: LinkedAttachment): string {
  const { workspaceId, inboundId, place, expiresAt } = linked
  const query = new URLSearchParams({
    workspace: workspaceId,
    expires: String(expiresAt),
    signature: signatureOf(secret, linked),
  })
  return `${publicUrl}/v1/inbound/${inboundId}/attachments/${place}?${query.toString()}`
}

/** Throws a Refusal `forbidden` for a link that we did not sign, or that has expired. */
export function verifyAttachmentLink(
  secret: KeyObject,
  linked: LinkedAttachment,
  signature: string,
  now: number,
): void {
  // As text: base64 has many ways to write the same bytes, and one of them is ours.
  const given = Buffer.from(signature)
  const right = Buffer.from(signatureOf(secret, linked))
  if (given.length !== right.length || !timingSafeEqual(given, right)) {
    throw new Refusal('forbidden', 'this is no link of ours: its signature is wrong')
  }
  if (now >= linked.expiresAt) {
    throw new Refusal('forbidden', 'the link has expired: list the attachments again for a new one')
  }
}

/** As JSON, so that no two links have the same text. */
function signatureOf(secret: KeyObject, { workspaceId, inboundId, place, expiresAt }: LinkedAttachment): string {
  const text = JSON.stringify(['inbound-attachment', workspaceId, inboundId, place, expiresAt])
  return createHmac('sha256', secret).update(text).digest('base64url')
}
