/** Signs links to attachments, which need no key and are valid for an hour. */
import type { KeyObject } from 'node:crypto'
import { Refusal } from '../../../base/mail/refusal.js'
import { formatLinkQuery, signLink, verifyLink } from '../http/input/link-signature.js'

interface LinkedAttachment {
  readonly workspaceId: string
  readonly inboundId: string
  /** Index among the attachments of the email, from 0. */
  readonly place: number
  /** Epoch milliseconds. */
  readonly expiresAt: number
}

export const LINK_LIFETIME = 3_600_000

/** `publicUrl` has no trailing slash. */
export function buildAttachmentLink(secret: KeyObject, publicUrl: string, linked: LinkedAttachment): string {
  const { workspaceId, inboundId, place, expiresAt } = linked
  const query = formatLinkQuery(workspaceId, expiresAt, signLink(secret, partsOf(linked)))
  return `${publicUrl}/v1/inbound/${inboundId}/attachments/${place}?${query}`
}

/** Throws a Refusal `forbidden` for a wrong signature or an expired link. */
export function verifyAttachmentLink(
  secret: KeyObject,
  linked: LinkedAttachment,
  signature: string,
  now: number,
): void {
  verifyLink(secret, partsOf(linked), signature)
  if (now >= linked.expiresAt) {
    throw new Refusal('forbidden', 'the link has expired: list the attachments again for a new link')
  }
}

function partsOf({ workspaceId, inboundId, place, expiresAt }: LinkedAttachment): Parameters<typeof signLink>[1] {
  return ['inbound-attachment', workspaceId, inboundId, place, expiresAt]
}
