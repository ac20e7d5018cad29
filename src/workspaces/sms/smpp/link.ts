/**
 * Keeps one session bound as transceiver. It dials, speaks TLS if the URL says so, binds, and connects again when
 * the session has ended. The first attempt begins at once.
 *
 * The pause doubles from 1 s to 60 s. After a session of a minute it is 1 s again, and after a refused bind it is 60
 * s. The operator chooses the host, so private addresses are allowed. With TLS, chain and name must be valid.
 */
import { isIP, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { SmppServer } from '../../../base/config/network-values.js'
import type { Clock } from '../../../base/platform/clock.js'
import type { Dialer } from '../../../base/platform/dialer.js'
import type { Resolver } from '../../../base/platform/dns/resolver.js'
import { errorMessageOf } from '../../../base/platform/errors.js'
import type { Log } from '../../../base/platform/log.js'
import type { RandomSource } from '../../../base/platform/random.js'
import { OK_STATUS, type Pdu, statusNameOf } from './pdu.js'
import { SmppSession, type SmppSessionTimes } from './session.js'

/** Milliseconds. */
export interface LinkTimes extends SmppSessionTimes {
  /** The time to connect to one address, and for the TLS handshake. */
  readonly dial: number
  readonly minPause: number
  readonly maxPause: number
  /** The pause after a refused bind. */
  readonly refusedPause: number
  /** A session that lasted this long makes the next pause the shortest one. */
  readonly settled: number
  /** The time to wait for the answer to our unbind. */
  readonly unbind: number
}

export interface LinkDeps {
  readonly server: SmppServer
  readonly systemId: string
  readonly password: string
  /** Trusts the operator's `ca_file`, or without one the system's authorities. */
  readonly dialer: Dialer
  readonly resolveAddresses: Resolver['resolveAddresses']
  readonly clock: Clock
  readonly random: RandomSource
  readonly log: Log
  readonly times: LinkTimes
  readonly onDelivery: (pdu: Pdu) => Promise<void>
}

const INTERFACE_VERSION = 0x34

class BindRefusal extends Error {}

export class SmppLink {
  private readonly stopping = new AbortController()
  private readonly waiters = new Set<(session: SmppSession | null) => void>()
  private readonly running: Promise<void>
  private readonly name: string
  private session: SmppSession | null = null
  /** It is empty while the first attempt runs, and while there is a session. */
  private lastFault = ''
  private step = 'the host is being looked up'
  private failures = 0

  constructor(private readonly deps: LinkDeps) {
    const { host, port } = deps.server
    this.name = isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`
    this.running = this.run()
  }

  /** Why there is no session. */
  get fault(): string {
    return this.lastFault === '' ? this.step : this.lastFault
  }

  /** Resolves to null if there is no session within `maxWait` milliseconds. */
  waitForSession(maxWait: number): Promise<SmppSession | null> {
    if (this.session?.isOpen === true) return Promise.resolve(this.session)
    if (maxWait <= 0 || this.stopping.signal.aborted) return Promise.resolve(null)
    return new Promise((resolve) => {
      const settle = (session: SmppSession | null): void => {
        clearTimeout(timer)
        this.waiters.delete(settle)
        resolve(session)
      }
      const timer = setTimeout(settle, maxWait, null)
      this.waiters.add(settle)
    })
  }

  async stop(): Promise<void> {
    this.stopping.abort()
    this.lastFault = 'the service is stopping'
    this.wake(null)
    const { session } = this
    if (session !== null) {
      await session.request('unbind', {}, this.deps.times.unbind)
      session.end('stopped')
    }
    await this.running
  }

  private async run(): Promise<void> {
    const { log, clock, times } = this.deps
    const { signal } = this.stopping
    while (!signal.aborted) {
      const session = await this.connect().catch((error: unknown) => this.noteFailure(error))
      if (session !== null) {
        const since = clock()
        log.info({ smpp: this.name }, 'SMPP session bound')
        const reason = await this.use(session)
        if (signal.aborted) return
        if (clock() - since >= times.settled) this.failures = 0
        this.failures += 1
        this.lastFault = reason
        log.warn({ smpp: this.name, reason }, 'SMPP session lost')
      }
      await pause(this.nextPause(), undefined, { signal }).catch(() => undefined)
    }
  }

  private async use(session: SmppSession): Promise<string> {
    this.session = session
    this.lastFault = ''
    this.wake(session)
    const reason = await session.ended
    this.session = null
    return reason
  }

  private wake(session: SmppSession | null): void {
    for (const settle of [...this.waiters]) settle(session)
  }

  private async connect(): Promise<SmppSession> {
    const { times, onDelivery } = this.deps
    const session = new SmppSession(await this.openSocket(), { times, onDelivery })
    const { signal } = this.stopping
    const onStop = (): void => session.end('stopped')
    signal.addEventListener('abort', onStop)
    try {
      signal.throwIfAborted()
      await this.bind(session)
      return session
    } catch (error) {
      session.end('not bound')
      throw error
    } finally {
      signal.removeEventListener('abort', onStop)
    }
  }

  private async openSocket(): Promise<Socket> {
    const { server, dialer, times } = this.deps
    const limits = { timeout: times.dial, signal: this.stopping.signal }
    let fault: unknown = new Error('the host has no address')
    for (const address of await this.findAddresses()) {
      limits.signal.throwIfAborted()
      try {
        this.step = 'the connection is not accepted yet'
        const socket = await dialer.dial(address, server.port, limits)
        if (server.secure) this.step = 'the TLS handshake is not answered yet'
        return server.secure ? await dialer.upgrade(socket, { ...limits, host: server.host, verify: true }) : socket
      } catch (error) {
        fault = error
      }
    }
    throw fault
  }

  private async findAddresses(): Promise<readonly string[]> {
    const { server, resolveAddresses } = this.deps
    if (isIP(server.host) !== 0) return [server.host]
    const found = await rejectAtAbort(resolveAddresses(server.host), this.stopping.signal)
    if (found.kind === 'records') return found.records
    if (found.kind === 'failure') throw new Error(`DNS does not answer: ${found.detail}`)
    throw new Error(found.kind === 'no-domain' ? 'the host does not exist' : 'the host has no address')
  }

  private async bind(session: SmppSession): Promise<void> {
    const { systemId, password, times } = this.deps
    const fields = { system_id: systemId, password, system_type: '', interface_version: INTERFACE_VERSION }
    this.step = 'the bind is not answered yet'
    const outcome = await session.request('bind_transceiver', fields, times.answer)
    if (outcome.kind === 'timeout') throw new Error(`no answer to the bind within ${times.answer / 1000} s`)
    if (outcome.kind !== 'response') throw new Error(await session.ended)
    const { status } = outcome.pdu
    if (status !== OK_STATUS) throw new BindRefusal(`bind refused: ${statusNameOf(status)}`)
    if (outcome.pdu.command === 'generic_nack') throw new BindRefusal('bind refused: generic_nack')
  }

  /** Logs each fault as a warning once. While it lasts, further attempts are lines for debugging. */
  private noteFailure(error: unknown): null {
    if (this.stopping.signal.aborted) return null
    const reason = errorMessageOf(error)
    this.deps.log[reason === this.lastFault ? 'debug' : 'warn']({ smpp: this.name, reason }, 'no SMPP session')
    this.lastFault = reason
    this.failures = error instanceof BindRefusal ? Number.POSITIVE_INFINITY : this.failures + 1
    return null
  }

  private nextPause(): number {
    const { times, random } = this.deps
    if (this.failures === Number.POSITIVE_INFINITY) {
      this.failures = 0
      return times.refusedPause
    }
    const full = Math.min(times.maxPause, times.minPause * 2 ** Math.max(0, this.failures - 1))
    return full * (0.75 + random() * 0.5)
  }
}

/** Rejects when the signal aborts, so that a stop does not wait for DNS. */
async function rejectAtAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort = (): void => undefined
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort)
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
