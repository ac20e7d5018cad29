/**
 * What the submission listener is given: narrow functions of the rooms below, and settings.
 */
import type { Principal } from '../accounts/principal.js'
import type { Address } from '../mail/address.js'
import type { Clock } from '../platform/clock.js'
import type { ConnectionLimitSettings } from '../platform/connection-limit.js'
import type { Log } from '../platform/log.js'
import type { SubmittedMessage } from '../sending/submitted-message.js'
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
  mayTake(): boolean
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  readonly settings: SubmissionSettings
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

/** Sizes in bytes, times in milliseconds. */
export interface SubmissionLimits extends ConnectionLimitSettings {
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
  /** Wrong keys in one session; then 421. */
  readonly maxAuthFailures: number
  /** Wrong keys from one address. */
  readonly authFailures: AuthLimitSettings
  readonly idleTimeout: number
  readonly sessionDeadline: number
  /** What a message that is coming in gets to be finished when its session must end. */
  readonly finishWithin: number
}

export interface SubmissionSettings extends SubmissionLimits {
  readonly hostname: string
  readonly listen: readonly Endpoint[]
  readonly listenTls: readonly Endpoint[]
  readonly tls: TlsPair
  readonly allowPlaintextLoopback: boolean
}

const MINUTE = 60_000
const MB = 1_048_576

/** Limits that suit a daemon whose configuration does not name them. */
export const submissionLimits: SubmissionLimits = {
  maxConnections: 1000,
  maxConnectionsPerAddress: 200,
  maxSize: 15 * MB,
  maxRecipients: 50,
  maxLineLength: 998,
  maxCommandLength: 4096,
  maxBytesInFlight: 256 * MB,
  maxFaults: 20,
  maxAuthFailures: 3,
  authFailures: { failures: 10, window: MINUTE, ban: 5 * MINUTE, maxClients: 10_000 },
  idleTimeout: 5 * MINUTE,
  sessionDeadline: 60 * MINUTE,
  finishWithin: 5 * MINUTE,
}
