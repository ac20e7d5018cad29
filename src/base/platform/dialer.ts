/**
 * Opens TCP connections and upgrades them to TLS. No other file opens outbound connections for mail.
 *
 * It takes addresses, never names: the caller resolves the name and checks the address. Nagle's algorithm is
 * off, since it costs an SMTP client, which waits for replies, 40 ms per message.
 *
 * TLS 1.2 is the minimum. Without `verify` any certificate and weak keys are accepted (RFC 7435: weak encryption
 * is better than none); with it the chain and the name must be valid.
 */
import { connect, isIP, type Socket } from 'node:net'
import {
  connect as connectTls,
  createSecureContext,
  DEFAULT_CIPHERS,
  type SecureContext,
  type TLSSocket,
} from 'node:tls'
import { errorCodeOf } from './errors.js'

type DialFailure = 'timeout' | 'refused' | 'reset' | 'closed' | 'tls' | 'unreachable'

/** A connection that could not be opened, or broke. */
export class DialError extends Error {
  override name = 'DialError'

  constructor(
    readonly failure: DialFailure,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** This machine does not have the address to dial from. The peer is not at fault. */
export class SourceAddressError extends Error {
  override name = 'SourceAddressError'

  constructor(
    readonly address: string,
    message: string,
  ) {
    super(message)
  }
}

interface DialLimits {
  /** Milliseconds. */
  readonly timeout: number
  readonly signal: AbortSignal
}

interface DialOptions extends DialLimits {
  readonly localAddress?: string | undefined
}

interface UpgradeOptions extends DialLimits {
  /** Name or address of the peer, which its certificate must be for. */
  readonly host: string
  readonly verify: boolean
  /** The caller reads `authorized` of the socket and decides: a certificate that is not valid does not end the handshake. */
  readonly isJudgedLater?: boolean
}

export interface Dialer {
  /**
   * Rejects with a `DialError` for what the peer or the network did, with a `SourceAddressError` for `localAddress`, with
   * the system's error for another fault of this machine.
   */
  readonly dial: (address: string, port: number, options: DialOptions) => Promise<Socket>
  /** The socket that is passed in must not be used again. */
  readonly upgrade: (socket: Socket, options: UpgradeOptions) => Promise<TLSSocket>
}

/** `authorities` are PEM certificates to trust instead of the system's, for closed networks. */
export function createDialer(authorities?: string): Dialer {
  const weakCiphers = `${DEFAULT_CIPHERS}:@SECLEVEL=0`
  const unverifiedContext = createSecureContext({ minVersion: 'TLSv1.2', ciphers: weakCiphers, ca: authorities })
  const verifiedContext = createSecureContext({ minVersion: 'TLSv1.2', ca: authorities })
  return {
    dial,
    upgrade: (socket, options) => upgrade(socket, options, options.verify ? verifiedContext : unverifiedContext),
  }
}

async function dial(address: string, port: number, options: DialOptions): Promise<Socket> {
  if (isIP(address) === 0) throw new TypeError(`not an IP address: ${address}`)
  options.signal.throwIfAborted()
  const { localAddress } = options
  const local = localAddress === undefined ? {} : { localAddress }
  try {
    const socket = connect({ host: address, port, noDelay: true, ...local })
    return await waitForSocket(socket, 'connect', options, 'unreachable')
  } catch (error) {
    throw localAddress === undefined ? error : toSourceError(error, localAddress)
  }
}

/** EADDRNOTAVAIL of bind; of connect it means that no local port is left. */
function toSourceError(error: unknown, address: string): unknown {
  const cause = error instanceof DialError ? error.cause : error
  if (!(cause instanceof Error) || errorCodeOf(cause) !== 'EADDRNOTAVAIL') return error
  const isOfBind = 'syscall' in cause && cause.syscall === 'bind'
  return isOfBind ? new SourceAddressError(address, `${address} is not an address of this machine`) : error
}

async function upgrade(socket: Socket, options: UpgradeOptions, secureContext: SecureContext): Promise<TLSSocket> {
  options.signal.throwIfAborted()
  // The TLS socket reports errors; an error of the socket below it must not end the process.
  socket.on('error', () => undefined)
  const { host, verify, isJudgedLater = false } = options
  const name = isIP(host) === 0 ? { servername: host } : {}
  const secure = connectTls({ socket, host, ...name, secureContext, rejectUnauthorized: verify && !isJudgedLater })
  return waitForSocket(secure, 'secureConnect', options, 'tls')
}

/** Waits for `event`; destroys the socket if anything else happens first. */
function waitForSocket<S extends Socket>(
  socket: S,
  event: string,
  limits: DialLimits,
  otherwise: DialFailure,
): Promise<S> {
  const { timeout, signal } = limits
  return new Promise((resolve, reject) => {
    const finish = (error: unknown): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      socket.off(event, onSuccess).off('error', onError).off('close', onClose)
      if (error === null) {
        resolve(socket)
      } else {
        socket.on('error', () => undefined).destroy()
        reject(error)
      }
    }
    const onSuccess = (): void => finish(null)
    const onError = (error: Error): void => finish(isOwnFault(error) ? error : toDialError(error, otherwise))
    const onClose = (): void => finish(new DialError('closed', 'connection closed'))
    const onAbort = (): void => finish(signal.reason)
    const timer = setTimeout(() => finish(new DialError('timeout', `no answer within ${timeout / 1000} s`)), timeout)
    signal.addEventListener('abort', onAbort, { once: true })
    socket.on(event, onSuccess).on('error', onError).on('close', onClose)
  })
}

const failuresByCode: Readonly<Record<string, readonly [DialFailure, string]>> = {
  ECONNREFUSED: ['refused', 'connection refused'],
  ECONNRESET: ['reset', 'connection reset'],
  ECONNABORTED: ['reset', 'connection reset'],
  EPIPE: ['reset', 'connection reset'],
  ETIMEDOUT: ['timeout', 'the network gave no answer'],
  EHOSTUNREACH: ['unreachable', 'no route to the host'],
  ENETUNREACH: ['unreachable', 'no route to the network'],
}

/** This machine has no descriptors or no memory left, which says nothing about the peer. */
function isOwnFault(error: Error): boolean {
  return ['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'].includes(errorCodeOf(error))
}

/** `otherwise` is the failure for an unknown error code. */
export function toDialError(error: Error, otherwise: DialFailure): DialError {
  const code = errorCodeOf(error)
  const known = failuresByCode[code]
  if (known !== undefined) return new DialError(...known)
  // OpenSSL's messages contain addresses and file names; `reason` is the readable part.
  return new DialError(
    /^ERR_(SSL|TLS)_/.test(code) ? 'tls' : otherwise,
    'reason' in error && typeof error.reason === 'string' ? error.reason : error.message,
    { cause: error },
  )
}
