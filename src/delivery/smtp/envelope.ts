/**
 * The envelope of a message in the words that one server understands (RFC 5321 sections
 * 4.1.1.2 and 4.1.1.3; SIZE RFC 1870, BODY RFC 6152, SMTPUTF8 RFC 6531, DSN RFC 3461).
 *
 * A message with 8-bit bytes goes to a server without 8BITMIME as it is: re-encoding would
 * break its signature, and servers that mind are not seen any more.
 */
import { isAscii } from 'node:buffer'
import type { Reply } from '../../mail/reply.js'
import type { OutboundMessage } from '../attempt/outbound-message.js'
import type { Capabilities } from './capabilities.js'

/** RFC 3461 sections 4.2 and 4.4. */
const MAX_ENVID = 100
const MAX_ORCPT = 500

/** What we say instead of the server when it cannot take the message at all; null: it can. */
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
  return null
}

export function buildMailCommand(message: OutboundMessage, offered: Capabilities): string {
  const { envid, ret } = message
  const xenvid = envid === null ? null : encodeXtext(envid, MAX_ENVID)
  return [
    `MAIL FROM:<${checkAddress(message.returnPath)}>`,
    ...(offered.hasSize ? [`SIZE=${sizeOf(message)}`] : []),
    ...(offered.eightBitMime && !message.pieces.every((piece) => isAscii(piece)) ? ['BODY=8BITMIME'] : []),
    ...(offered.smtputf8 && message.smtputf8 ? ['SMTPUTF8'] : []),
    ...(offered.dsn && ret !== null ? [`RET=${ret === 'full' ? 'FULL' : 'HDRS'}`] : []),
    ...(offered.dsn && xenvid !== null ? [`ENVID=${xenvid}`] : []),
  ].join(' ')
}

export function buildRcptCommand(message: OutboundMessage, offered: Capabilities): string {
  const { notify, orcpt } = message
  const original = orcpt === null ? null : encodeOrcpt(orcpt)
  return [
    `RCPT TO:<${checkAddress(message.recipient)}>`,
    ...(offered.dsn && notify !== null && notify.length > 0 ? [`NOTIFY=${notify.join(',').toUpperCase()}`] : []),
    ...(offered.dsn && original !== null ? [`ORCPT=${original}`] : []),
  ].join(' ')
}

/** Bytes as RFC 1870 counts them: before dot-stuffing. */
export function sizeOf({ pieces }: OutboundMessage): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0)
}

/** An address was parsed when it came in; that none ends the command early is checked all the same. */
function checkAddress(address: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these would end the command
  if (/[\x00-\x1f\x7f]/.test(address)) throw new TypeError('control character in an envelope address')
  return address
}

/** `rfc822;bob@example.test`, or null where it has no form on this wire. */
function encodeOrcpt(orcpt: string): string | null {
  const [, kind, value] = /^([a-z0-9-]+);(.+)$/is.exec(orcpt) ?? []
  const encoded = value === undefined ? null : encodeXtext(value, MAX_ORCPT)
  return kind === undefined || encoded === null ? null : `${kind};${encoded}`
}

/** RFC 3461 section 4: printable ASCII without `+` and `=`, else `+XX`. */
function encodeXtext(value: string, limit: number): string | null {
  if (!isAscii(Buffer.from(value))) return null
  const hex = (char: string): string => `+${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
  const encoded = value.replace(/[^!-*,-<>-~]/g, hex)
  return encoded.length <= limit ? encoded : null
}
