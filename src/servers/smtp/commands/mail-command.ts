/**
 * Parses MAIL with its parameters: SIZE (RFC 1870), BODY (RFC 6152), SMTPUTF8 (RFC 6531) and, over TLS, REQUIRETLS
 * (RFC 8689). Submissions also have RET and ENVID (RFC 3461) and AUTH (RFC 4954 section 5). AUTH is accepted and ignored,
 * because the key says who the client is.
 */
import {
  type Address,
  explainAddress,
  formatForDisplay,
  tryParseAddress,
  tryParseIncomingAddress,
} from '../../../base/mail/address.js'
import { type DsnReturn, decodeXtext, parseRet, validateEnvid } from '../../../base/mail/dsn-parameters.js'
import { buildTooLargeRefusal } from '../session/incoming-message.js'
import { ProtocolFault } from '../session/smtp-reply.js'
import {
  buildArgumentFault,
  buildUtf8Fault,
  flagOf,
  type PathCommand,
  parsePathCommand,
  refuseUnknown,
  textOf,
} from './path-command.js'

/** MAIL with the parameters that the MX accepts. */
export interface PlainMailCommand {
  readonly from: Address | ''
  /** The declared size. 0 if none was declared. */
  readonly size: number
  readonly smtputf8: boolean
  readonly requiresTls: boolean
}

export interface MailCommand extends PlainMailCommand {
  readonly ret: DsnReturn | null
  readonly envid: string | null
}

const plainParameters: ReadonlySet<string> = new Set(['SIZE', 'BODY', 'SMTPUTF8'])
const submissionParameters: ReadonlySet<string> = new Set([...plainParameters, 'RET', 'ENVID', 'AUTH'])

/** The limits of the session. */
interface MailLimits {
  /** Replaces a sender that is no address. Without it, such a sender is refused. */
  readonly substitute?: Address | null
  readonly maxSize: number
  /** REQUIRETLS is offered only over TLS. */
  readonly isEncrypted: boolean
}

export function parsePlainMail(line: Buffer, limits: MailLimits): PlainMailCommand {
  return parsePlainPart(parseCommand(line, plainParameters, limits), limits, tryParseIncomingAddress)
}

export function parseMail(line: Buffer, limits: MailLimits): MailCommand {
  const command = parseCommand(line, submissionParameters, limits)
  textOf(command, 'AUTH')
  const ret = textOf(command, 'RET')
  const envid = textOf(command, 'ENVID')
  return {
    ...parsePlainPart(command, limits, tryParseAddress),
    ret: ret === null ? null : parseRet(ret),
    envid: envid === null ? null : validateEnvid(decodeXtext(envid)),
  }
}

function parseCommand(line: Buffer, known: ReadonlySet<string>, { isEncrypted }: MailLimits): PathCommand {
  const command = parsePathCommand(line, 'MAIL FROM')
  refuseUnknown(command, isEncrypted ? new Set([...known, 'REQUIRETLS']) : known)
  return command
}

function parsePlainPart(
  command: PathCommand,
  { maxSize, substitute = null }: MailLimits,
  parse: typeof tryParseAddress,
): PlainMailCommand {
  const smtputf8 = flagOf(command, 'SMTPUTF8')
  if (!command.ascii && !smtputf8) throw buildUtf8Fault()
  checkBody(textOf(command, 'BODY'))
  const requiresTls = flagOf(command, 'REQUIRETLS')
  return {
    from: senderOf(command, parse, substitute),
    size: parseSize(textOf(command, 'SIZE'), maxSize),
    smtputf8,
    requiresTls,
  }
}

function senderOf({ mailbox }: PathCommand, parse: typeof tryParseAddress, substitute: Address | null): Address | '' {
  if (mailbox === '') return ''
  const address = parse(mailbox) ?? substitute
  if (address === null)
    throw new ProtocolFault(
      553,
      '5.1.7',
      `${explainAddress(mailbox, 'not a mail address')}: ${formatForDisplay(mailbox)}`,
    )
  return address
}

function parseSize(value: string | null, maxSize: number): number {
  if (value === null) return 0
  if (!/^\d{1,20}$/.test(value)) throw buildArgumentFault('SIZE is a number of bytes')
  if (Number(value) > maxSize) throw buildTooLargeRefusal(maxSize)
  return Number(value)
}

function checkBody(value: string | null): void {
  if (value !== null && !/^(?:7BIT|8BITMIME)$/i.test(value)) throw buildArgumentFault('BODY is 7BIT or 8BITMIME')
}
