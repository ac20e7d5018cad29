/**
 * Per-recipient return paths: `bounce+<token>@<mail host>` (VERP).
 *
 * What arrives at such an address speaks of the recipient of its token, and nobody can make
 * an address for another one. 49 octets of the 64 that a local part may have.
 *
 * Limit: whoever saw one message's return path can bounce that one recipient of it.
 */
import type { KeyObject } from 'node:crypto'
import type { DomainName } from './address.js'
import { createRecipientToken, recipientOfToken } from './recipient-token.js'

const PREFIX = 'bounce+'

export function createReturnPath(secret: KeyObject, recipientId: string, host: DomainName): string {
  return `${PREFIX}${createRecipientToken(secret, 'bounce', recipientId)}@${host}`
}

/** The recipient id in the local part of a return path; null: none of ours. */
export function recipientOfReturnPath(secret: KeyObject, localPart: string): string | null {
  if (!localPart.toLowerCase().startsWith(PREFIX)) return null
  return recipientOfToken(secret, 'bounce', localPart.slice(PREFIX.length))
}
