/** What all sessions of a submission listener share: the limits, what they are given, where bugs are reported. */

import { type ConnectionLimit, connectionLimit } from '../platform/connection-limit.js'
import { type MemoryBudget, memoryBudget } from '../platform/memory-budget.js'
import { type AuthLimit, authLimit } from './auth-limit.js'
import type { SubmissionDeps, SubmissionSettings } from './submission-deps.js'

export interface SubmissionGate {
  readonly deps: SubmissionDeps
  readonly settings: SubmissionSettings
  readonly authLimit: AuthLimit
  readonly connections: ConnectionLimit
  readonly memory: MemoryBudget
  readonly report: (error: unknown) => void
}

export function submissionGate(deps: SubmissionDeps): SubmissionGate {
  const { settings, log } = deps
  return {
    deps,
    settings,
    authLimit: authLimit(settings.authFailures),
    connections: connectionLimit(settings),
    memory: memoryBudget(settings.maxBytesInFlight),
    report: (error) => log.error({ err: error }, 'submission failed'),
  }
}
