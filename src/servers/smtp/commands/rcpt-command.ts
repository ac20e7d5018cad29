/**
 * Parses RCPT, in submissions with the parameters NOTIFY and ORCPT (RFC 3461).
 *
 * `<postmaster>` without a domain is the postmaster of this host (RFC 5321 section 4.1.1.3).
 */
import {
  type Address,
  explainAddress,
  formatForDisplay,
  tryParseAddress,
  tryParseIncomingAddress,
} from '../../../base/mail/address.js'
import { decodeXtext, parseNotify, validateOrcpt } from '../../../base/mail/dsn-parameters.js'
import type { SubmittedRecipient } from '../../../outbound/sending/submitted-message.js'
import { ProtocolFault } from '../session/smtp-reply.js'
import { buildUtf8Fault, type PathCommand, parsePathCommand, refuseUnknown, textOf } from './path-command.js'

const noParameters: ReadonlySet<string> = new Set()
const submissionParameters: ReadonlySet<string> = new Set(['NOTIFY', 'ORCPT'])

interface RcptContext {
  readonly hostname: string
  /** MAIL had the SMTPUTF8 parameter. */
  readonly smtputf8: boolean
}

export function parsePlainRcpt(line: Buffer, context: RcptContext): Address {
  return recipientOf(parseCommand(line, context, noParameters), context.hostname, tryParseIncomingAddress)
}

export function parseRcpt(line: Buffer, context: RcptContext): SubmittedRecipient {
  const command = parseCommand(line, context, submissionParameters)
  const notify = textOf(command, 'NOTIFY')
  const orcpt = textOf(command, 'ORCPT')
  return {
    address: recipientOf(command, context.hostname, tryParseAddress),
    notify: notify === null ? null : parseNotify(notify),
    orcpt: orcpt === null ? null : validateOrcpt(decodeOrcpt(orcpt)),
  }
}

function parseCommand(line: Buffer, { smtputf8 }: RcptContext, known: ReadonlySet<string>): PathCommand {
  const command = parsePathCommand(line, 'RCPT TO')
  refuseUnknown(command, known)
  if (!command.ascii && !smtputf8) throw buildUtf8Fault()
  return command
}

function recipientOf({ mailbox }: PathCommand, hostname: string, parse: typeof tryParseAddress): Address {
  const full = /^postmaster$/i.test(mailbox) ? `${mailbox}@${hostname}` : mailbox
  const address = parse(full)
  if (address === null)
    throw new ProtocolFault(
      553,
      '5.1.3',
      `${explainAddress(mailbox, 'not a mail address')}: ${formatForDisplay(mailbox)}`,
    )
  return address
}

/** ORCPT is xtext, but an address of the type `utf-8` has another encoding (RFC 6533 section 3). */
function decodeOrcpt(orcpt: string): string {
  const address = orcpt.indexOf(';') + 1
  const type = orcpt.slice(0, address)
  const encoded = orcpt.slice(address)
  return type.toLowerCase() === 'utf-8;' ? orcpt : type + decodeXtext(encoded)
}
