/**
 * A *finding* is what a check of the doctor found about one subject: ok, warn or fail, with its remedy; *undecided* is
 * one whose question was not answered. Pure.
 */

export const findingStates = ['ok', 'warn', 'fail'] as const
export type FindingState = (typeof findingStates)[number]

/** What to do, in at least one line. The type ensures that a state that is not ok has one. */
export type Remedy = readonly [string, ...string[]] | readonly [...string[], string]

export interface Finding {
  /** The name of the check. */
  readonly check: string
  /** The subject that was checked: an address, a domain, a file. */
  readonly subject: string
  readonly state: FindingState
  readonly text: string
  /** Commands, settings or DNS records to copy, one a line; advice follows a `#`. Empty only in state ok, when there is nothing to do. */
  readonly remedy: readonly string[]
  /** Nothing was found out, because something did not answer. This says nothing about the subject. */
  readonly undecided?: true
  /** Names of checks: what they found missing or could not find out has this cause too. */
  readonly explains?: readonly string[]
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

/** A question was not answered. The remedy asks it by hand, or repairs what did not answer. */
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
