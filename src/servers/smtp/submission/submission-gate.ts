/** Holds what all sessions of a submission listener share: limits, dependencies, log. */

import { StorageFault } from '../../../base/storage/db/write.js'
import { type CommonReason, type SessionFacts, SessionGate } from '../session/session-gate.js'
import { AuthLimit } from './auth-limit.js'
import { defaultSubmissionLimits, type SubmissionDeps, type SubmissionLimits } from './submission-deps.js'

type SubmissionReason =
  | CommonReason
  /** Too many wrong keys from the address. */
  | 'banned'
  /** The client sent no key in time. */
  | 'login-timeout'

export class SubmissionGate extends SessionGate<SubmissionDeps, SubmissionLimits> {
  readonly authLimit: AuthLimit
  /** Grows whenever the sessions of some principals are ended, so that a login under way can tell. */
  accessEndings = 0

  constructor(deps: SubmissionDeps) {
    super(deps, deps.limits ?? defaultSubmissionLimits)
    this.authLimit = new AuthLimit(this.limits.authFailures)
  }

  handshakeTimeout(): number {
    return this.settings().auth_timeout
  }

  hasDiskSpace(): boolean {
    return this.deps.hasDiskSpace()
  }

  note(reason: SubmissionReason, about: SessionFacts): void {
    this.observer?.onTurnedAway(reason)
    this.lines.info({ ...about, reason }, 'a submission client was turned away')
  }

  report(error: unknown, session: string): void {
    if (error instanceof StorageFault && error.isOutage) {
      this.deps.log.debug({ reason: error.message, session }, 'the database was away when a session needed it')
    } else this.deps.log.error({ err: error, session }, 'submission failed')
  }
}
