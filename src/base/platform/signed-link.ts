/**
 * Signatures of links that need no key: an HMAC-SHA256 over everything in the link.
 *
 * A link gives access to anyone who has it, so the signature is in the query, which is never logged.
 */
import { createHmac, type KeyObject } from 'node:crypto'

/** The subject of a link: its purpose first, then its values, the time of its end among them. */
export type LinkParts = readonly [purpose: string, ...values: readonly (string | number)[]]

/** Signs a JSON text, so that different links never have the same text. */
export function signLink(secret: KeyObject, parts: LinkParts): string {
  return createHmac('sha256', secret).update(JSON.stringify(parts)).digest('base64url')
}

/** The query of a link. */
export function formatLinkQuery(workspaceId: string, expiresAt: number, signature: string): string {
  return new URLSearchParams({ workspace: workspaceId, expires: String(expiresAt), signature }).toString()
}
