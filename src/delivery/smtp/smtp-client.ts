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
import { isLoopback } from '../../platform/ip-address.js'
import type { Host } from '../hosts/destination.js'
import { SmtpSession } from '../sessions/smtp-session.js'
import type { Encryption } from '../sessions/tls-policy.js'
import { type Capabilities, noCapabilities, parseCapabilities } from './capabilities.js'
import { readReply, sendCommand, toSmtpFailure } from './command.js'
import { SmtpConnection, toConnectionFailure } from './connection.js'
import { login } from './login.js'
import type { SmtpFailure } from './outcome.js'
import type { Timeouts } from './timeouts.js'
import { Transcript } from './transcript.js'

export interface SmtpClientDeps {
  readonly dialer: Dialer
  /** Our name in EHLO. */
  readonly helloName: string
  readonly timeouts: Timeouts
  /** Address of ours from which to dial `address`; null: the system's choice. */
  readonly chooseSourceAddress: (address: string) => string | null
}

export type OpenResult =
  | { readonly kind: 'open'; readonly session: SmtpSession }
  | { readonly kind: 'shut'; readonly failure: SmtpFailure; readonly tls: string | null; readonly transcript: string }

type ReadyServer = { readonly kind: 'ready'; readonly capabilities: Capabilities }

/** Rejects with the signal's reason when that strikes, and only then. */
export async function openSession(
  host: Host,
  deps: SmtpClientDeps,
  signal: AbortSignal,
  encryption: Encryption = 'offered',
): Promise<OpenResult> {
  const wire = await connect(host, deps, signal)
  if (!(wire instanceof SmtpConnection)) return wire
  const aborted = (): void => wire.fail(toConnectionFailure(signal.reason))
  signal.addEventListener('abort', aborted, { once: true })
  try {
    const outcome = await performHandshake({ wire, host, deps, signal, encryption })
    signal.throwIfAborted()
    if (outcome.kind === 'ready') {
      return { kind: 'open', session: new SmtpSession(wire, outcome.capabilities, deps.timeouts) }
    }
    quit(wire)
    return { kind: 'shut', failure: outcome, tls: wire.tls, transcript: wire.transcript.toString() }
  } finally {
    signal.removeEventListener('abort', aborted)
    if (signal.aborted) wire.fail(toConnectionFailure(signal.reason))
  }
}

/** A server that refused us still gets its goodbye. */
function quit(wire: SmtpConnection): void {
  wire.writeLines(['QUIT'])
  wire.fail({ failure: 'closed', detail: 'session ended' })
}

async function connect(host: Host, deps: SmtpClientDeps, signal: AbortSignal): Promise<SmtpConnection | OpenResult> {
  const transcript = new Transcript()
  const where = `${host.mx} [${host.address}]:${host.port}`
  const localAddress = deps.chooseSourceAddress(host.address) ?? undefined
  try {
    const limits = { timeout: deps.timeouts.connect, signal, localAddress }
    const socket = await deps.dialer.dial(host.address, host.port, limits)
    transcript.logEvent(`connected to ${where}`)
    return new SmtpConnection(socket, transcript)
  } catch (error) {
    signal.throwIfAborted()
    const why = toConnectionFailure(error)
    transcript.logEvent(`not connected to ${where}: ${why.detail}`)
    return { kind: 'shut', failure: toSmtpFailure('connect', why), tls: null, transcript: transcript.toString() }
  }
}

interface HandshakeContext {
  readonly wire: SmtpConnection
  readonly host: Host
  readonly deps: SmtpClientDeps
  readonly signal: AbortSignal
  readonly encryption: Encryption
}

async function performHandshake(introduction: HandshakeContext): Promise<ReadyServer | SmtpFailure> {
  const { wire, host, deps, encryption } = introduction
  const { timeouts } = deps
  if (host.tls === 'implicit') {
    const trouble = await encrypt(introduction, 'connect')
    if (trouble !== null) return trouble
  }
  const banner = await readReply(wire, { stage: 'banner', yes: 2, timeout: timeouts.banner })
  if (banner.kind !== 'yes') return banner
  let hello = await sendHello(introduction)
  if (hello.kind === 'ready' && hello.capabilities.starttls && wire.tls === null && encryption === 'offered') {
    hello = await startTls(introduction)
  }
  if (hello.kind !== 'ready' || host.auth === null) return hello
  if (wire.tls === null && !isLoopback(host.address)) {
    return { kind: 'failed', stage: 'auth', failure: 'tls', detail: 'no encryption offered, credentials were not sent' }
  }
  const trouble = await login(wire, host.auth, hello.capabilities.auth, timeouts.auth)
  return trouble ?? hello
}

async function sendHello({ wire, deps }: HandshakeContext): Promise<ReadyServer | SmtpFailure> {
  const question = { stage: 'ehlo', yes: 2, timeout: deps.timeouts.ehlo } as const
  const extended = await sendCommand(wire, `EHLO ${deps.helloName}`, question)
  if (extended.kind === 'yes') return { kind: 'ready', capabilities: parseCapabilities(extended.serverReply.lines) }
  if (extended.kind === 'failed' || extended.reply.code < 500) return extended
  const plain = await sendCommand(wire, `HELO ${deps.helloName}`, question)
  return plain.kind === 'yes' ? { kind: 'ready', capabilities: noCapabilities } : plain
}

async function startTls(introduction: HandshakeContext): Promise<ReadyServer | SmtpFailure> {
  const { wire, deps } = introduction
  const go = await sendCommand(wire, 'STARTTLS', { stage: 'starttls', yes: 2, timeout: deps.timeouts.starttls })
  if (go.kind !== 'yes') return go
  if (wire.hasUnread) {
    const why = { failure: 'protocol', detail: 'bytes in plain text after the go-ahead to STARTTLS' } as const
    wire.fail(why)
    return toSmtpFailure('starttls', why)
  }
  return (await encrypt(introduction, 'starttls')) ?? (await sendHello(introduction))
}

async function encrypt({ wire, host, deps, signal }: HandshakeContext, stage: Stage): Promise<SmtpFailure | null> {
  const verify = host.tls === 'implicit' || (host.auth !== null && !isLoopback(host.address))
  const limits = { timeout: deps.timeouts.starttls, signal }
  const why = await wire.upgradeToTls(deps.dialer, { host: host.mx, verify, ...limits })
  return why === null ? null : toSmtpFailure(stage, why)
}
