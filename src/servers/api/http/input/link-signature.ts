/**
 * Signatures of links that need no key: an HMAC-SHA256 over everything in the link.
 *
 * A link gives access to anyone who has it, so the signature is in the query, which is never logged.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { Refusal } from '../../../../base/mail/refusal.js'

/** The subject of a link: its purpose first, then its values, the time of its end among them. */
type LinkParts = readonly [purpose: string, ...values: readonly (string | number)[]]

/** Signs a JSON text, so that different links never have the same text. */
export function signLink(secret: KeyObject, parts: LinkParts): string {
  return createHmac('sha256', secret).update(JSON.stringify(parts)).digest('base64url')
}

/** Throws a Refusal `forbidden` for a wrong signature. */
export function verifyLink(secret: KeyObject, parts: LinkParts, signature: string): void {
  // Compared as text, since several base64 texts decode to the same bytes.
  const given = Buffer.from(signature)
  const right = Buffer.from(signLink(secret, parts))
  if (given.length !== right.length || !timingSafeEqual(given, right)) {
    throw new Refusal('forbidden', 'the signature of the link is wrong')
  }
}

const description = 'As the link has it.'

export const linkQuery = z.strictObject({
  workspace: z.string().meta({ description }),
  expires: z
    .string()
    .regex(/^[1-9]\d{0,14}$/, 'allowed: the value in the link')
    .transform(Number)
    .meta({ description }),
  signature: z.string().meta({ description }),
})

export type LinkQuery = z.output<typeof linkQuery>

/** The query of a link. `linkQuery` parses it. */
export function formatLinkQuery(workspaceId: string, expiresAt: number, signature: string): string {
  return new URLSearchParams({ workspace: workspaceId, expires: String(expiresAt), signature }).toString()
}
