/**
 * Opens a session with a host: connection, greeting, EHLO, TLS, AUTH.
 *
 * - EHLO falls back to HELO when the server does not know it (RFC 5321 section 3.2).
 * - STARTTLS is used wherever it is offered, with any certificate (RFC 7435). Capabilities from before
 *   it are dropped; bytes after its 220 end the connection, because they came in plain text and would
 *   pass for encrypted replies (RFC 3207 section 6).
 * - `implicit` hosts must show a valid certificate, and so must hosts that get credentials, unless
 *   the address is loopback.
 * - What DANE, MTA-STS or the message demand of TLS with the host is judged before the second EHLO.
 *
 * `sessions/session-opener` decides on falling back to plain text.
 */
import type { Clock } from '../../../base/platform/clock.js'
import { DialError, type Dialer } from '../../../base/platform/dialer.js'
import { isLoopback } from '../../../base/platform/ip-address.js'
import type { Stage } from '../../../records/messages/replies/classify-reply.js'
import type { Host } from '../hosts/destination.js'
import { demandsTls, securityOf, type TlsRule } from '../hosts/host-security.js'
import type { TlsFailure } from '../hosts/tls-result.js'
import { judgeSession } from '../transport-security/verify-session.js'
import { type Capabilities, noCapabilities, parseCapabilities } from './capabilities.js'
import { type CommandResult, type ExpectedReply, readReply, sendCommand, toSmtpFailure } from './command.js'
import { SmtpConnection, toConnectionFailure } from './connection.js'
import type { SmtpFailure } from './send-result.js'
import { SmtpClientSession } from './smtp-session.js'
import type { Timeouts } from './timeouts.js'
import { Transcript } from './transcript.js'

const HIDDEN = '(credentials)'

export interface SmtpClientDeps {
  readonly dialer: Dialer
  /** The name in our EHLO, unless the host has another one. */
  readonly helloName: string
  readonly timeouts: Timeouts
  readonly clock: Clock
}

/** `offered` uses STARTTLS if the server offers it; `none` uses plain text. */
export type Encryption = 'offered' | 'none'

export type OpenResult = (
  | { readonly kind: 'open'; readonly session: SmtpClientSession }
  | { readonly kind: 'shut'; readonly failure: SmtpFailure; readonly tls: string | null; readonly transcript: string }
) &
  TlsTrace

/** What reports say about a session. */
interface TlsTrace {
  /** The failure of TLS that a policy demands, or would demand if it were enforced. Null if there is none. */
  readonly tlsFailure: TlsFailure | null
  /** Our address. Null if there was no connection. */
  readonly localAddress: string | null
}

type ReadyServer = { readonly kind: 'ready'; readonly capabilities: Capabilities }

/** Rejects only when the signal aborts, with its reason. */
export async function openClientSession(
  host: Host,
  deps: SmtpClientDeps,
  signal: AbortSignal,
  encryption: Encryption = 'offered',
): Promise<OpenResult> {
  const connection = await connect(host, deps, signal)
  if (!(connection instanceof SmtpConnection)) return connection
  const onAbort = (): void => connection.fail(toConnectionFailure(signal.reason))
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    const context = { connection, host, deps, signal, encryption, tlsFailure: null }
    const { localAddress } = connection
    const outcome = await performHandshake(context)
    signal.throwIfAborted()
    const { tlsFailure } = context
    if (outcome.kind === 'ready') {
      const session = new SmtpClientSession(connection, outcome.capabilities, deps.timeouts)
      return { kind: 'open', session, tlsFailure, localAddress }
    }
    quit(connection)
    const transcript = connection.transcript.toString()
    return { kind: 'shut', failure: outcome, tls: connection.tls, transcript, tlsFailure, localAddress }
  } finally {
    signal.removeEventListener('abort', onAbort)
    if (signal.aborted) connection.fail(toConnectionFailure(signal.reason))
  }
}

/** Sends QUIT to a server that refused the session, without waiting for the reply. */
function quit(connection: SmtpConnection): void {
  connection.writeLines(['QUIT'])
  connection.fail({ failure: 'closed', detail: 'session ended' })
}

async function connect(host: Host, deps: SmtpClientDeps, signal: AbortSignal): Promise<SmtpConnection | OpenResult> {
  const transcript = new Transcript()
  const where = `${host.mx} [${host.address}]:${host.port}`
  try {
    const limits = { timeout: deps.timeouts.connect, signal, localAddress: host.source }
    const socket = await deps.dialer.dial(host.address, host.port, limits)
    transcript.logEvent(`connected to ${where}`)
    return new SmtpConnection(socket, transcript)
  } catch (error) {
    signal.throwIfAborted()
    // This is a fault of this server, for which the host must not count as unreachable.
    if (!(error instanceof DialError)) throw error
    const why = toConnectionFailure(error)
    transcript.logEvent(`not connected to ${where}: ${why.detail}`)
    const failure = toSmtpFailure('connect', why)
    const trace = { transcript: transcript.toString(), tlsFailure: null, localAddress: null }
    return { kind: 'shut', failure, tls: null, ...trace }
  }
}

