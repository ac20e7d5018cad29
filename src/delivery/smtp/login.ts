/**
 * AUTH at a smarthost: PLAIN, else LOGIN (RFC 4954, RFC 4616).
 *
 * The caller has seen to it that the wire is encrypted to a verified peer, or ends on this
 * machine. Credentials are never in the transcript.
 */
import type { Host } from '../hosts/destination.js'
import { type ExpectedReply, sendCommand } from './command.js'
import type { SmtpConnection } from './connection.js'
import type { SmtpFailure } from './send-result.js'

const HIDDEN = '(credentials)'

/** Null: the server knows us now. */
export async function login(
  wire: SmtpConnection,
  auth: NonNullable<Host['auth']>,
  mechanisms: readonly string[],
  timeout: number,
): Promise<SmtpFailure | null> {
  const question: ExpectedReply = { stage: 'auth', yes: 2, timeout }
  if (mechanisms.includes('PLAIN')) {
    const response = encodeBase64(`\0${auth.user}\0${auth.pass}`)
    return smtpFailureOf(await sendCommand(wire, `AUTH PLAIN ${response}`, question, `AUTH PLAIN ${HIDDEN}`))
  }
  if (mechanisms.includes('LOGIN')) return loginInSteps(wire, auth, question)
  return {
    kind: 'failed',
    stage: 'auth',
    failure: 'protocol',
    detail: 'the server offers neither AUTH PLAIN nor LOGIN',
  }
}

async function loginInSteps(
  wire: SmtpConnection,
  auth: NonNullable<Host['auth']>,
  question: ExpectedReply,
): Promise<SmtpFailure | null> {
  const begun = await sendCommand(wire, 'AUTH LOGIN', { ...question, yes: 3 })
  if (begun.kind !== 'yes') return begun
  const named = await sendCommand(wire, encodeBase64(auth.user), { ...question, yes: 3 }, HIDDEN)
  if (named.kind !== 'yes') return named
  return smtpFailureOf(await sendCommand(wire, encodeBase64(auth.pass), question, HIDDEN))
}

function smtpFailureOf(answer: Awaited<ReturnType<typeof sendCommand>>): SmtpFailure | null {
  return answer.kind === 'yes' ? null : answer
}

function encodeBase64(text: string): string {
  return Buffer.from(text).toString('base64')
}
