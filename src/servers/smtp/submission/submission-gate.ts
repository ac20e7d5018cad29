/** Holds what all sessions of a submission listener share: limits, dependencies, log. */

import { addressKeyOf } from '../../../base/platform/connections/client-address.js'
import { ClientLog } from '../../../base/platform/connections/client-log.js'
import { createConnectionLimiter } from '../../../base/platform/connections/connection-limiter.js'
import { createMemoryBudget } from '../../../base/platform/memory/budget.js'
import { createMemoryShares } from '../../../base/platform/memory/shares.js'
import type { CommonReason, SessionFacts, SessionGate } from '../session/session-gate.js'
import { type AuthLimit, createAuthLimit } from './auth-limit.js'
import { defaultSubmissionLimits, type SubmissionDeps, type SubmissionLimits } from './submission-deps.js'

export interface SubmissionGate extends SessionGate {
  readonly deps: SubmissionDeps
  readonly settings: SubmissionDeps['settings']
  readonly limits: SubmissionLimits
  readonly authLimit: AuthLimit
  readonly lines: ClientLog
  readonly note: (reason: SubmissionReason, about: SessionFacts) => void
}

type SubmissionReason =
  | CommonReason
  /** Too many wrong keys from the address. */
  | 'banned'
  /** The client sent no key in time. */
  | 'login-timeout'

export function createSubmissionGate(deps: SubmissionDeps): SubmissionGate {
  const { hostname, tls, settings, limits = defaultSubmissionLimits, log, observer = null } = deps
  const lines = new ClientLog(log, addressKeyOf)
  const memory = createMemoryBudget(limits.maxBytesInFlight, deps.memory)
  return {
    deps,
    hostname,
    tls,
    settings,
    limits,
    handshakeTimeout: () => settings().auth_timeout,
    clock: deps.clock,
    lines,
    note: (reason, about) => {
      observer?.onTurnedAway(reason)
      lines.info({ ...about, reason }, 'a submission client was turned away')
    },
    authLimit: createAuthLimit(limits.authFailures),
    connections: createConnectionLimiter(settings),
    memory,
    memoryByClient: createMemoryShares(memory, Number.POSITIVE_INFINITY, limits.maxWaitingPerAddress),
    hasDiskSpace: () => deps.hasDiskSpace(),
    report: (error, session) => log.error({ err: error, session }, 'submission failed'),
    observer,
  }
}
