/**
 * Logs in at a smarthost by AUTH: PLAIN, else LOGIN (RFC 4954, RFC 4616).
 *
 * The caller makes sure that the connection is encrypted to a verified peer, or is a loopback
 * connection. The transcript never holds credentials.
 */
import type { Host } from '../hosts/destination.js'
import { type CommandResult, type ExpectedReply, sendCommand } from './command.js'
import type { SmtpConnection } from './connection.js'
import type { SmtpFailure } from './send-result.js'

const HIDDEN = '(credentials)'

/** Null: the login succeeded. */
export async function login(
  connection: SmtpConnection,
  auth: NonNullable<Host['auth']>,
  mechanisms: readonly string[],
  timeout: number,
): Promise<SmtpFailure | null> {
  const expected: ExpectedReply = { stage: 'auth', yes: 2, timeout }
  if (mechanisms.includes('PLAIN')) {
    const response = encodeBase64(`\0${auth.user}\0${auth.pass}`)
    return smtpFailureOf(await sendCommand(connection, `AUTH PLAIN ${response}`, expected, `AUTH PLAIN ${HIDDEN}`))
  }
  if (mechanisms.includes('LOGIN')) return loginInSteps(connection, auth, expected)
  return {
    kind: 'failed',
    stage: 'auth',
    failure: 'protocol',
    detail: 'the server offers neither AUTH PLAIN nor LOGIN',
  }
}

async function loginInSteps(
  connection: SmtpConnection,
  auth: NonNullable<Host['auth']>,
  expected: ExpectedReply,
): Promise<SmtpFailure | null> {
  const userPrompt = await sendCommand(connection, 'AUTH LOGIN', { ...expected, yes: 3 })
  if (userPrompt.kind !== 'yes') return userPrompt
  const passwordPrompt = await sendCommand(connection, encodeBase64(auth.user), { ...expected, yes: 3 }, HIDDEN)
  if (passwordPrompt.kind !== 'yes') return passwordPrompt
  return smtpFailureOf(await sendCommand(connection, encodeBase64(auth.pass), expected, HIDDEN))
}

function smtpFailureOf(result: CommandResult): SmtpFailure | null {
  return result.kind === 'yes' ? null : result
}

function encodeBase64(text: string): string {
  return Buffer.from(text).toString('base64')
}
