/**
 * Sends a message as sendmail does: to the server, or into the spool while the server is away. Exit status 0 means that
 * the message is on a disk: the server's, or this machine's.
 *
 * Each call with a server that answers also sends what is in the spool.
 */
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import { type Address, parseAddress, tryParseAddress } from '../../base/mail/address.js'
import { findFields, scanHeaderOrEmpty } from '../../base/mail/header-fields.js'
import type { Clock } from '../../base/platform/clock.js'
import { errorMessageOf } from '../../base/platform/errors.js'
import { uuidv7 } from '../../base/platform/ids.js'
import { parseArguments, type SendmailArguments } from './arguments.js'
import { addFrom, findRecipients, readInput } from './compose-input.js'
import { type ExitCode, exitCodes, SendmailFault } from './exit-codes.js'
import { handOver, type OutgoingMessage } from './hand-over.js'
import { LocalNames, readAliases } from './local-names.js'
import { MailSpool } from './mail-spool.js'
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
}

export async function sendmail(call: SendmailCall): Promise<ExitCode> {
  try {
    const given = parseArguments(call.argv)
    const spool = new MailSpool(spoolFolderOf(call.env))
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

function spoolFolderOf(env: SendmailCall['env']): string {
  const state = env['XDG_STATE_HOME']
  return state === undefined || state === '' ? SYSTEM_SPOOL : join(state, 'posthorn-sendmail')
}

function listSpool({ print }: SendmailCall, spool: MailSpool): ExitCode {
  for (const { id, message } of spool.messages()) print(`${id} <${message.sender}> ${message.recipients.join(' ')}\n`)
  return exitCodes.ok
}

const IDEMPOTENCY_FIELD = 'X-Service-Idempotency-Key'

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
  try {
    await handOver(settings, message)
  } catch (error) {
    if (!isTemporary(error)) throw error
    spool.add(message, call.clock())
    return exitCodes.ok
  }
  await flush(call, settings, spool)
  return exitCodes.ok
}

/** Sends what is in the spool, until the server is away. */
async function flush({ printError }: SendmailCall, settings: SendmailSettings, spool: MailSpool): Promise<ExitCode> {
  let exitCode: ExitCode = exitCodes.ok
  for (const { id, message } of spool.messages()) {
    try {
      await handOver(settings, message)
      spool.remove(id)
    } catch (error) {
      if (isTemporary(error) || (error instanceof SendmailFault && error.exitCode === exitCodes.noPermission)) {
        printError(`sendmail: ${id} stays in the spool: ${errorMessageOf(error)}\n`)
        exitCode = exitCodes.temporaryFailure
        // One message must not hold back the others.
        if (!(error instanceof SendmailFault) || error.isServerAway) return exitCode
        continue
      }
      printError(`sendmail: ${id} was refused and is set aside: ${errorMessageOf(error)}\n`)
      spool.setAside(id)
    }
  }
  return exitCode
}

function isTemporary(error: unknown): boolean {
  return error instanceof SendmailFault && error.exitCode === exitCodes.temporaryFailure
}
