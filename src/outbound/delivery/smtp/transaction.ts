/**
 * One mail transaction with one recipient on an open connection (RFC 5321 section 3.3).
 *
 * If the server offers PIPELINING (RFC 2920), RSET, MAIL, RCPT and DATA leave in one write. If DATA is then accepted
 * although a command before it was refused, an empty message follows. A refusal that was read counts, even if the
 * connection fails after it.
 *
 * A positive reply to the message counts only if the server has taken every byte: a server that answers earlier cannot
 * have the message, and after that reply its memory may be freed (`outbound/delivery/queue/message-cache.ts`).
 *
 * If the connection breaks between the final dot and the reply (stage `message`), the server may or may not have the
 * message. A retry may make a duplicate; no retry would lose mail (RFC 1047).
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Capabilities } from './capabilities.js'
import { type CommandResult, type ExpectedReply, readReply, sendCommand, toSmtpFailure } from './command.js'
import type { ConnectionFailure, SmtpConnection } from './connection.js'
import { dotStuff } from './dot-stuffing.js'
import { buildMailCommand, buildRcptCommand, sizeOf } from './envelope.js'
import type { OutboundMessage } from './outbound-message.js'
import type { SendResult, SmtpFailure } from './send-result.js'
import type { Timeouts } from './timeouts.js'

/** The most unsent bytes before the client waits for the peer to take them. */
const MAX_BACKLOG = 256 * 1024
const LONE_DOT = Buffer.from('.\r\n')

interface TransactionResult {
  readonly sent: SendResult
  /** True if the server may still hold an unfinished transaction, so that the next one begins with RSET. */
  readonly needsReset: boolean
}

interface TransactionStep extends ExpectedReply {
  readonly name: 'RSET' | 'MAIL' | 'RCPT' | 'DATA'
  readonly command: string
}

export async function runTransaction(
  connection: SmtpConnection,
  message: OutboundMessage,
  offered: Capabilities,
  timeouts: Timeouts,
  reset: boolean,
): Promise<TransactionResult> {
  const steps = buildSteps(message, offered, timeouts, reset)
  const { failure, awaitsData } = await sendEnvelope(connection, steps, offered.pipelining)
  if (failure !== null) {
    if (awaitsData) await sendEmptyMessage(connection, timeouts)
    return { sent: failure, needsReset: !awaitsData }
  }
  // Something came after the 354, so the two sides are out of step.
  if (connection.hasUnread) connection.fail(unsolicitedReply)
  const result = await sendMessage(connection, message, timeouts)
  if (result.kind !== 'yes') return { sent: result, needsReset: false }
  return { sent: { kind: 'accepted', reply: result.serverReply.reply, dsnRelayed: offered.dsn }, needsReset: false }
}

export const unsolicitedReply: ConnectionFailure = { failure: 'protocol', detail: 'an unsolicited reply' }

function buildSteps(
  message: OutboundMessage,
  offered: Capabilities,
  timeouts: Timeouts,
  reset: boolean,
): readonly TransactionStep[] {
  const { mail, rcpt, data } = timeouts
  return [
    ...(reset ? [{ name: 'RSET', command: 'RSET', stage: 'mail', yes: 2, timeout: mail } as const] : []),
    { name: 'MAIL', command: buildMailCommand(message, offered), stage: 'mail', yes: 2, timeout: mail },
    { name: 'RCPT', command: buildRcptCommand(message, offered), stage: 'rcpt', yes: 2, timeout: rcpt },
    { name: 'DATA', command: 'DATA', stage: 'data', yes: 3, timeout: data },
  ]
}

interface EnvelopeResult {
  /** The failure of the first step that failed. */
  readonly failure: SmtpFailure | null
  /** True if the server waits for message bytes. */
  readonly awaitsData: boolean
}

async function sendEnvelope(
  connection: SmtpConnection,
  steps: readonly TransactionStep[],
  pipelining: boolean,
): Promise<EnvelopeResult> {
  if (pipelining) {
    for (const { command } of steps) connection.transcript.logSent(command)
    connection.writeLines(steps.map(({ command }) => command))
  }
  let failure: SmtpFailure | null = null
  let awaitsData = false
  for (const step of steps) {
    const result = pipelining ? await readReply(connection, step) : await sendCommand(connection, step.command, step)
    if (result.kind === 'yes') {
      awaitsData = step.name === 'DATA'
      continue
    }
    failure ??= step.name === 'RSET' ? toResetFailure(result) : result
    if (!pipelining || result.kind === 'failed' || isServiceClosing(result)) break
  }
  return { failure, awaitsData }
}

/** A 421 closes the session, whichever command it answers (RFC 5321 section 3.8). */
export function isServiceClosing(failure: SmtpFailure): boolean {
  return failure.kind === 'refused' && failure.reply.code === 421
}

/** A refused RSET says nothing about the sender of the MAIL that follows it. */
function toResetFailure(failure: SmtpFailure): SmtpFailure {
  if (failure.kind === 'failed' || isServiceClosing(failure)) return failure
  return { kind: 'failed', stage: 'mail', failure: 'protocol', detail: 'RSET was refused' }
}

/** Sends an empty message, because the server has accepted DATA without a recipient. Its reply is only recorded. */
async function sendEmptyMessage(connection: SmtpConnection, timeouts: Timeouts): Promise<void> {
  connection.transcript.logSent('.')
  connection.write(LONE_DOT)
  await readReply(connection, { stage: 'message', yes: 2, timeout: timeouts.message })
}

async function sendMessage(
  connection: SmtpConnection,
  message: OutboundMessage,
  timeouts: Timeouts,
): Promise<CommandResult> {
  connection.transcript.logSent(`(${sizeOf(message)} bytes)`)
  const reply: ExpectedReply = { stage: 'message', yes: 2, timeout: timeouts.message }
  if (await sendBytes(connection, message.pieces, timeouts.block)) {
    message.onHandedOver?.()
    const result = await readReply(connection, reply)
    if (result.kind !== 'yes' || (await hasTakenAll(connection))) return result
    return failMidMessage(connection, result)
  }
  return failMidMessage(connection, await readReply(connection, reply))
}

/** Waits one turn of the event loop, within which Node.js reports written bytes as taken. */
async function hasTakenAll(connection: SmtpConnection): Promise<boolean> {
  if (connection.backlog > 0) await turn()
  return connection.backlog === 0
}

/** Ends the connection, because in the middle of a message no command can follow. */
function failMidMessage(connection: SmtpConnection, early: CommandResult): CommandResult {
  connection.fail({ failure: 'protocol', detail: 'a reply in the middle of the message' })
  return early.kind === 'refused' || connection.failure === null ? early : toSmtpFailure('data', connection.failure)
}

/** Resolves to false if the peer replied or closed before it had everything. */
async function sendBytes(connection: SmtpConnection, pieces: readonly Buffer[], timeout: number): Promise<boolean> {
  const blocks = dotStuff(pieces)
  for (let more = true; more; ) {
    connection.batchWrites(() => {
      more = writeBlocks(connection, blocks)
    })
    if (!more) break
    await connection.waitForDrain(timeout)
    if (connection.failure !== null || connection.hasUnread) return false
  }
  return connection.failure === null
}

/** Writes blocks up to the maximum backlog. Returns false after the last block. */
function writeBlocks(connection: SmtpConnection, blocks: Generator<Buffer>): boolean {
  while (connection.backlog < MAX_BACKLOG) {
    const next = blocks.next()
    if (next.done === true) return false
    connection.write(next.value)
  }
  return true
}
