/** What all sessions of one listener share, at whichever door: the limits, and where bugs are reported. */

import type { Clock } from '../../platform/clock.js'
import type { ConnectionLimiter, ConnectionLimitSettings } from '../../platform/connections/connection-limiter.js'
import type { TransferPace } from '../../platform/connections/transfer-pace.js'
import type { MemoryBudget } from '../../platform/memory/budget.js'
import type { MemoryShares } from '../../platform/memory/shares.js'
import type { TlsPair } from '../../platform/tls-files.js'

/** Sizes in bytes, times in milliseconds. */
export interface SessionLimits extends ConnectionLimitSettings {
  readonly maxSize: number
  readonly maxRecipients: number
  /** Octets in one line of a message, CRLF not counted. */
  readonly maxLineLength: number
  /** Octets in one command. */
  readonly maxCommandLength: number
  /** Of messages in memory, over all sessions; at least `maxSize`. */
  readonly maxBytesInFlight: number
  /** The longest time before DATA is answered. Clients wait for two minutes (RFC 5321 section 4.5.3.2.5). */
  readonly memoryWait: number
  /** Large messages of one address that wait for memory. */
  readonly maxWaitingPerAddress: number
  /** Commands answered with 500 to 504, 530, 538 or 555 since the last message; then 421. */
  readonly maxFaults: number
  readonly idleTimeout: number
  /** From the connection to the end of a TLS handshake, or to the end of a PROXY line. */
  readonly handshakeTimeout: number
  /** How fast a message must come in. */
  readonly dataPace: TransferPace
  /** Who is quiet for so long gives way to a client that finds no place. */
  readonly givesWayAfter: number
  readonly sessionDeadline: number
  /** What a message that is coming in gets to be finished when its session must end. */
  readonly finishWithin: number
}

/** Port 0: any free one. */
export interface Endpoint {
  readonly host: string
  readonly port: number
}

export interface ListenerSettings extends SessionLimits {
  readonly hostname: string
  readonly tls: TlsPair
}

/** Why a client is turned away, at whichever listener. */
export type CommonReason =
  /** Connections, in all. */
  | 'connections'
  /** Connections, from that address. */
  | 'connections-of-address'
  /** Connections, from that network. */
  | 'connections-of-network'
  /** It has been quiet for long, and another client had no place. */
  | 'idle'
  /** Its message comes too slowly. */
  | 'too-slow'
  | 'deadline'
  | 'faults'

/** What is logged of a session; texts of the client are printable and short. */
export interface SessionFacts {
  readonly client: string
  readonly [fact: string]: unknown
}

export interface SessionGate {
  readonly settings: ListenerSettings
  readonly clock: Clock
  /** Counts and logs that a client is turned away. */
  readonly note: (reason: CommonReason, about: SessionFacts) => void
  readonly connections: ConnectionLimiter
  readonly memory: MemoryBudget
  /** The same, by client: of what large messages reserve. */
  readonly memoryByClient: MemoryShares
  /** False: the disk is nearly full. */
  readonly hasDiskSpace: () => boolean
  readonly report: (error: unknown) => void
}
