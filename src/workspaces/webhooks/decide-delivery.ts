/** Decides what an attempt means for its delivery and its webhook. Pure. */
import type { DisabledReason } from './disable-webhook.js'
import { isDelivered, type RequestOutcome } from './request-protocol.js'

/** Milliseconds without a success after which a failure disables the webhook. */
const FAILING_LIMIT = 3 * 86_400_000
const GONE = 410

/** The columns of a delivery that an attempt changes. */
export interface DeliveryResult {
  readonly status: 'pending' | 'delivered' | 'failed'
  readonly attempts: number
  readonly next_attempt_at: number | null
  readonly response_status: number | null
  readonly response_body: string | null
  readonly error: string | null
  readonly delivered_at: number | null
}

interface Attempt {
  readonly outcome: RequestOutcome
  /** The number of attempts, including this one. */
  readonly attempts: number
  /** Milliseconds from each failure to the next attempt. */
  readonly schedule: readonly number[]
  readonly now: number
}

export function decideDelivery({ outcome, attempts, schedule, now }: Attempt): DeliveryResult {
  const answer = outcome.kind === 'answer' ? outcome : null
  const common = { attempts, response_status: answer?.status ?? null, response_body: answer?.body ?? null }
  if (isDelivered(outcome))
    return { ...common, status: 'delivered', next_attempt_at: null, error: null, delivered_at: now }
  const wait = answer?.status === GONE ? undefined : schedule[attempts - 1]
  const next = wait === undefined ? null : now + wait
  return {
    ...common,
    status: next === null ? 'failed' : 'pending',
    next_attempt_at: next,
    error: describeFailure(outcome),
    delivered_at: null,
  }
}

export function describeFailure(outcome: RequestOutcome): string {
  if (outcome.kind === 'fault') return outcome.reason
  const { status } = outcome
  return status >= 300 && status < 400 ? `answered ${status}; redirects are not followed` : `answered ${status}`
}

/**
 * Null means that the webhook stays enabled. `failingSince` is the time since which every attempt failed, including
 * this one.
 */
export function decideDisabling(outcome: RequestOutcome, failingSince: number, now: number): DisabledReason | null {
  if (outcome.kind === 'answer' && outcome.status === GONE) return 'gone'
  return now - failingSince >= FAILING_LIMIT ? 'failing' : null
}
