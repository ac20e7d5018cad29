/**
 * Sends a message as sendmail does: to the server, or into the spool while the server is away. Exit status 0 means that
 * the message is on a disk: the server's, or this machine's.
 *
 * Every user of the machine may send with its key. Users who may not read the key write to the spool, whose messages
 * root's timer sends.
 *
 * Each call with a server that answers also sends what is in the spool.
 */
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import { type Address, parseAddress, tryParseAddress } from '../../base/mail/address.js'
import { findFields, scanHeaderOrEmpty } from '../../base/mail/header-fields.js'
import type { Clock } from '../../base/platform/clock.js'
import { uuidv7 } from '../../base/platform/ids.js'
import { parseArguments, type SendmailArguments } from './arguments.js'
import { addFrom, findRecipients, readInput } from './compose-input.js'
import { deliver, divide, IDEMPOTENCY_FIELD } from './deliver.js'
import { type ExitCode, exitCodes, SendmailFault } from './exit-codes.js'
import type { OutgoingMessage } from './hand-over.js'
import { LocalNames, readAliases } from './local-names.js'
import { MailSpool, type SpooledMessage } from './mail-spool.js'
import { readSettings, type SendmailSettings } from './settings.js'

interface SendmailCall {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** Reads the message. Rejects if it is too long. */
  readonly readInput: () => Promise<Buffer>
  readonly print: (text: string) => void
  readonly printError: (text: string) => void
  readonly clock: Clock
  /** Other files than those of the system, for tests. */
  readonly aliases?: string
  readonly spool?: string
}

export async function sendmail(call: SendmailCall): Promise<ExitCode> {
  try {
    const given = parseArguments(call.argv)
    const spool = openSpool(call)
    if (given.act === 'list') return listSpool(call, spool)
    const settings = readSettings(call.env)
    if (given.act === 'flush') return await flush(call, settings, spool)
    return await send(call, settings, spool, await composeMessage(call, settings, given))
  } catch (error) {
    if (!(error instanceof SendmailFault)) throw error
    call.printError(`sendmail: ${error.message}\n`)
    return error.exitCode
  }
}

const SYSTEM_SPOOL = '/var/spool/posthorn-sendmail'

function openSpool({ env, spool = SYSTEM_SPOOL }: SendmailCall): MailSpool {
  const state = env['XDG_STATE_HOME'] || null
  return state === null ? new MailSpool(spool, true) : new MailSpool(join(state, 'posthorn-sendmail'), false)
}

function listSpool({ print }: SendmailCall, spool: MailSpool): ExitCode {
  for (const { id, message } of spool.messages()) print(`${id} <${message.sender}> ${message.recipients.join(' ')}\n`)
  return exitCodes.ok
}

async function composeMessage(
  call: SendmailCall,
  settings: SendmailSettings,
  given: SendmailArguments,
): Promise<OutgoingMessage> {
  const own = settings.sender ?? nameUser()
  const names = new LocalNames(own, readAliases(call.aliases))
  const sender = readSender(given.sender, settings, names) ?? own
  const input = readInput(await call.readInput(), given.ignoresDots)
  const named = [
    ...given.recipients.flatMap((word) => word.split(',')),
    ...(given.readsRecipients ? findRecipients(input) : []),
  ]
  const recipients = names.resolve(named.map((name) => name.trim()).filter((name) => name !== ''))
  if (recipients.length === 0) throw new SendmailFault(exitCodes.usage, 'no recipients are named')
  const raw = addFrom(input, sender === '' ? own : sender, given.fullName)
  // A repetition, after a reply that got lost, is then the same email.
  const hasKey = findFields(scanHeaderOrEmpty(raw), IDEMPOTENCY_FIELD.toLowerCase()).length > 0
  const key = hasKey ? '' : `${IDEMPOTENCY_FIELD}: sendmail-${uuidv7(call.clock())}\r\n`
  return { sender, recipients, raw: Buffer.concat([Buffer.from(key), raw]) }
}

/** Null for the own sender. A name without a domain is one of this machine, which the configured sender replaces. */
function readSender(given: string | null, settings: SendmailSettings, names: LocalNames): Address | '' | null {
  if (given === null || (settings.sender !== null && given !== '' && !given.includes('@'))) return null
  return given === '' ? '' : names.complete(given)
}

/** The user of this process at this machine. */
function nameUser(): Address {
  const written = `${userInfo().username}@${hostname()}`
  return tryParseAddress(written) ?? parseAddress('nobody@localhost')
}

async function send(
  call: SendmailCall,
  settings: SendmailSettings,
  spool: MailSpool,
  message: OutgoingMessage,
): Promise<ExitCode> {
  if (settings.keyFault !== null) {
    if (!spool.isShared) throw settings.keyFault
    for (const part of divide(message)) spool.add(part, call.clock())
    return exitCodes.ok
  }
  const { deferred, faults } = await deliver(settings, message)
  for (const part of deferred) spool.add(part, call.clock())
  const [fault, ...others] = faults.filter((one) => !isTemporary(one))
  for (const other of others) call.printError(`sendmail: ${other.message}\n`)
  if (fault !== undefined) throw fault
  if (deferred.length === 0) await flush(call, settings, spool)
  return exitCodes.ok
}

/** Sends what is in the spool, until the server is away. */
async function flush(call: SendmailCall, settings: SendmailSettings, spool: MailSpool): Promise<ExitCode> {
  if (settings.keyFault !== null) throw settings.keyFault
  let exitCode: ExitCode = exitCodes.ok
  for (const spooled of spool.messages()) {
    const waiting = await sendSpooled(call, settings, spool, spooled)
    if (waiting === null) continue
    call.printError(`sendmail: ${spooled.id} stays in the spool: ${waiting.message}\n`)
    exitCode = exitCodes.temporaryFailure
    // One message must not hold back the others.
    if (waiting.isServerAway) return exitCode
  }
  return exitCode
}

/** Returns null, or why the message stays in the spool. What remains of it is a new message there. */
async function sendSpooled(
  { clock, printError }: SendmailCall,
  settings: SendmailSettings,
  spool: MailSpool,
  { id, message }: SpooledMessage,
): Promise<SendmailFault | null> {
  const { deferred, faults } = await deliver(settings, message)
  const refused = faults.filter((one) => !isTemporary(one))
  const isDeferred = deferred.includes(message) || faults.some(({ isServerAway }) => isServerAway)
  const waiting = faults.find((one) => (isTemporary(one) ? isDeferred : one.exitCode === exitCodes.noPermission))
  if (waiting !== undefined) return waiting
  for (const part of deferred) spool.add(part, clock())
  for (const { message: text } of refused) printError(`sendmail: ${id} was refused and is set aside: ${text}\n`)
  if (refused.length === 0) spool.remove(id)
  else spool.setAside(id)
  return null
}

function isTemporary({ exitCode }: SendmailFault): boolean {
  return exitCode === exitCodes.temporaryFailure
}
