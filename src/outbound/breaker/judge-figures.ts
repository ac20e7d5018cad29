/**
 * Decides what the figures of a scope mean: ok, a warning, or a hold for its bounces or complaints. Pure.
 *
 * Bounces are judged by the last day. Complaints are judged by the last week, because reports of them come late. A
 * window with few messages, or with few failures, says nothing.
 */
import type { BreakerStatesTable } from '../../base/storage/tables/breaker-tables.js'

/** Sums of the two windows. */
export interface Figures {
  /** Messages that were accepted or refused in the last day. */
  readonly settled: number
  /** The bounces of the same day. Their messages may have been accepted before it. */
  readonly bounced: number
  /** Messages that were accepted in the last week and have not bounced since. */
  readonly delivered: number
  readonly complained: number
}

export interface BreakerLimits {
  /** Percentages have at most two decimals. A share has an effect if it is over the percentage, not if it equals it. */
  readonly bounce_warn_percent: number
  readonly bounce_hold_percent: number
  readonly complaint_warn_percent: number
  readonly complaint_hold_percent: number
  /** Bounces are judged from this many settled messages of a day, and this many bounces among them. */
  readonly min_messages: number
  readonly min_bounces: number
  /** Complaints are judged from this many delivered messages of a week, and this many complaints about them. */
  readonly min_delivered: number
  readonly min_complaints: number
}

type Cause = BreakerStatesTable['cause']

/** A cause with its figures. */
export interface BreakerFinding {
  readonly cause: Cause
  /** This number is at least `failures`. */
  readonly messages: number
  readonly failures: number
  /** The share is over this limit. */
  readonly limitPercent: number
}

export type BreakerVerdict = { readonly state: 'ok' } | ({ readonly state: 'warning' | 'held' } & BreakerFinding)

/** Returns the worse of both verdicts; if they are equal, that of the bounces. */
export function judgeFigures(figures: Figures, limits: BreakerLimits): BreakerVerdict {
  const bounces = judgeCause('bounces', figures.settled, figures.bounced, {
    ...{ warn: limits.bounce_warn_percent, hold: limits.bounce_hold_percent },
    ...{ minMessages: limits.min_messages, minFailures: limits.min_bounces },
  })
  const complaints = judgeCause('complaints', figures.delivered, figures.complained, {
    ...{ warn: limits.complaint_warn_percent, hold: limits.complaint_hold_percent },
    ...{ minMessages: limits.min_delivered, minFailures: limits.min_complaints },
  })
  return worseOf(bounces, complaints)
}

/** Returns the worse verdict; if they are equal, the first. */
export function worseOf(first: BreakerVerdict, second: BreakerVerdict): BreakerVerdict {
  return ranks[second.state] > ranks[first.state] ? second : first
}

const ranks = { ok: 0, warning: 1, held: 2 } as const

type CauseLimits = Readonly<Record<'warn' | 'hold' | 'minMessages' | 'minFailures', number>>

function judgeCause(cause: Cause, counted: number, failures: number, limits: CauseLimits): BreakerVerdict {
  // There may be more late bounces than messages that were settled in the same window.
  const messages = Math.max(counted, failures)
  if (counted < limits.minMessages || failures < limits.minFailures) return { state: 'ok' }
  if (isOver(messages, failures, limits.hold)) {
    return { state: 'held', cause, messages, failures, limitPercent: limits.hold }
  }
  if (isOver(messages, failures, limits.warn)) {
    return { state: 'warning', cause, messages, failures, limitPercent: limits.warn }
  }
  return { state: 'ok' }
}

/** Compares in whole hundredths of a percent, because 0.1 × 3,000 is not 300 in floating point. */
function isOver(messages: number, failures: number, percent: number): boolean {
  return failures * 10_000 > Math.round(percent * 100) * messages
}

/** Returns the percentage with two decimals. */
export function percentOf({ messages, failures }: Pick<BreakerFinding, 'messages' | 'failures'>): number {
  return messages === 0 ? 0 : Math.round((failures * 10_000) / messages) / 100
}

/** Returns a text such as `12.4 % of 1,000 messages of the last day bounced`. */
export function describeFinding(finding: Pick<BreakerFinding, 'cause' | 'messages' | 'failures'>): string {
  const share = `${percentOf(finding)} % of ${finding.messages.toLocaleString('en-US')} messages`
  return finding.cause === 'bounces'
    ? `${share} of the last day bounced`
    : `${share} of the last 7 days were reported as spam`
}
