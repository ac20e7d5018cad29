/**
 * Compares the findings of two daily runs: which are new, which have ended, and which a notice has yet to name. Pure.
 *
 *   found now        stored before    becomes
 *   warn or fail     nothing          a failure
 *   fail             warn             a failure: it has become worse
 *   warn or fail     the same, worse  stored with the new text
 *   undecided        anything         unchanged: nothing was found out
 *   ok, or nothing   warn or fail     a recovery, unless its check has undecided findings
 */
import type { Finding } from './finding.js'

export interface StoredFinding {
  readonly check: string
  readonly subject: string
  readonly state: 'warn' | 'fail'
  readonly text: string
  readonly remedy: readonly string[]
  readonly failedAt: number
  readonly checkedAt: number
  /** A notice has named it. */
  readonly isNoticed: boolean
}

export interface Comparison {
  /** The faults that are stored from now on. */
  readonly present: readonly StoredFinding[]
  readonly failed: readonly StoredFinding[]
  readonly recovered: readonly StoredFinding[]
}

/** Findings that are stored; further ones are not, so their changes are not seen. */
export const MAX_STORED = 500

export function compareFindings(
  stored: readonly StoredFinding[],
  findings: readonly Finding[],
  now: number,
): Comparison {
  const before = new Map(stored.map((one) => [keyOf(one), one]))
  const present = new Map<string, StoredFinding>()
  const failed: StoredFinding[] = []
  for (const finding of findings) {
    if (finding.state === 'ok' || finding.undecided === true || present.size >= MAX_STORED) continue
    const known = before.get(keyOf(finding))
    const isNew = known === undefined || (finding.state === 'fail' && known.state === 'warn')
    const next = toStored(finding, finding.state, isNew ? undefined : known, now)
    present.set(keyOf(finding), next)
    if (isNew) failed.push(next)
  }
  const isUndecided = createUndecidedTest(findings)
  const absent = stored.filter((one) => !present.has(keyOf(one)))
  const kept = absent.filter(isUndecided)
  const recovered = absent.filter((one) => !isUndecided(one))
  return { present: [...present.values(), ...kept], failed, recovered }
}

function toStored(
  { check, subject, text, remedy }: Finding,
  state: StoredFinding['state'],
  known: StoredFinding | undefined,
  now: number,
): StoredFinding {
  const since = { failedAt: known?.failedAt ?? now, isNoticed: known?.isNoticed ?? false }
  return { check, subject, state, text, remedy, checkedAt: now, ...since }
}

/**
 * Linear, since it runs on the main thread. If a check found a subject right, its undecided findings about that subject
 * do not matter.
 */
function createUndecidedTest(findings: readonly Finding[]): (one: StoredFinding) => boolean {
  const bySubject = new Map(findings.toReversed().map((finding) => [keyOf(finding), finding]))
  const undecidedChecks = new Set(findings.filter((one) => one.undecided === true).map(({ check }) => check))
  return (one) => {
    const own = bySubject.get(keyOf(one))
    return own === undefined ? undecidedChecks.has(one.check) : own.undecided === true
  }
}

function keyOf({ check, subject }: Pick<Finding, 'check' | 'subject'>): string {
  return `${check}\n${subject}`
}
