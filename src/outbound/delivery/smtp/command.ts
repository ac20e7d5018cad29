/** Sends one command and returns its reply as a value: success, or the failure. */
import { formatReply } from '../../../base/mail/reply.js'
import type { Stage } from '../../../records/messages/replies/classify-reply.js'
import type { ConnectionFailure, SmtpConnection } from './connection.js'
import type { ServerReply } from './reply-parser.js'
import type { SmtpFailure } from './send-result.js'

export type CommandResult = { readonly kind: 'yes'; readonly serverReply: ServerReply } | SmtpFailure

export interface ExpectedReply {
  readonly stage: Stage
  /** The first digit of the reply code that means success. */
  readonly yes: 2 | 3
  readonly timeout: number
}

/** Sends `command` and waits for its reply. `shown` replaces it in the transcript if it holds a secret. */
export async function sendCommand(
  connection: SmtpConnection,
  command: string,
  expected: ExpectedReply,
  shown = command,
): Promise<CommandResult> {
  connection.transcript.logSent(shown)
  connection.writeLines([command])
  return readReply(connection, expected)
}

/** Reads the next reply. A reply that means neither success nor refusal ends the connection. */
export async function readReply(
  connection: SmtpConnection,
  { stage, yes, timeout }: ExpectedReply,
): Promise<CommandResult> {
  const arrival = await connection.nextReply(timeout)
  if (arrival.kind === 'failed') return toSmtpFailure(stage, arrival.why)
  const { serverReply } = arrival
  const { code } = serverReply.reply
  connection.transcript.logReceived(formatReply(serverReply.reply))
  if (Math.floor(code / 100) === yes) return { kind: 'yes', serverReply }
  if (code >= 400) return { kind: 'refused', stage, reply: serverReply.reply }
  const why: ConnectionFailure = { failure: 'protocol', detail: `unexpected reply: ${formatReply(serverReply.reply)}` }
  connection.fail(why)
  return toSmtpFailure(stage, why)
}

export function toSmtpFailure(stage: Stage, { failure, detail }: ConnectionFailure): SmtpFailure {
  return { kind: 'failed', stage, failure, detail }
}
