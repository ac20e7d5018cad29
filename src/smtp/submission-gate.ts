/** What all sessions of a submission listener share: the limits, what they are given, where bugs are reported. */

import { limitKey } from '../accounts/client-address.js'
import { ClientLines } from '../platform/connections/client-lines.js'
import { connectionLimit } from '../platform/connections/connection-limit.js'
import { memoryBudget } from '../platform/memory/budget.js'
import { memoryShares } from '../platform/memory/shares.js'
import { type AuthLimit, authLimit } from './auth-limit.js'
import type { CommonReason, SessionFacts, SessionGate } from './session-gate.js'
import type { SubmissionDeps, SubmissionSettings } from './submission-deps.js'

export interface SubmissionGate extends SessionGate {
  readonly deps: SubmissionDeps
  readonly settings: SubmissionSettings
  readonly authLimit: AuthLimit
  readonly lines: ClientLines
  readonly note: (reason: SubmissionReason, about: SessionFacts) => void
}

export type SubmissionReason =
  | CommonReason
  /** Too many wrong keys from that address. */
  | 'banned'
  /** No key in time. */
  | 'login-timeout'

export function submissionGate(deps: SubmissionDeps): SubmissionGate {
  const { settings, log } = deps
  const lines = new ClientLines(log, limitKey)
  const memory = memoryBudget(settings.maxBytesInFlight, deps.memory)
  return {
    deps,
    settings,
    clock: deps.clock,
    lines,
    note: (reason, about) => lines.info({ ...about, reason }, 'a submission client was turned away'),
    authLimit: authLimit(settings.authFailures),
    connections: connectionLimit(settings),
    memory,
    memoryByClient: memoryShares(memory, Number.POSITIVE_INFINITY, settings.maxWaitingPerAddress),
    mayTake: () => deps.mayTake(),
    report: (error) => log.error({ err: error }, 'submission failed'),
  }
}
