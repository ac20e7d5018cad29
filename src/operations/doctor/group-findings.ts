/** Groups findings that have one cause, so that the cause is told once. Pure. */
import { type Finding, type FindingState, worstState } from './finding.js'

export interface FindingGroup {
  /** The cause, or a finding that stands alone. */
  readonly finding: Finding
  /** What it explains. Empty if it stands alone. */
  readonly followers: readonly Finding[]
}

/** Failures first, then warnings, each in the order of the checks. A group is as bad as the worst of its findings. */
export function groupProblems(findings: readonly Finding[]): readonly FindingGroup[] {
  const problems = findings.filter(({ state }) => state !== 'ok')
  const causes = problems.filter(({ explains }) => explains !== undefined)
  const causeOf = ({ check, state, undecided }: Finding): Finding | undefined =>
    state === 'fail' || undecided === true ? causes.find(({ explains }) => explains?.includes(check)) : undefined
  const groups = problems
    .filter((finding) => causeOf(finding) === undefined)
    .map((finding) => ({ finding, followers: problems.filter((one) => causeOf(one) === finding) }))
  return [...groups.filter((one) => stateOf(one) === 'fail'), ...groups.filter((one) => stateOf(one) === 'warn')]
}

export function stateOf({ finding, followers }: FindingGroup): FindingState {
  const isFailure = [finding, ...followers].some(({ state }) => state === 'fail')
  return worstState({ ok: 0, warn: 1, fail: isFailure ? 1 : 0 })
}
