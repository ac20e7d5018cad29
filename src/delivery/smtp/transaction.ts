/**
 * One mail transaction with one recipient on an open wire (RFC 5321 section 3.3).
 *
 * Where the server offers PIPELINING (RFC 2920), RSET, MAIL, RCPT and DATA leave in one
 * write; a DATA that is let in although a command before it was refused is answered by a
 * lone dot. A refusal that was heard stands, whatever becomes of the wire after it.
 *
 * A yes counts only from a server that has taken every byte: one that says it earlier cannot have
 * the message, and after a yes the memory of the message may be given back (`message-shelf.ts`).
 *
 * When the wire breaks between the final dot and its reply, the server may hold the message
 * or not: the stage `message` says so. Trying again may then make a duplicate; not trying
 * would lose mail (RFC 1047).
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Capabilities } from './capabilities.js'
import { type CommandResult, type ExpectedReply, readReply, sendCommand, toSmtpFailure } from './command.js'
import type { SmtpConnection } from './connection.js'
import { dotStuff } from './dot-stuffing.js'
import { buildMailCommand, buildRcptCommand, sizeOf } from './envelope.js'
import type { OutboundMessage } from './outbound-message.js'
import type { SendResult, SmtpFailure } from './send-result.js'
import type { Timeouts } from './timeouts.js'

/** What may lie unsent before we wait for the peer to take it. */
const MAX_BACKLOG = 256 * 1024
const LONE_DOT = Buffer.from('.\r\n')

export interface TransactionResult {
  readonly sent: SendResult
  /** The server may still hold half a transaction: the next one begins with RSET. */
  readonly needsReset: boolean
}

interface TransactionStep extends ExpectedReply {
  readonly name: 'RSET' | 'MAIL' | 'RCPT' | 'DATA'
  readonly command: string
}

export async function runTransaction(
  wire: SmtpConnection,
  message: OutboundMessage,
  offered: Capabilities,
  timeouts: Timeouts,
  reset: boolean,
): Promise<TransactionResult> {
  const { failure: trouble, awaitsData: ready } = await sendEnvelope(
    wire,
    buildSteps(message, offered, timeouts, reset),
    offered.pipelining,
  )
  if (trouble !== null) {
    if (ready) await sendEmptyMessage(wire, timeouts)
    return { sent: trouble, needsReset: !ready }
  }
  // The go-ahead came with something after it: the two sides disagree about who speaks.
  if (wire.hasUnread) wire.fail({ failure: 'protocol', detail: 'a reply that nobody asked for' })
  const answer = await sendMessage(wire, message, timeouts)
  if (answer.kind !== 'yes') return { sent: answer, needsReset: false }
  return { sent: { kind: 'accepted', reply: answer.serverReply.reply, dsnRelayed: offered.dsn }, needsReset: false }
}

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
  /** The first thing that went wrong. */
  readonly failure: SmtpFailure | null
  /** The server waits for message bytes. */
  readonly awaitsData: boolean
}

async function sendEnvelope(
  wire: SmtpConnection,
  steps: readonly TransactionStep[],
  pipelining: boolean,
): Promise<EnvelopeResult> {
  if (pipelining) {
    for (const { command } of steps) wire.transcript.logSent(command)
    wire.writeLines(steps.map(({ command }) => command))
  }
  let failure: SmtpFailure | null = null
  let awaitsData = false
  for (const step of steps) {
    const answer = pipelining ? await readReply(wire, step) : await sendCommand(wire, step.command, step)
    if (answer.kind === 'yes') {
      awaitsData = step.name === 'DATA'
      continue
    }
    failure ??= step.name === 'RSET' ? toResetFailure(answer) : answer
    if (!pipelining || answer.kind === 'failed' || isServiceClosing(answer)) break
  }
  return { failure, awaitsData }
}

/** 421 is the server's goodbye, whatever it answers (RFC 5321 section 3.8). */
export function isServiceClosing(trouble: SmtpFailure): boolean {
  return trouble.kind === 'refused' && trouble.reply.code === 421
}

/** RSET cannot be refused: a no to it says nothing about the sender whose MAIL would follow. */
function toResetFailure(trouble: SmtpFailure): SmtpFailure {
  if (trouble.kind === 'failed' || isServiceClosing(trouble)) return trouble
  return { kind: 'failed', stage: 'mail', failure: 'protocol', detail: 'RSET was refused' }
}

/** The server wants a message that has no recipient: it gets an empty one, and its reply is only for the record. */
async function sendEmptyMessage(wire: SmtpConnection, timeouts: Timeouts): Promise<void> {
  wire.transcript.logSent('.')
  wire.write(LONE_DOT)
  await readReply(wire, { stage: 'message', yes: 2, timeout: timeouts.message })
}

async function sendMessage(wire: SmtpConnection, message: OutboundMessage, timeouts: Timeouts): Promise<CommandResult> {
  wire.transcript.logSent(`(${sizeOf(message)} bytes)`)
  const reply: ExpectedReply = { stage: 'message', yes: 2, timeout: timeouts.message }
  if (await sendBytes(wire, message.pieces, timeouts.block)) {
    message.onHandedOver?.()
    const answer = await readReply(wire, reply)
    if (answer.kind !== 'yes' || (await hasTakenAll(wire))) return answer
    return failMidMessage(wire, answer)
  }
  return failMidMessage(wire, await readReply(wire, reply))
}

/** What was written is known to be taken after one turn of the event loop at the latest. */
async function hasTakenAll(wire: SmtpConnection): Promise<boolean> {
  if (wire.backlog > 0) await turn()
  return wire.backlog === 0
}

function failMidMessage(wire: SmtpConnection, early: CommandResult): CommandResult {
  // In the middle of a message there is no way back to commands.
  wire.fail({ failure: 'protocol', detail: 'a reply in the middle of the message' })
  return early.kind === 'refused' || wire.failure === null ? early : toSmtpFailure('data', wire.failure)
}

/** False: the peer spoke or left before it had everything. */
async function sendBytes(wire: SmtpConnection, pieces: readonly Buffer[], timeout: number): Promise<boolean> {
  const blocks = dotStuff(pieces)
  for (let more = true; more; ) {
    wire.batchWrites(() => {
      more = writeBlocks(wire, blocks)
    })
    if (!more) break
    await wire.waitForDrain(timeout)
    if (wire.failure !== null || wire.hasUnread) return false
  }
  return wire.failure === null
}

/** Writes blocks up to the backlog; false: that was the last one. */
function writeBlocks(wire: SmtpConnection, blocks: Generator<Buffer>): boolean {
  while (wire.backlog < MAX_BACKLOG) {
    const next = blocks.next()
    if (next.done === true) return false
    wire.write(next.value)
  }
  return true
}
