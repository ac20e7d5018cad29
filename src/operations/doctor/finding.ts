/**
 * A *finding* is what a check of the doctor found about one subject: ok, warn or fail, with its remedy; *undecided* is
 * one whose question was not answered. Pure.
 */

export const findingStates = ['ok', 'warn', 'fail'] as const
export type FindingState = (typeof findingStates)[number]

/** What to do: at least one line. So no check has a state that is not ok without one. */
export type Remedy = readonly [string, ...string[]] | readonly [...string[], string]

export interface Finding {
  /** The name of the check. */
  readonly check: string
  /** What was looked at: an address, a domain, a file. */
  readonly subject: string
  readonly state: FindingState
  readonly text: string
  /** Commands, settings or DNS records to copy, one a line; empty only in state ok: nothing is to be done. */
  readonly remedy: readonly string[]
  /** Nothing was found out, because something did not answer: this says nothing about the subject. */
  readonly undecided?: true
}

/** A finding without the name of its check. */
export type Judgement = Omit<Finding, 'check'>

export function good(subject: string, text: string, remedy: readonly string[] = []): Judgement {
  return { subject, state: 'ok', text, remedy }
}

export function warning(subject: string, text: string, remedy: Remedy): Judgement {
  return { subject, state: 'warn', text, remedy }
}

export function failure(subject: string, text: string, remedy: Remedy): Judgement {
  return { subject, state: 'fail', text, remedy }
}

/** A question was not answered. The remedy asks it by hand, or mends what did not answer. */
export function undecided(subject: string, text: string, remedy: Remedy): Judgement {
  return { subject, state: 'warn', text, remedy, undecided: true }
}

export type StateTotals = Readonly<Record<FindingState, number>>

export function countStates(findings: readonly Pick<Finding, 'state'>[]): StateTotals {
  const totals = { ok: 0, warn: 0, fail: 0 }
  for (const { state } of findings) totals[state] += 1
  return totals
}

export function worstState({ warn, fail }: StateTotals): FindingState {
  if (fail > 0) return 'fail'
  return warn > 0 ? 'warn' : 'ok'
}
