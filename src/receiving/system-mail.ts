/**
 * The size limit of mail to the operator's addresses, which anyone may write to: letters, no archives. Reports of
 * other systems may contain complete messages and have the limit of all mail.
 */
import { Refusal } from '../mail/refusal.js'
import type { InboundRecipient, SystemName } from './recipient-policy.js'

/** Bytes of one message. */
const MAX_SYSTEM_MAIL = 1_048_576

const limitedNames: ReadonlySet<SystemName> = new Set<SystemName>(['postmaster', 'abuse', 'unsubscribe'])

export function isTooLargeFor(recipient: InboundRecipient, size: number): boolean {
  return recipient.kind === 'system' && limitedNames.has(recipient.name) && size > MAX_SYSTEM_MAIL
}

export function buildTooLarge(): Refusal {
  return new Refusal('too-large', `mail to this address may have at most ${MAX_SYSTEM_MAIL} octets`)
}
