/** The dependencies of the MX listener: functions of the rooms below, settings and limits. */
import type { Config } from '../../config/complete.js'
import type { Address } from '../../mail/address.js'
import type { Clock } from '../../platform/clock.js'
import type { Log } from '../../platform/log.js'
import type { MemoryBudget } from '../../platform/memory/budget.js'
import type { ListenerTls } from '../../platform/tls-files.js'
import type { ReceivedMessage } from '../../receiving/received-message.js'
import type { Listing } from '../../spam/dnsbl.js'
import type { InboundPolicy } from '../../storage/tables/domain-tables.js'
import type { AllowListing } from '../../storage/tables/inbound-tables.js'
import type { SessionLimits, SessionObserver } from '../session/session-gate.js'
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
  readonly hostname: string
  readonly tls: ListenerTls
  readonly settings: () => Config['inbound']
  /** Absent: the defaults. */
  readonly limits?: MxLimits
}

/** Times in milliseconds. */
export interface MxLimits extends SessionLimits {
  /** Octets in one line of a message, CRLF not counted. RFC 5321 section 4.5.3.1.6 says 998, which many senders exceed. */
  readonly maxLineLength: number
  readonly handshakeTimeout: number
  /** Workspaces that one message is filed for: all copies are in memory at once. */
  readonly maxWorkspaces: number
  /** Forwarding rules that match one message: each stores a copy of its own, all in one commit. */
  readonly maxForwardRules: number
  /** Addresses and networks whose connections, messages and bytes are counted. */
  readonly maxClients: number
  /** The delay of the greeting, in which early talkers are recognized. */
  readonly greetingDelay: number
}

const MINUTE = 60_000
const MB = 1_048_576

export const defaultMxLimits: MxLimits = {
  maxLineLength: 65_536,
  maxCommandLength: 4096,
  maxBytesInFlight: 256 * MB,
  memoryWait: MINUTE,
  maxWaitingPerAddress: 8,
  maxFaults: 20,
  idleTimeout: 5 * MINUTE,
  handshakeTimeout: MINUTE / 2,
  givesWayAfter: 10_000,
  finishWithin: 5 * MINUTE,
  maxWorkspaces: 5,
  maxForwardRules: 10,
  maxClients: 10_000,
  greetingDelay: 100,
}
