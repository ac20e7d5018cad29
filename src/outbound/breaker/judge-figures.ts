/**
 * Decides what the figures of a scope mean: ok, a warning, or a hold for its bounces or complaints. Pure.
 *
 * Bounces are judged by the last day, complaints by the last week, because reports of them come late. A window with few
 * messages, or with few failures, says nothing.
 */
import type { BreakerStatesTable } from '../../base/storage/tables/breaker-tables.js'

/** Sums of the two windows. */
export interface Figures {
  /** Accepted or refused in the last day. */
  readonly settled: number
  /** The bounces of the same day, of mail that may have been accepted before it. */
  readonly bounced: number
  /** Accepted in the last week, and not returned since. */
  readonly delivered: number
  readonly complained: number
}

export interface BreakerLimits {
  /** With two decimals at most. A share that is over them, not one that equals them, has an effect. */
  readonly bounce_warn_percent: number
  readonly bounce_hold_percent: number
  readonly complaint_warn_percent: number
  readonly complaint_hold_percent: number
  /** Settled messages of a day, and bounces among them, from which on bounces are judged. */
  readonly min_messages: number
  readonly min_bounces: number
  /** Delivered messages of a week, and complaints about them, from which on complaints are judged. */
  readonly min_delivered: number
  readonly min_complaints: number
}

type Cause = BreakerStatesTable['cause']

/** A cause with its figures. */
export interface BreakerFinding {
  readonly cause: Cause
  /** At least `failures`. */
  readonly messages: number
  readonly failures: number
  /** The limit that the share is over. */
  readonly limitPercent: number
}

export type BreakerVerdict = { readonly state: 'ok' } | ({ readonly state: 'warning' | 'held' } & BreakerFinding)

/** The worse of both; of two equal ones, bounces. */
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

/** The first of two equal ones counts. */
export function worseOf(first: BreakerVerdict, second: BreakerVerdict): BreakerVerdict {
  return ranks[second.state] > ranks[first.state] ? second : first
}

const ranks = { ok: 0, warning: 1, held: 2 } as const

type CauseLimits = Readonly<Record<'warn' | 'hold' | 'minMessages' | 'minFailures', number>>

function judgeCause(cause: Cause, counted: number, failures: number, limits: CauseLimits): BreakerVerdict {
  // Late bounces may be more than what was settled in the same window.
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

/** In whole hundredths of a percent: 0.1 × 3,000 is not 300 in floating point. */
function isOver(messages: number, failures: number, percent: number): boolean {
  return failures * 10_000 > Math.round(percent * 100) * messages
}

/** With two decimals. */
export function percentOf({ messages, failures }: Pick<BreakerFinding, 'messages' | 'failures'>): number {
  return messages === 0 ? 0 : Math.round((failures * 10_000) / messages) / 100
}

/** `12.4 % of 1,000 messages of the last day bounced`. */
export function describeFinding(finding: Pick<BreakerFinding, 'cause' | 'messages' | 'failures'>): string {
  const share = `${percentOf(finding)} % of ${finding.messages.toLocaleString('en-US')} messages`
  return finding.cause === 'bounces'
    ? `${share} of the last day bounced`
    : `${share} of the last 7 days were reported as spam`
}
