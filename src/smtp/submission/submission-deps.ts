/**
 * What the submission listener is given: narrow functions of the rooms below, and settings.
 */
import type { Principal } from '../../accounts/principal.js'
import type { Address } from '../../mail/address.js'
import type { Clock } from '../../platform/clock.js'
import { minTransferPace } from '../../platform/connections/transfer-pace.js'
import type { Log } from '../../platform/log.js'
import type { MemoryBudget } from '../../platform/memory/budget.js'
import type { SubmittedMessage } from '../../sending/submitted-message.js'
import type { Endpoint, ListenerSettings, SessionLimits } from '../session/session-gate.js'
import type { AuthLimitSettings } from './auth-limit.js'

export interface SubmissionDeps {
  /** Who the key belongs to. Throws a Refusal: bad-credentials. */
  authenticate(password: string, remoteAddress: string): Principal
  /** Who acts from this address without a key; null: it needs one. */
  trusted(remoteAddress: string): Principal | null
  /** Throws a Refusal when this principal may not send from there. */
  checkSender(principal: Principal, envelopeFrom: Address | ''): void
  /** Resolves once the message is on disk. */
  accept(principal: Principal, message: SubmittedMessage): Promise<{ readonly emailId: string }>
  /** False: the disk is nearly full. */
  hasDiskSpace(): boolean
  /** Of all listeners together. Absent: this one has only its own limit. */
  readonly memory?: MemoryBudget
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly settings: SubmissionSettings
}

/** Times in milliseconds. */
export interface SubmissionLimits extends SessionLimits {
  /** From the connection to a key that is good, whatever the client says meanwhile. */
  readonly loginTimeout: number
  /** Wrong keys in one session; then 421. */
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

/** Limits that suit a daemon whose configuration does not name them. */
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
