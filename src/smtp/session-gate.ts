/** What all sessions of one listener share, at whichever door: the limits, and where bugs are reported. */
import type { ConnectionLimit, ConnectionLimitSettings } from '../platform/connection-limit.js'
import type { MemoryBudget } from '../platform/memory-budget.js'

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
  /** Commands answered with 500 to 504, 530, 538 or 555 since the last message; then 421. */
  readonly maxFaults: number
  readonly idleTimeout: number
  readonly sessionDeadline: number
  /** What a message that is coming in gets to be finished when its session must end. */
  readonly finishWithin: number
}

/** Port 0: any free one. */
export interface Endpoint {
  readonly host: string
  readonly port: number
}

/** PEM texts. */
export interface TlsPair {
  readonly key: string
  readonly cert: string
}

export interface DoorSettings extends SessionLimits {
  readonly hostname: string
  readonly tls: TlsPair
}

export interface SessionGate {
  readonly settings: DoorSettings
  readonly connections: ConnectionLimit
  readonly memory: MemoryBudget
  /** False: the disk is nearly full. */
  readonly mayTake: () => boolean
  readonly report: (error: unknown) => void
}
