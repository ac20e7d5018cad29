/**
 * AUTH at a smarthost: PLAIN, else LOGIN (RFC 4954, RFC 4616).
 *
 * The caller has seen to it that the wire is encrypted to a verified peer, or ends on this
 * machine. Credentials are never in the transcript.
 */
import type { Host } from '../hosts/destination.js'
import type { Trouble } from './outcome.js'
import { ask, type Question } from './question.js'
import type { Wire } from './wire.js'

const HIDDEN = '(credentials)'

/** Null: the server knows us now. */
export async function login(
  wire: Wire,
  auth: NonNullable<Host['auth']>,
  mechanisms: readonly string[],
  timeout: number,
): Promise<Trouble | null> {
  const question: Question = { stage: 'auth', yes: 2, timeout }
  if (mechanisms.includes('PLAIN')) {
    const response = base64(`\0${auth.user}\0${auth.pass}`)
    return troubleOf(await ask(wire, `AUTH PLAIN ${response}`, question, `AUTH PLAIN ${HIDDEN}`))
  }
  if (mechanisms.includes('LOGIN')) return loginInSteps(wire, auth, question)
  return {
    kind: 'failed',
    stage: 'auth',
    failure: 'protocol',
    detail: 'the server offers neither AUTH PLAIN nor LOGIN',
  }
}

async function loginInSteps(wire: Wire, auth: NonNullable<Host['auth']>, question: Question): Promise<Trouble | null> {
  const begun = await ask(wire, 'AUTH LOGIN', { ...question, yes: 3 })
  if (begun.kind !== 'yes') return begun
  const named = await ask(wire, base64(auth.user), { ...question, yes: 3 }, HIDDEN)
  if (named.kind !== 'yes') return named
  return troubleOf(await ask(wire, base64(auth.pass), question, HIDDEN))
}

function troubleOf(answer: Awaited<ReturnType<typeof ask>>): Trouble | null {
  return answer.kind === 'yes' ? null : answer
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
