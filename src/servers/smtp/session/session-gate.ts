/** Holds what all sessions of one listener share, of either kind: limits, memory, log. */
import type { Config } from '../../../base/config/complete.js'
import type { Clock } from '../../../base/platform/clock.js'
import { addressKeyOf } from '../../../base/platform/connections/client-address.js'
import { ClientLog } from '../../../base/platform/connections/client-log.js'
import { ConnectionLimiter } from '../../../base/platform/connections/connection-limiter.js'
import type { Log } from '../../../base/platform/log.js'
import { MemoryBudget } from '../../../base/platform/memory/budget.js'
import { MemoryShares } from '../../../base/platform/memory/shares.js'
import type { ListenerTls } from '../../../base/platform/tls-files.js'

/**
 * The settings that both listeners have. They are read at each use: a reload is in force for the next connection or
 * command.
 */
type SessionSettings = Pick<Config['inbound'], keyof Config['inbound'] & keyof Config['submission']>

/** Limits that the configuration does not set. Sizes are in bytes, times in milliseconds. */
export interface SessionLimits {
  /** Octets in one command. */
  readonly maxCommandLength: number
  /** The limit of message bytes in memory, in all sessions together; at least `max_size`. */
  readonly maxBytesInFlight: number
  /** The longest wait of DATA for memory. Clients wait two minutes for the 354 (RFC 5321 section 4.5.3.2.5). */
  readonly memoryWait: number
  /** Large messages from one address that wait for memory. */
  readonly maxWaitingPerAddress: number
  /** Replies 500 to 504, 530, 538 and 555 since the last accepted message; the last gets a 421 too. */
  readonly maxFaults: number
  readonly idleTimeout: number
  /** A session that is idle for so long may be closed for a client that finds no slot. */
  readonly givesWayAfter: number
  /** The time for the rest of a message when its session must end. */
  readonly finishWithin: number
}

/** Port 0 takes any free one. */
export interface Endpoint {
  readonly host: string
  readonly port: number
}

/** Why either kind of listener turns a client away. */
export type CommonReason =
  /** Too many connections in total. */
  | 'connections'
  /** Too many connections from the address. */
  | 'connections-of-address'
  /** Too many connections from the network. */
  | 'connections-of-network'
  /** The session was idle, and another client found no slot. */
  | 'idle'
  /** The message came too slowly. */
  | 'too-slow'
  | 'deadline'
  | 'faults'
  /** Commands came and no message. */
  | 'commands'

/** Counts what a listener does; its functions only add to numbers. */
export interface SessionObserver {
  readonly onSession: () => void
  readonly onTurnedAway: (reason: string) => void
  /** A message was answered with this code, so many milliseconds after its last byte. */
  readonly onMessage: (code: number, milliseconds: number) => void
}

/** Fields of a log line about a session. */
export interface SessionFacts {
  readonly client: string
  readonly [fact: string]: unknown
}

interface GateDeps {
  readonly hostname: string
  readonly tls: ListenerTls
  readonly clock: Clock
  readonly log: Pick<Log, 'debug' | 'info' | 'warn' | 'error'>
  readonly settings: () => SessionSettings
  /** New mail belongs to other nodes. If it is absent, it never does. */
  readonly isDraining?: () => boolean
  /** Shared by all listeners. If it is absent, this listener has only its own limit. */
  readonly memory?: MemoryBudget
  /** If it is absent, nothing is measured. */
  readonly observer?: SessionObserver | null
}

export abstract class SessionGate<Deps extends GateDeps = GateDeps, Limits extends SessionLimits = SessionLimits> {
  readonly hostname: string
  readonly tls: ListenerTls
  readonly clock: Clock
  readonly settings: Deps['settings']
  readonly observer: SessionObserver | null
  readonly connections: ConnectionLimiter
  readonly memory: MemoryBudget
  /** The same memory, for large messages, which reserve it by client. */
  readonly memoryByClient: MemoryShares
  readonly lines: ClientLog

  constructor(
    readonly deps: Deps,
    readonly limits: Limits,
  ) {
    this.hostname = deps.hostname
    this.tls = deps.tls
    this.clock = deps.clock
    this.settings = deps.settings
    this.observer = deps.observer ?? null
    this.connections = new ConnectionLimiter(deps.settings)
    this.memory = new MemoryBudget(limits.maxBytesInFlight, deps.memory)
    const { maxWaitingPerAddress: maxWaiting } = limits
    this.memoryByClient = new MemoryShares(this.memory, Number.POSITIVE_INFINITY, { maxWaiting })
    this.lines = new ClientLog(deps.log, addressKeyOf)
  }

  /** Milliseconds from the connection to the end of a TLS handshake, or to the end of a PROXY line. */
  abstract handshakeTimeout(): number

  /** Counts and logs that a client, a recipient or a message was turned away. */
  abstract note(reason: CommonReason, about: SessionFacts): void

  /** False if the disk is nearly full. */
  abstract hasDiskSpace(): boolean

  isDraining(): boolean {
    return this.deps.isDraining?.() === true
  }

  /** Logs a fault of ours. `session` is the id of its connection. */
  abstract report(error: unknown, session: string): void
}
