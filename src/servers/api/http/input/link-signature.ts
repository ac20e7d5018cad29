/** Checks the signatures of links that need no key (`platform/signed-link`), and the query in which they come. */
import { type KeyObject, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { Refusal } from '../../../../base/mail/refusal.js'
import { type LinkParts, signLink } from '../../../../base/platform/signed-link.js'

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
