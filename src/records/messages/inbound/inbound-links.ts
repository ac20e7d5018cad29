/** Builds signed links to an inbound message and to its attachments, which need no key until they expire. */
import type { KeyObject } from 'node:crypto'
import { formatLinkQuery, type LinkParts, signLink } from '../../../base/platform/signed-link.js'

export interface LinkSigner {
  /** The key that signs links. */
  readonly secret: KeyObject
  /** It has no trailing slash. */
  readonly publicUrl: string
}

export interface LinkedInbound {
  readonly workspaceId: string
  readonly inboundId: string
  /** Epoch milliseconds. */
  readonly expiresAt: number
}

/** Milliseconds for which a new link is valid. */
export const LINK_LIFETIME = 3_600_000

/** `place` is the index among the attachments of the email, from 0. */
export function buildAttachmentLink(signer: LinkSigner, linked: LinkedInbound, place: number): string {
  return buildLink(signer, linked, { path: `attachments/${place}`, parts: partsOfAttachmentLink(linked, place) })
}

export function buildMessageLink(signer: LinkSigner, linked: LinkedInbound): string {
  return buildLink(signer, linked, { path: 'raw/download', parts: partsOfMessageLink(linked) })
}

export function partsOfAttachmentLink({ workspaceId, inboundId, expiresAt }: LinkedInbound, place: number): LinkParts {
  return ['inbound-attachment', workspaceId, inboundId, place, expiresAt]
}

export function partsOfMessageLink({ workspaceId, inboundId, expiresAt }: LinkedInbound): LinkParts {
  return ['inbound-message', workspaceId, inboundId, expiresAt]
}

function buildLink(
  { secret, publicUrl }: LinkSigner,
  { workspaceId, inboundId, expiresAt }: LinkedInbound,
  { path, parts }: { readonly path: string; readonly parts: LinkParts },
): string {
  const query = formatLinkQuery(workspaceId, expiresAt, signLink(secret, parts))
  return `${publicUrl}/v1/inbound/${inboundId}/${path}?${query}`
}
