/** One command and the answer to it, as a value: yes, or what is the trouble. */
import { formatReply } from '../../mail/reply.js'
import type { Stage } from '../../messages/replies/classify-reply.js'
import type { ConnectionFailure, SmtpConnection } from './connection.js'
import type { ServerReply } from './reply-parser.js'
import type { SmtpFailure } from './send-result.js'

export type CommandResult = { readonly kind: 'yes'; readonly serverReply: ServerReply } | SmtpFailure

export interface ExpectedReply {
  readonly stage: Stage
  /** The first digit of a yes. */
  readonly yes: 2 | 3
  readonly timeout: number
}

/** Says `command` (`shown` in its place in the transcript, where it holds a secret) and waits for the answer. */
export async function sendCommand(
  wire: SmtpConnection,
  command: string,
  question: ExpectedReply,
  shown = command,
): Promise<CommandResult> {
  wire.transcript.logSent(shown)
  wire.writeLines([command])
  return readReply(wire, question)
}

/** The next answer. Neither yes nor no, or a greeting of death: the wire ends. */
export async function readReply(wire: SmtpConnection, { stage, yes, timeout }: ExpectedReply): Promise<CommandResult> {
  const arrival = await wire.nextReply(timeout)
  if (arrival.kind === 'failed') return toSmtpFailure(stage, arrival.why)
  const { serverReply } = arrival
  const { code } = serverReply.reply
  wire.transcript.logReceived(formatReply(serverReply.reply))
  if (Math.floor(code / 100) === yes) return { kind: 'yes', serverReply }
  if (code >= 400) return { kind: 'refused', stage, reply: serverReply.reply }
  const why: ConnectionFailure = { failure: 'protocol', detail: `unexpected reply: ${formatReply(serverReply.reply)}` }
  wire.fail(why)
  return toSmtpFailure(stage, why)
}

export function toSmtpFailure(stage: Stage, { failure, detail }: ConnectionFailure): SmtpFailure {
  return { kind: 'failed', stage, failure, detail }
}
