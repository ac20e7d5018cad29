/**
 * Addresses that unsubscribe whoever they were made for: `unsubscribe+<token>@<mail host>`,
 * for List-Unsubscribe (RFC 2369 section 3.2). 54 octets of the 64 that a local part may have.
 *
 * Limit: whoever the message was passed on to can unsubscribe its first recipient.
 */
import type { KeyObject } from 'node:crypto'
import type { Address, DomainName } from './address.js'
import { createRecipientToken, recipientOfToken } from './recipient-token.js'

export function createUnsubscribeAddress(secret: KeyObject, recipientId: string, host: DomainName): Address {
  return `unsubscribe+${createRecipientToken(secret, 'unsubscribe', recipientId)}@${host}` as Address
}

/** `detail`: what stands behind the `+` of such an address. Null: no token of ours. */
export function recipientOfUnsubscribe(secret: KeyObject, detail: string): string | null {
  return recipientOfToken(secret, 'unsubscribe', detail)
}
