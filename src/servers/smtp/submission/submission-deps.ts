/** Lists what the submission listener uses: the rooms below, settings and limits. */
import type { Config } from '../../../base/config/complete.js'
import type { Clock } from '../../../base/platform/clock.js'
import type { Log } from '../../../base/platform/log.js'
import type { MemoryBudget } from '../../../base/platform/memory/budget.js'
import { MINUTE } from '../../../base/platform/time-units.js'
import type { ListenerTls } from '../../../base/platform/tls-files.js'
import type { LineWrapper } from '../../../outbound/sending/line-wrapper.js'
import type { SubmissionAcceptor } from '../../../outbound/sending/submission-acceptor.js'
import type { SubmissionAccess } from '../../../outbound/sending/submission-access.js'
import type { SessionLimits, SessionObserver } from '../session/session-gate.js'
import type { AuthLimitSettings } from './auth-limit.js'

export interface SubmissionDeps {
  readonly access: Pick<SubmissionAccess, 'authenticate' | 'findTrusted' | 'checkSender'>
  readonly acceptor: Pick<SubmissionAcceptor, 'accept'>
  /** Wraps long lines of clients whose senders are replaced. If it is absent, such messages are refused. */
  readonly lineWrapper?: Pick<LineWrapper, 'wrap'>
  /** False if the disk is nearly full. */
  hasDiskSpace(): boolean
  /** New mail belongs to other nodes. If it is absent, it never does. */
  readonly isDraining?: () => boolean
  /** Shared by all listeners. If it is absent, this listener has only its own limit. */
  readonly memory?: MemoryBudget
  /** If it is absent, nothing is measured. */
  readonly observer?: SessionObserver | null
  readonly clock: Clock
  readonly log: Pick<Log, 'debug' | 'info' | 'warn' | 'error'>
  readonly hostname: string
  readonly tls: ListenerTls
  readonly settings: () => Config['submission']
  /** If it is absent, the defaults hold. */
  readonly limits?: SubmissionLimits
}

/** Times in milliseconds. */
export interface SubmissionLimits extends SessionLimits {
  /** Wrong keys in one session; the last gets a 421 too. */
  readonly maxAuthFailures: number
  /** Wrong keys from one address. */
  readonly authFailures: AuthLimitSettings
}

const MB = 1_048_576

export const defaultSubmissionLimits: SubmissionLimits = {
  maxCommandLength: 4096,
  maxBytesInFlight: 256 * MB,
  memoryWait: MINUTE,
  maxWaitingPerAddress: 50,
  maxFaults: 20,
  maxAuthFailures: 3,
  authFailures: { failures: 10, window: MINUTE, ban: 5 * MINUTE, maxClients: 10_000 },
  idleTimeout: 5 * MINUTE,
  givesWayAfter: 10_000,
  finishWithin: 5 * MINUTE,
}
