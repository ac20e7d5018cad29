/** The dependencies of the MX listener: functions of the rooms below, and settings. */
import type { Address } from '../../mail/address.js'
import type { Clock } from '../../platform/clock.js'
import { minTransferPace } from '../../platform/connections/transfer-pace.js'
import type { Network } from '../../platform/ip-address.js'
import type { Log } from '../../platform/log.js'
import type { MemoryBudget } from '../../platform/memory/budget.js'
import type { ReceivedMessage } from '../../receiving/received-message.js'
import type { Listing } from '../../spam/dnsbl.js'
import type { InboundPolicy } from '../../storage/tables/domain-tables.js'
import type { AllowListing } from '../../storage/tables/inbound-tables.js'
import type { Endpoint, ListenerSettings, SessionLimits, SessionObserver } from '../session/session-gate.js'
import type { MxGreylist } from './greylist-recipient.js'
import type { RecipientDelay, RecipientRefusal } from './mx-refusals.js'

/** A recipient that receives mail here. */
export interface AcceptedRecipient {
  /** Recipients of one workspace share a copy of the message. Null: the mail of the service itself. */
  readonly workspaceId: string | null
  /** The workspace may lack room for a message of unknown size, so its message must not be shared with another workspace. */
  readonly alone?: boolean
  /** The setting of its domain; null or absent: it is never greylisted. */
  readonly greylisting?: InboundPolicy['greylisting'] | null
  /** The forwarding rule that matches it; null or absent: none. */
  readonly forwardRule?: string | null
}

export interface MxDeps {
  /** `size`: of the message, as declared; 0: not declared. `from`: its envelope sender, empty for `<>`. */
  checkRecipient(
    address: Address,
    size: number,
    from: Address | '',
  ): AcceptedRecipient | RecipientRefusal | RecipientDelay
  /** Resolves once the message is on disk. */
  accept(message: ReceivedMessage): Promise<{ readonly id: string }>
  /** The entries of DNS block lists about a client; never rejects. */
  findListings(address: string): Promise<readonly Listing[]>
  /** What DNS allow lists say of a client; never rejects. */
  findAllowListings(address: string): Promise<readonly AllowListing[]>
  readonly greylist: MxGreylist
  /** False: the disk is nearly full. */
  hasDiskSpace(): boolean
  /** Shared by all listeners. Absent: this listener has only its own limit. */
  readonly memory?: MemoryBudget
  /** Calls `act` after so many milliseconds, unless the returned function cancels it. */
  schedule(milliseconds: number, act: () => void): () => void
  /** Absent: nothing is measured. */
  readonly observer?: SessionObserver | null
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly settings: MxSettings
}

/** Times in milliseconds. */
interface MxLimits extends SessionLimits {
  /** Workspaces that one message is filed for: all copies are in memory at once. */
  readonly maxWorkspaces: number
  /** Forwarding rules that match one message: each stores a copy of its own, all in one commit. */
  readonly maxForwardRules: number
  /** New connections from one address in any minute. */
  readonly connectionsPerMinute: number
  /** MAIL commands from one address in any minute. */
  readonly messagesPerMinute: number
  /** Bytes of messages that one network brings in a minute. */
  readonly bytesPerMinute: number
  /** Addresses and networks whose connections, messages and bytes are counted. */
  readonly maxClients: number
  /** The delay of the greeting, in which early talkers are recognized. */
  readonly greetingDelay: number
  /** `note`: `accept` learns of it. `refuse`: 554, and the connection ends. */
  readonly earlyTalkers: 'note' | 'refuse'
  /** The longest delay of the reply to a refused recipient. */
  readonly tarpit: number
  /** Refused recipients in one session; beyond them 421. */
  readonly maxRefusedRecipients: number
  /** A client whose listings have at least this total weight is refused; null: none is. */
  readonly refuseListedFrom: number | null
}

export interface MxSettings extends MxLimits, ListenerSettings {
  readonly listen: readonly Endpoint[]
  /** Networks whose connections begin with a PROXY line (version 1). */
  readonly proxies: readonly Network[]
}

const MINUTE = 60_000
const MB = 1_048_576

/** The defaults of what the configuration does not set. */
export const defaultMxLimits: MxLimits = {
  maxConnections: 1000,
  maxConnectionsPerAddress: 50,
  maxConnectionsPerNetwork: 200,
  maxSize: 35 * MB,
  maxRecipients: 100,
  maxLineLength: 65_536, // RFC 5321 section 4.5.3.1.6 says 998, but many senders exceed it
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
  maxForwardRules: 10,
  connectionsPerMinute: 300,
  messagesPerMinute: 1000,
  bytesPerMinute: 200 * MB,
  maxClients: 10_000,
  greetingDelay: 100,
  earlyTalkers: 'note',
  tarpit: 5000,
  maxRefusedRecipients: 20,
  refuseListedFrom: null,
}
