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
import type { OutboundMessage } from '../attempt/outbound-message.js'
import type { Capabilities } from './capabilities.js'
import { mailCommand, rcptCommand, sizeOf } from './commands.js'
import { dotStuffed } from './dot-stuffing.js'
import type { Sent, Trouble } from './outcome.js'
import { type Answer, ask, failed, hear, type Question } from './question.js'
import type { Timeouts } from './timeouts.js'
import type { Wire } from './wire.js'

/** What may lie unsent before we wait for the peer to take it. */
const MAX_BACKLOG = 256 * 1024
const LONE_DOT = Buffer.from('.\r\n')

export interface Transaction {
  readonly sent: Sent
  /** The server may still hold half a transaction: the next one begins with RSET. */
  readonly dirty: boolean
}

interface Step extends Question {
  readonly name: 'RSET' | 'MAIL' | 'RCPT' | 'DATA'
  readonly command: string
}

export async function transact(
  wire: Wire,
  message: OutboundMessage,
  offered: Capabilities,
  timeouts: Timeouts,
  reset: boolean,
): Promise<Transaction> {
  const { trouble, ready } = await sendEnvelope(wire, stepsFor(message, offered, timeouts, reset), offered.pipelining)
  if (trouble !== null) {
    if (ready) await sendNothing(wire, timeouts)
    return { sent: trouble, dirty: !ready }
  }
  // The go-ahead came with something after it: the two sides disagree about who speaks.
  if (wire.unread) wire.fail({ failure: 'protocol', detail: 'a reply that nobody asked for' })
  const answer = await sendMessage(wire, message, timeouts)
  if (answer.kind !== 'yes') return { sent: answer, dirty: false }
  return { sent: { kind: 'accepted', reply: answer.heard.reply, dsnRelayed: offered.dsn }, dirty: false }
}

function stepsFor(
  message: OutboundMessage,
  offered: Capabilities,
  timeouts: Timeouts,
  reset: boolean,
): readonly Step[] {
  const { mail, rcpt, data } = timeouts
  return [
    ...(reset ? [{ name: 'RSET', command: 'RSET', stage: 'mail', yes: 2, timeout: mail } as const] : []),
    { name: 'MAIL', command: mailCommand(message, offered), stage: 'mail', yes: 2, timeout: mail },
    { name: 'RCPT', command: rcptCommand(message, offered), stage: 'rcpt', yes: 2, timeout: rcpt },
    { name: 'DATA', command: 'DATA', stage: 'data', yes: 3, timeout: data },
  ]
}

interface Envelope {
  /** The first thing that went wrong. */
  readonly trouble: Trouble | null
  /** The server waits for message bytes. */
  readonly ready: boolean
}

async function sendEnvelope(wire: Wire, steps: readonly Step[], pipelining: boolean): Promise<Envelope> {
  if (pipelining) {
    for (const { command } of steps) wire.transcript.sent(command)
    wire.say(steps.map(({ command }) => command))
  }
  let trouble: Trouble | null = null
  let ready = false
  for (const step of steps) {
    const answer = pipelining ? await hear(wire, step) : await ask(wire, step.command, step)
    if (answer.kind === 'yes') {
      ready = step.name === 'DATA'
      continue
    }
    trouble ??= step.name === 'RSET' ? resetTrouble(answer) : answer
    if (!pipelining || answer.kind === 'failed' || isFarewell(answer)) break
  }
  return { trouble, ready }
}

/** 421 is the server's goodbye, whatever it answers (RFC 5321 section 3.8). */
export function isFarewell(trouble: Trouble): boolean {
  return trouble.kind === 'refused' && trouble.reply.code === 421
}

/** RSET cannot be refused: a no to it says nothing about the sender whose MAIL would follow. */
function resetTrouble(trouble: Trouble): Trouble {
  if (trouble.kind === 'failed' || isFarewell(trouble)) return trouble
  return { kind: 'failed', stage: 'mail', failure: 'protocol', detail: 'RSET was refused' }
}

/** The server wants a message that has no recipient: it gets an empty one, and its reply is only for the record. */
async function sendNothing(wire: Wire, timeouts: Timeouts): Promise<void> {
  wire.transcript.sent('.')
  wire.write(LONE_DOT)
  await hear(wire, { stage: 'message', yes: 2, timeout: timeouts.message })
}

async function sendMessage(wire: Wire, message: OutboundMessage, timeouts: Timeouts): Promise<Answer> {
  wire.transcript.sent(`(${sizeOf(message)} bytes)`)
  const reply: Question = { stage: 'message', yes: 2, timeout: timeouts.message }
  if (await sendBytes(wire, message.pieces, timeouts.block)) {
    message.handedOver?.()
    const answer = await hear(wire, reply)
    if (answer.kind !== 'yes' || (await hasTakenAll(wire))) return answer
    return endInTheMiddle(wire, answer)
  }
  return endInTheMiddle(wire, await hear(wire, reply))
}

/** What was written is known to be taken after one turn of the event loop at the latest. */
async function hasTakenAll(wire: Wire): Promise<boolean> {
  if (wire.backlog > 0) await turn()
  return wire.backlog === 0
}

function endInTheMiddle(wire: Wire, early: Answer): Answer {
  // In the middle of a message there is no way back to commands.
  wire.fail({ failure: 'protocol', detail: 'a reply in the middle of the message' })
  return early.kind === 'refused' || wire.failed === null ? early : failed('data', wire.failed)
}

/** False: the peer spoke or left before it had everything. */
async function sendBytes(wire: Wire, pieces: readonly Buffer[], timeout: number): Promise<boolean> {
  const blocks = dotStuffed(pieces)
  for (let more = true; more; ) {
    wire.together(() => {
      more = writeSome(wire, blocks)
    })
    if (!more) break
    await wire.drained(timeout)
    if (wire.failed !== null || wire.unread) return false
  }
  return wire.failed === null
}

/** Writes blocks up to the backlog; false: that was the last one. */
function writeSome(wire: Wire, blocks: Generator<Buffer>): boolean {
  while (wire.backlog < MAX_BACKLOG) {
    const next = blocks.next()
    if (next.done === true) return false
    wire.write(next.value)
  }
  return true
}
