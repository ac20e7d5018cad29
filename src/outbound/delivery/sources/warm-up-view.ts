/** The warm-up of one subject at one provider, as people see it on the command line and on pages. */
import { capOf, nextStepOf, toDay, type WarmUpPlan, type WarmUpProgress } from './warm-up-plan.js'
import type { WarmUpRow } from './warm-up-store.js'

interface WarmUpView {
  readonly ended: boolean
  /** The day of the plan, from 1. Null after the end. */
  readonly day: number | null
  /** The most messages of today. Null if there is no cap. */
  readonly cap: number | null
  readonly sent: number
  readonly deferred: number
  /** The cap of tomorrow if nothing more is sent today. */
  readonly next_cap: number | null
}

export function viewWarmUp(row: WarmUpRow, plan: WarmUpPlan, today: number): WarmUpView {
  const stored: WarmUpProgress = { ...row, isEnded: row.ended === 1 }
  const progress = toDay(stored, Math.max(today, stored.day), plan)
  const next = { step: nextStepOf(progress, plan), isEnded: progress.isEnded }
  const cap = capOf(progress, plan)
  return {
    ended: cap === null,
    day: cap === null ? null : progress.step + 1,
    cap,
    sent: progress.sent,
    deferred: progress.deferred,
    next_cap: capOf(next, plan),
  }
}
