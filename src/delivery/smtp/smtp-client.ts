/**
 * From a host to an open session: connect, greeting, EHLO, TLS, AUTH.
 *
 * - EHLO falls back to HELO when the server does not know it (RFC 5321 section 3.2).
 * - STARTTLS wherever it is offered, with any certificate (RFC 7435); what the server said
 *   before it is forgotten, and bytes that came along with its go-ahead end the connection,
 *   because they were not encrypted and would pass for replies that were (RFC 3207 section 6).
 * - `implicit` hosts must show a valid certificate. So must a host that is to hear
 *   credentials, unless it is on this machine.
 *
 * Falling back to plain text is not decided here but in tls-policy.
 */

import type { Stage } from '../../messages/replies/classify-reply.js'
import type { Dialer } from '../../platform/dialer.js'
import type { Host } from '../hosts/destination.js'
import { SmtpSession } from '../sessions/smtp-session.js'
import type { Encryption } from '../sessions/tls-policy.js'
import { type Capabilities, noCapabilities, parseCapabilities } from './capabilities.js'
import { login } from './login.js'
import type { Trouble } from './outcome.js'
import { ask, failed, hear } from './question.js'
import type { Timeouts } from './timeouts.js'
import { Transcript } from './transcript.js'
import { failureOf, Wire } from './wire.js'

export interface SmtpClientDeps {
  readonly dialer: Dialer
  /** Our name in EHLO. */
  readonly helloName: string
  readonly timeouts: Timeouts
  /** Address of ours from which to dial `address`; null: the system's choice. */
  readonly sourceAddress: (address: string) => string | null
}

export type Opened =
  | { readonly kind: 'open'; readonly session: SmtpSession }
  | { readonly kind: 'shut'; readonly trouble: Trouble; readonly tls: string | null; readonly transcript: string }

type Ready = { readonly kind: 'ready'; readonly capabilities: Capabilities }

/** Rejects with the signal's reason when that strikes, and only then. */
export async function openSession(
  host: Host,
  deps: SmtpClientDeps,
  signal: AbortSignal,
  encryption: Encryption = 'offered',
): Promise<Opened> {
  const wire = await dialed(host, deps, signal)
  if (!(wire instanceof Wire)) return wire
  const aborted = (): void => wire.fail(failureOf(signal.reason))
  signal.addEventListener('abort', aborted, { once: true })
  try {
    const outcome = await introduce({ wire, host, deps, signal, encryption })
    signal.throwIfAborted()
    if (outcome.kind === 'ready') {
      return { kind: 'open', session: new SmtpSession(wire, outcome.capabilities, deps.timeouts) }
    }
    leave(wire)
    return { kind: 'shut', trouble: outcome, tls: wire.tls, transcript: wire.transcript.toString() }
  } finally {
    signal.removeEventListener('abort', aborted)
    if (signal.aborted) wire.fail(failureOf(signal.reason))
  }
}

/** A server that refused us still gets its goodbye. */
function leave(wire: Wire): void {
  wire.say(['QUIT'])
  wire.fail({ failure: 'closed', detail: 'session ended' })
}

async function dialed(host: Host, deps: SmtpClientDeps, signal: AbortSignal): Promise<Wire | Opened> {
  const transcript = new Transcript()
  const where = `${host.mx} [${host.address}]:${host.port}`
  const localAddress = deps.sourceAddress(host.address) ?? undefined
  try {
    const limits = { timeout: deps.timeouts.connect, signal, localAddress }
    const socket = await deps.dialer.dial(host.address, host.port, limits)
    transcript.note(`connected to ${where}`)
    return new Wire(socket, transcript)
  } catch (error) {
    signal.throwIfAborted()
    const why = failureOf(error)
    transcript.note(`not connected to ${where}: ${why.detail}`)
    return { kind: 'shut', trouble: failed('connect', why), tls: null, transcript: transcript.toString() }
  }
}

interface Introduction {
  readonly wire: Wire
  readonly host: Host
  readonly deps: SmtpClientDeps
  readonly signal: AbortSignal
  readonly encryption: Encryption
}

async function introduce(introduction: Introduction): Promise<Ready | Trouble> {
  const { wire, host, deps, encryption } = introduction
  const { timeouts } = deps
  if (host.tls === 'implicit') {
    const trouble = await encrypt(introduction, 'connect')
    if (trouble !== null) return trouble
  }
  const banner = await hear(wire, { stage: 'banner', yes: 2, timeout: timeouts.banner })
  if (banner.kind !== 'yes') return banner
  let greeted = await greet(introduction)
  if (greeted.kind === 'ready' && greeted.capabilities.starttls && wire.tls === null && encryption === 'offered') {
    greeted = await startTls(introduction)
  }
  if (greeted.kind !== 'ready' || host.auth === null) return greeted
  if (wire.tls === null && !isLoopback(host.address)) {
    return { kind: 'failed', stage: 'auth', failure: 'tls', detail: 'no encryption offered, credentials were not sent' }
  }
  const trouble = await login(wire, host.auth, greeted.capabilities.auth, timeouts.auth)
  return trouble ?? greeted
}

async function greet({ wire, deps }: Introduction): Promise<Ready | Trouble> {
  const question = { stage: 'ehlo', yes: 2, timeout: deps.timeouts.ehlo } as const
  const extended = await ask(wire, `EHLO ${deps.helloName}`, question)
  if (extended.kind === 'yes') return { kind: 'ready', capabilities: parseCapabilities(extended.heard.lines) }
  if (extended.kind === 'failed' || extended.reply.code < 500) return extended
  const plain = await ask(wire, `HELO ${deps.helloName}`, question)
  return plain.kind === 'yes' ? { kind: 'ready', capabilities: noCapabilities } : plain
}

async function startTls(introduction: Introduction): Promise<Ready | Trouble> {
  const { wire, deps } = introduction
  const go = await ask(wire, 'STARTTLS', { stage: 'starttls', yes: 2, timeout: deps.timeouts.starttls })
  if (go.kind !== 'yes') return go
  if (wire.unread) {
    const why = { failure: 'protocol', detail: 'bytes in plain text after the go-ahead to STARTTLS' } as const
    wire.fail(why)
    return failed('starttls', why)
  }
  return (await encrypt(introduction, 'starttls')) ?? (await greet(introduction))
}

async function encrypt({ wire, host, deps, signal }: Introduction, stage: Stage): Promise<Trouble | null> {
  const verify = host.tls === 'implicit' || (host.auth !== null && !isLoopback(host.address))
  const limits = { timeout: deps.timeouts.starttls, signal }
  const why = await wire.secure(deps.dialer, { host: host.mx, verify, ...limits })
  return why === null ? null : failed(stage, why)
}

function isLoopback(address: string): boolean {
  return /^(127\.|::1$|::ffff:127\.)/i.test(address)
}
