/**
 * Builds the MAIL and RCPT commands for one message, with the parameters that the server offers (RFC 5321 sections
 * 4.1.1.2 and 4.1.1.3; SIZE RFC 1870, BODY RFC 6152, SMTPUTF8 RFC 6531, DSN RFC 3461, REQUIRETLS RFC 8689).
 *
 * A message with 8-bit bytes is sent unchanged to a server without 8BITMIME: re-encoding would break its signature, and
 * servers that reject such bytes no longer occur.
 */
import { isAscii } from 'node:buffer'
import { encodeXtext, formatNotify, formatOrcpt, formatRet } from '../../../base/mail/dsn-parameters.js'
import type { Reply } from '../../../base/mail/reply.js'
import type { Capabilities } from './capabilities.js'
import type { OutboundMessage } from './outbound-message.js'

/** RFC 8689 section 4.2.1. Another host may offer REQUIRETLS. */
export const TLS_NOT_PASSED_ON = '5.7.30'

/** Returns a reply in place of the server's if the server cannot take the message at all, or null if it can. */
export function checkSendable(message: OutboundMessage, offered: Capabilities): Reply | null {
  const size = sizeOf(message)
  if (offered.size !== null && size > offered.size) {
    const text = `the message has ${size} bytes, the server takes at most ${offered.size}; it was not sent`
    return { code: 552, enhanced: '5.3.4', text }
  }
  if (message.smtputf8 && !offered.smtputf8) {
    const text = 'the message needs SMTPUTF8, which the server does not offer; it was not sent'
    return { code: 553, enhanced: '5.6.7', text }
  }
  // A notification is sent even without REQUIRETLS (RFC 8689 section 5).
  if (message.tlsRequired === 'yes' && !offered.requireTls && message.returnPath !== '') {
    const text = 'REQUIRETLS support required, which the server does not offer; it was not sent'
    return { code: 550, enhanced: TLS_NOT_PASSED_ON, text }
  }
  return null
}

export function buildMailCommand(message: OutboundMessage, offered: Capabilities): string {
  const { envid, ret } = message
  return [
    `MAIL FROM:<${checkAddress(message.returnPath)}>`,
    ...(offered.hasSize ? [`SIZE=${sizeOf(message)}`] : []),
    ...(offered.eightBitMime && !message.pieces.every((piece) => isAscii(piece)) ? ['BODY=8BITMIME'] : []),
    ...(offered.smtputf8 && message.smtputf8 ? ['SMTPUTF8'] : []),
    ...(offered.requireTls && message.tlsRequired === 'yes' ? ['REQUIRETLS'] : []),
    ...(offered.dsn && ret !== null ? [`RET=${formatRet(ret)}`] : []),
    ...(offered.dsn && envid !== null ? [`ENVID=${encodeXtext(envid)}`] : []),
  ].join(' ')
}

export function buildRcptCommand(message: OutboundMessage, offered: Capabilities): string {
  const { notify, orcpt } = message
  return [
    `RCPT TO:<${checkAddress(message.recipient)}>`,
    ...(offered.dsn && notify !== null && notify.length > 0 ? [`NOTIFY=${formatNotify(notify)}`] : []),
    ...(offered.dsn && orcpt !== null ? [`ORCPT=${formatOrcpt(orcpt)}`] : []),
  ].join(' ')
}

/** Counts bytes as RFC 1870 does: before dot-stuffing. */
export function sizeOf({ pieces }: OutboundMessage): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0)
}

/** Guards against command injection, although addresses were parsed when they came in. */
function checkAddress(address: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these would end the command
  if (/[\x00-\x1f\x7f]/.test(address)) throw new TypeError('control character in an envelope address')
  return address
}
