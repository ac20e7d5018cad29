/** The dependencies of the submission listener: functions of the rooms below, and settings. */
import type { Principal } from '../../accounts/principal.js'
import type { Address } from '../../mail/address.js'
import type { Clock } from '../../platform/clock.js'
import { minTransferPace } from '../../platform/connections/transfer-pace.js'
import type { Log } from '../../platform/log.js'
import type { MemoryBudget } from '../../platform/memory/budget.js'
import type { SubmittedMessage } from '../../sending/submitted-message.js'
import type { Endpoint, ListenerSettings, SessionLimits, SessionObserver } from '../session/session-gate.js'
import type { AuthLimitSettings } from './auth-limit.js'

export interface SubmissionDeps {
  /** The principal of a key. Throws a Refusal `bad-credentials`. */
  authenticate(password: string, remoteAddress: string): Principal
  /** The principal of an address in a trusted network; null: the client needs a key. */
  trusted(remoteAddress: string): Principal | null
  /** Throws a Refusal when this principal may not use this sender. */
  checkSender(principal: Principal, envelopeFrom: Address | ''): void
  /** Resolves once the message is on disk. */
  accept(
    principal: Principal,
    message: SubmittedMessage,
  ): Promise<{ readonly emailId: string; readonly repeated?: readonly string[] }>
  /** False: the disk is nearly full. */
  hasDiskSpace(): boolean
  /** Shared by all listeners. Absent: this listener has only its own limit. */
  readonly memory?: MemoryBudget
  /** Absent: nothing is measured. */
  readonly observer?: SessionObserver | null
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly settings: SubmissionSettings
}

/** Times in milliseconds. */
interface SubmissionLimits extends SessionLimits {
  /** From the connection to a successful AUTH, whatever the client sends meanwhile. */
  readonly loginTimeout: number
  /** Wrong keys in one session; the last gets a 421 too. */
  readonly maxAuthFailures: number
  /** Wrong keys from one address. */
  readonly authFailures: AuthLimitSettings
}

export interface SubmissionSettings extends SubmissionLimits, ListenerSettings {
  readonly listen: readonly Endpoint[]
  readonly listenTls: readonly Endpoint[]
  readonly allowPlaintextLoopback: boolean
}

const MINUTE = 60_000
const MB = 1_048_576

/** The defaults of what the configuration does not set. */
export const defaultSubmissionLimits: SubmissionLimits = {
  maxConnections: 1000,
  maxConnectionsPerAddress: 200,
  maxConnectionsPerNetwork: 500,
  maxSize: 15 * MB,
  maxRecipients: 100,
  maxLineLength: 998,
  maxCommandLength: 4096,
  maxBytesInFlight: 256 * MB,
  memoryWait: MINUTE,
  maxWaitingPerAddress: 50,
  maxFaults: 20,
  maxAuthFailures: 3,
  authFailures: { failures: 10, window: MINUTE, ban: 5 * MINUTE, maxClients: 10_000 },
  idleTimeout: 5 * MINUTE,
  handshakeTimeout: MINUTE / 2,
  loginTimeout: MINUTE / 2,
  dataPace: minTransferPace,
  givesWayAfter: 10_000,
  sessionDeadline: 60 * MINUTE,
  finishWithin: 5 * MINUTE,
}
