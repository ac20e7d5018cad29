/**
 * A *warm-up* is the days in which a new source address or domain sends to each provider up to a cap that grows. The
 * plan says how many messages a day has, and what the day before changes. Pure.
 *
 * A day is a day in UTC. The plan advances a step after a day with enough mail of which little was deferred, and goes
 * back a step after a day of which more was. It stays where it is after any other day, because a day without mail
 * teaches a provider nothing.
 */
import { DAY } from '../../../base/platform/time-units.js'

/** The counts of one day. */
export interface WarmUpProgress {
  /** The index into the plan. */
  readonly step: number
  /** Days since 1970-01-01, in UTC. */
  readonly day: number
  readonly sent: number
  readonly deferred: number
  readonly isEnded: boolean
}

/** Messages a day, one entry for each step. After the last step there is no cap. */
export type WarmUpPlan = readonly number[]

type DayVerdict = 'on' | 'back' | 'stay'

/** A day with fewer transactions says nothing, unless the cap was lower. */
const MIN_TRANSACTIONS = 20

/** The largest share of deferred transactions that a good day has. */
const MAX_DEFERRED = 0.05

/** Returns the end of the day in epoch milliseconds. */
export function endOfDay(day: number): number {
  return (day + 1) * DAY
}

/** Returns null if no cap applies. A plan that was shortened ends for all that are beyond it. */
export function capOf({ step, isEnded }: Pick<WarmUpProgress, 'step' | 'isEnded'>, plan: WarmUpPlan): number | null {
  return isEnded ? null : (plan[step] ?? null)
}

function judgeDay({ sent, deferred, ...progress }: WarmUpProgress, plan: WarmUpPlan): DayVerdict {
  if (sent < Math.min(MIN_TRANSACTIONS, capOf(progress, plan) ?? MIN_TRANSACTIONS)) return 'stay'
  return deferred <= sent * MAX_DEFERRED ? 'on' : 'back'
}

/**
 * Returns the progress at the beginning of `today`, or the same progress if that day has begun. A clock that is set
 * back over midnight changes nothing. If it is set back further, the count of the day starts from zero, because mail
 * would otherwise wait for a day in the future.
 */
export function toDay(progress: WarmUpProgress, today: number, plan: WarmUpPlan): WarmUpProgress {
  if (progress.isEnded) return progress
  if (today < progress.day - 1) return { ...progress, day: today, sent: 0, deferred: 0 }
  if (today <= progress.day) return progress
  const step = nextStepOf(progress, plan)
  return { step, day: today, sent: 0, deferred: 0, isEnded: step >= plan.length }
}

/** Returns the step of the next day if nothing more is sent on this one. */
export function nextStepOf(progress: WarmUpProgress, plan: WarmUpPlan): number {
  const verdict = judgeDay(progress, plan)
  if (verdict === 'stay') return progress.step
  return verdict === 'on' ? progress.step + 1 : Math.max(0, progress.step - 1)
}
