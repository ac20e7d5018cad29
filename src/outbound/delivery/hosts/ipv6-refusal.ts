/**
 * Decides whether a message was refused because it came over IPv6. Pure.
 *
 * Some providers demand more of IPv6 than of IPv4: a reverse name of the address, and mail that SPF or DKIM proves.
 * Such a reply is about the connection, not about the recipient or the message, which the same host may take over IPv4.
 */
import type { Reply } from '../../../base/mail/reply.js'
import type { Host } from './destination.js'

/** Tells whether the reply names IPv6 and a rule about the sender's address (RFC 3463: X.7.X), or its demand. */
export function isIpv6Refusal({ address }: Pick<Host, 'address'>, { code, enhanced, text }: Reply): boolean {
  if (!address.includes(':') || code < 400 || !/\bipv6\b/i.test(text)) return false
  return /^[45]\.7\./.test(enhanced ?? '') || /\b(?:ptr|reverse)\b/i.test(text)
}