interface HandshakeContext {
  readonly connection: SmtpConnection
  readonly host: Host
  readonly deps: SmtpClientDeps
  readonly signal: AbortSignal
  readonly encryption: Encryption
  tlsFailure: TlsFailure | null
}

async function performHandshake(context: HandshakeContext): Promise<ReadyServer | SmtpFailure> {
  const { connection, host, deps, encryption } = context
  const { timeouts } = deps
  if (host.tls === 'implicit') {
    const failure = await encrypt(context, 'connect')
    if (failure !== null) return failure
  }
  const banner = await readReply(connection, { stage: 'banner', yes: 2, timeout: timeouts.banner })
  if (banner.kind !== 'yes') return banner
  let hello = await sendHello(context)
  if (hello.kind === 'ready' && connection.tls === null) {
    if (!hello.capabilities.starttls) hello = noteMissingTls(context) ?? hello
    else if (encryption === 'offered') hello = await startTls(context)
    else context.tlsFailure = { type: 'validation-failure', detail: 'TLS has failed with this host before' }
  }
  if (hello.kind !== 'ready' || host.auth === null) return hello
  if (connection.tls === null && !isLoopback(host.address)) {
    return { kind: 'failed', stage: 'auth', failure: 'tls', detail: 'no encryption offered, credentials were not sent' }
  }
  const failure = await login(connection, host.auth, hello.capabilities.auth, timeouts.auth)
  return failure ?? hello
}

async function sendHello({ connection, host, deps }: HandshakeContext): Promise<ReadyServer | SmtpFailure> {
  const name = host.hello ?? deps.helloName
  const expected = { stage: 'ehlo', yes: 2, timeout: deps.timeouts.ehlo } as const
  const extended = await sendCommand(connection, `EHLO ${name}`, expected)
  if (extended.kind === 'yes') return { kind: 'ready', capabilities: parseCapabilities(extended.serverReply.lines) }
  if (extended.kind === 'failed' || extended.reply.code < 500) return extended
  const plain = await sendCommand(connection, `HELO ${name}`, expected)
  return plain.kind === 'yes' ? { kind: 'ready', capabilities: noCapabilities } : plain
}

async function startTls(context: HandshakeContext): Promise<ReadyServer | SmtpFailure> {
  const { connection, deps } = context
  const goAhead = await sendCommand(connection, 'STARTTLS', {
    stage: 'starttls',
    yes: 2,
    timeout: deps.timeouts.starttls,
  })
  if (goAhead.kind !== 'yes') {
    context.tlsFailure = { type: 'starttls-not-supported', detail: 'STARTTLS is refused' }
    return goAhead
  }
  if (connection.hasUnread) {
    const why = { failure: 'protocol', detail: 'bytes in plain text after the go-ahead to STARTTLS' } as const
    connection.fail(why)
    return toSmtpFailure('starttls', why)
  }
  return (await encrypt(context, 'starttls')) ?? (await sendHello(context))
}

/** Returns null if the session continues without TLS. */
function noteMissingTls(context: HandshakeContext): SmtpFailure | null {
  const { host } = context
  context.tlsFailure = { type: 'starttls-not-supported', detail: 'STARTTLS is not offered' }
  if (!demandsTls(host)) return null
  const detail = `STARTTLS, which ${demandNames[securityOf(host).rule.kind]} demands, is not offered`
  return toSmtpFailure('ehlo', { failure: 'untrusted', detail })
}

const demandNames: Readonly<Record<TlsRule['kind'], string>> = {
  none: 'nothing',
  refused: 'nothing',
  dane: 'DANE',
  'sts-enforce': 'MTA-STS',
  'sts-testing': 'MTA-STS',
  verified: 'REQUIRETLS',
}

async function encrypt(context: HandshakeContext, stage: Stage): Promise<SmtpFailure | null> {
  const { connection, host, deps, signal } = context
  const { rule } = securityOf(host)
  const isJudgedLater = rule.kind === 'sts-enforce' || rule.kind === 'verified'
  const verify = isJudgedLater || host.tls === 'implicit' || (host.auth !== null && !isLoopback(host.address))
  const limits = { timeout: deps.timeouts.starttls, signal }
  const options = { host: rule.kind === 'dane' ? rule.base : host.mx, verify, isJudgedLater, ...limits }
  const why = await connection.upgradeToTls(deps.dialer, options, (socket) => {
    const { failure, proof } = judgeSession(socket, rule, deps.clock())
    context.tlsFailure = failure
    if (failure === null || !demandsTls(host)) return { failure: null, proof }
    return { failure: { failure: 'untrusted', detail: `${failure.detail} (${demandNames[rule.kind]})` }, proof }
  })
  if (why === null) return null
  context.tlsFailure ??= { type: 'validation-failure', detail: why.detail }
  return toSmtpFailure(stage, why)
}

/**
 * Logs in at a smarthost by AUTH: PLAIN, else LOGIN (RFC 4954, RFC 4616). Resolves to null if the login succeeded.
 *
 * The caller makes sure that the connection is encrypted to a verified peer, or is a loopback connection. The
 * transcript never contains credentials.
 */
async function login(
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
