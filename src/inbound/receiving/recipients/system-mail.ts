/**
 * The size limits of mail to addresses of the service, which anyone may write to. Letters to the operator have no archives;
 * reports about domains are archives. Complaints may contain complete messages and have the limit of all mail.
 */
import { Refusal } from '../../../base/mail/refusal.js'
import type { InboundRecipient, SystemName } from './recipient-policy.js'

/** Bytes of one message. */
const MAX_LETTER = 1_048_576
/** Bytes of a message with a report of 10 MB, as base64. */
const MAX_DOMAIN_REPORT = 15_728_640

const sizeLimits: Partial<Record<SystemName, number>> = {
  postmaster: MAX_LETTER,
  abuse: MAX_LETTER,
  unsubscribe: MAX_LETTER,
  dmarc: MAX_DOMAIN_REPORT,
  tlsrpt: MAX_DOMAIN_REPORT,
}

export function isTooLargeFor(recipient: InboundRecipient, size: number): boolean {
  return size > maxSizeOf(recipient)
}

/** The refusal of a message that is too large for one of these recipients. */
export function buildTooLarge(recipients: readonly InboundRecipient[]): Refusal {
  return new Refusal(
    'too-large',
    `mail to this address may have at most ${Math.min(...recipients.map(maxSizeOf))} octets`,
  )
}

function maxSizeOf(recipient: InboundRecipient): number {
  const limit = recipient.kind === 'system' ? sizeLimits[recipient.name] : undefined
  return limit ?? Number.POSITIVE_INFINITY
}
