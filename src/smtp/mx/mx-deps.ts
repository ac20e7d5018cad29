/** What the MX listener is given: narrow functions of the rooms below, and settings. */

import type { Address } from '../../mail/address.js'
import type { Clock } from '../../platform/clock.js'
import { minTransferPace } from '../../platform/connections/transfer-pace.js'
import type { Network } from '../../platform/ip-address.js'
import type { Log } from '../../platform/log.js'
import type { MemoryBudget } from '../../platform/memory/budget.js'
import type { ReceivedMessage } from '../../receiving/received-message.js'
import type { Listing } from '../../spam/dnsbl.js'
import type { Endpoint, ListenerSettings, SessionLimits } from '../session/session-gate.js'
import type { RecipientDelay, RecipientRefusal } from './mx-refusals.js'

/** A recipient whose mail is ours to take. */
export interface AcceptedRecipient {
  /** Recipients of one workspace share a copy of the message. Null: the mail of the service itself. */
  readonly workspaceId: string | null
  /** The workspace may lack room for a message of unknown size, so its message must not be shared with another workspace. */
  readonly alone?: boolean
}

export interface MxDeps {
  /** `size`: of the message, as its client declares; 0: it does not say. */
  checkRecipient(address: Address, size: number): AcceptedRecipient | RecipientRefusal | RecipientDelay
  /** Resolves once the message is on disk. */
  accept(message: ReceivedMessage): Promise<{ readonly id: string }>
  /** What DNS block lists say of a client; never rejects. */
  findListings(address: string): Promise<readonly Listing[]>
  /** False: the disk is nearly full. */
  hasDiskSpace(): boolean
  /** Of all listeners together. Absent: this one has only its own limit. */
  readonly memory?: MemoryBudget
  /** Acts after so many milliseconds, unless it is called off. */
  schedule(milliseconds: number, act: () => void): () => void
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly settings: MxSettings
}

/** Times in milliseconds. */
export interface MxLimits extends SessionLimits {
  /** Copies that one message is filed in: all of them are in memory at once. */
  readonly maxWorkspaces: number
  /** New connections from one address in any minute. */
  readonly connectionsPerMinute: number
  /** MAIL commands from one address in any minute. */
  readonly messagesPerMinute: number
  /** Addresses whose pace is remembered. */
  readonly maxClients: number
  /** A client has so long to speak too early. */
  readonly greetingDelay: number
  /** `note`: told to `accept`. `refuse`: 554 and the end. */
  readonly earlyTalkers: 'note' | 'refuse'
  /** The longest wait before a recipient is refused. */
  readonly tarpit: number
  /** Recipients refused in one session; then 421. */
  readonly maxRefusedRecipients: number
  /** A client whose listings weigh so much is refused; null: none is. */
  readonly refuseListedFrom: number | null
}

export interface MxSettings extends MxLimits, ListenerSettings {
  readonly listen: readonly Endpoint[]
  /** Networks whose connections begin with a PROXY line, version 1. */
  readonly proxies: readonly Network[]
}

const MINUTE = 60_000
const MB = 1_048_576

/** Limits that suit a daemon whose configuration does not name them. */
export const defaultMxLimits: MxLimits = {
  maxConnections: 1000,
  maxConnectionsPerAddress: 50,
  maxConnectionsPerNetwork: 200,
  maxSize: 35 * MB,
  maxRecipients: 100,
  maxLineLength: 65_536, // 998 is the rule (RFC 5321 section 4.5.3.1.6), and many strangers do not keep it
  maxCommandLength: 4096,
  maxBytesInFlight: 256 * MB,
  memoryWait: MINUTE,
  maxWaitingPerAddress: 8,
  maxFaults: 20,
  idleTimeout: 5 * MINUTE,
  handshakeTimeout: MINUTE / 2,
  dataPace: minTransferPace,
  givesWayAfter: 10_000,
  sessionDeadline: 60 * MINUTE,
  finishWithin: 5 * MINUTE,
  maxWorkspaces: 5,
  connectionsPerMinute: 300,
  messagesPerMinute: 1000,
  maxClients: 10_000,
  greetingDelay: 100,
  earlyTalkers: 'note',
  tarpit: 5000,
  maxRefusedRecipients: 20,
  refuseListedFrom: null,
}
