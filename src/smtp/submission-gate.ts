/** What all sessions of a submission listener share: the limits, what they are given, where bugs are reported. */

import { connectionLimit } from '../platform/connection-limit.js'
import { memoryBudget } from '../platform/memory-budget.js'
import { type AuthLimit, authLimit } from './auth-limit.js'
import type { SessionGate } from './session-gate.js'
import type { SubmissionDeps, SubmissionSettings } from './submission-deps.js'

export interface SubmissionGate extends SessionGate {
  readonly deps: SubmissionDeps
  readonly settings: SubmissionSettings
  readonly authLimit: AuthLimit
}

export function submissionGate(deps: SubmissionDeps): SubmissionGate {
  const { settings, log } = deps
  return {
    deps,
    settings,
    authLimit: authLimit(settings.authFailures),
    connections: connectionLimit(settings),
    memory: memoryBudget(settings.maxBytesInFlight, deps.memory),
    mayTake: () => deps.mayTake(),
    report: (error) => log.error({ err: error }, 'submission failed'),
  }
}
