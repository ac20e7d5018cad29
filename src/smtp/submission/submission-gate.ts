/** What all sessions of a submission listener share: limits, dependencies, log. */
import { addressKeyOf } from '../../accounts/client-address.js'
import { ClientLog } from '../../platform/connections/client-log.js'
import { createConnectionLimiter } from '../../platform/connections/connection-limiter.js'
import { createMemoryBudget } from '../../platform/memory/budget.js'
import { createMemoryShares } from '../../platform/memory/shares.js'
import type { CommonReason, SessionFacts, SessionGate } from '../session/session-gate.js'
import { type AuthLimit, createAuthLimit } from './auth-limit.js'
import type { SubmissionDeps, SubmissionSettings } from './submission-deps.js'

export interface SubmissionGate extends SessionGate {
  readonly deps: SubmissionDeps
  readonly settings: SubmissionSettings
  readonly authLimit: AuthLimit
  readonly lines: ClientLog
  readonly note: (reason: SubmissionReason, about: SessionFacts) => void
}

type SubmissionReason =
  | CommonReason
  /** Too many wrong keys from the address. */
  | 'banned'
  /** No key in time. */
  | 'login-timeout'

export function createSubmissionGate(deps: SubmissionDeps): SubmissionGate {
  const { settings, log, observer = null } = deps
  const lines = new ClientLog(log, addressKeyOf)
  const memory = createMemoryBudget(settings.maxBytesInFlight, deps.memory)
  return {
    deps,
    settings,
    clock: deps.clock,
    lines,
    note: (reason, about) => {
      observer?.onTurnedAway(reason)
      lines.info({ ...about, reason }, 'a submission client was turned away')
    },
    authLimit: createAuthLimit(settings.authFailures),
    connections: createConnectionLimiter(settings),
    memory,
    memoryByClient: createMemoryShares(memory, Number.POSITIVE_INFINITY, settings.maxWaitingPerAddress),
    hasDiskSpace: () => deps.hasDiskSpace(),
    report: (error, session) => log.error({ err: error, session }, 'submission failed'),
    observer,
  }
}
