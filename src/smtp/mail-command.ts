/**
 * MAIL with its parameters: SIZE (RFC 1870), BODY (RFC 6152), SMTPUTF8 (RFC 6531); and, from
 * those who submit, RET and ENVID (RFC 3461), AUTH (RFC 4954 section 5: taken, and ignored as
 * its client is known by its key).
 */
import { type Address, addressOrNull, shown } from '../mail/address.js'
import { checkedEnvid, type DsnReturn, decodeXtext, parseRet } from '../mail/dsn-parameters.js'
import { tooLarge } from './collect.js'
import {
  argumentFault,
  flagOf,
  type PathCommand,
  parsePathCommand,
  refuseUnknown,
  textOf,
  utf8Fault,
} from './path-command.js'
import { ProtocolFault } from './protocol-fault.js'

/** MAIL as anybody may send it. */
export interface PlainMailCommand {
  readonly from: Address | ''
  /** As declared; 0: not declared. */
  readonly size: number
  readonly smtputf8: boolean
}

export interface MailCommand extends PlainMailCommand {
  readonly ret: DsnReturn | null
  readonly envid: string | null
}

const plain: ReadonlySet<string> = new Set(['SIZE', 'BODY', 'SMTPUTF8'])
const submitted: ReadonlySet<string> = new Set([...plain, 'RET', 'ENVID', 'AUTH'])

export function parsePlainMail(line: Buffer, maxSize: number): PlainMailCommand {
  return plainPart(commandOf(line, plain), maxSize)
}

export function parseMail(line: Buffer, maxSize: number): MailCommand {
  const command = commandOf(line, submitted)
  textOf(command, 'AUTH')
  const ret = textOf(command, 'RET')
  const envid = textOf(command, 'ENVID')
  return {
    ...plainPart(command, maxSize),
    ret: ret === null ? null : parseRet(ret),
    envid: envid === null ? null : checkedEnvid(decodeXtext(envid)),
  }
}

function commandOf(line: Buffer, known: ReadonlySet<string>): PathCommand {
  const command = parsePathCommand(line, 'MAIL FROM')
  refuseUnknown(command, known)
  return command
}

function plainPart(command: PathCommand, maxSize: number): PlainMailCommand {
  const smtputf8 = flagOf(command, 'SMTPUTF8')
  if (!command.ascii && !smtputf8) throw utf8Fault()
  checkBody(textOf(command, 'BODY'))
  return { from: senderOf(command), size: declaredSize(textOf(command, 'SIZE'), maxSize), smtputf8 }
}

function senderOf({ mailbox }: PathCommand): Address | '' {
  if (mailbox === '') return ''
  const address = addressOrNull(mailbox)
  if (address === null) throw new ProtocolFault(553, '5.1.7', `not a mail address: ${shown(mailbox)}`)
  return address
}

function declaredSize(value: string | null, maxSize: number): number {
  if (value === null) return 0
  if (!/^\d{1,20}$/.test(value)) throw argumentFault('SIZE is a number of bytes')
  if (Number(value) > maxSize) throw tooLarge(maxSize)
  return Number(value)
}

function checkBody(value: string | null): void {
  if (value !== null && !/^(?:7BIT|8BITMIME)$/i.test(value)) throw argumentFault('BODY is 7BIT or 8BITMIME')
}
