/**
 * Runs checks at the same time, a bounded number of them, and each for a limited time.
 *
 * A check that is late or throws makes one undecided finding, and delays no other. A run therefore ends within
 * `MAX_CHECK_TIME` and a moment, also when no question is answered.
 */
import { errorMessageOf } from '../../base/platform/errors.js'
import { Semaphore } from '../../base/platform/semaphore.js'
import type { Check, CheckDeps } from './check.js'
import { type Finding, good, type Judgement, type Remedy, undecided, warning } from './finding.js'

/** Milliseconds for all checks together. */
const MAX_CHECK_TIME = 15_000
const MAX_CONCURRENT_CHECKS = 32
/** Findings of one check; further ones are counted together. */
const MAX_FINDINGS = 250

interface RunOptions {
  /** Milliseconds. */
  readonly maxTime?: number
  /** Ends the run at once; its findings say nothing then. */
  readonly stopped?: AbortSignal
}

/** Returns them in the order of the checks. */
export async function runChecks(
  checks: readonly Check[],
  openDeps: (signal: AbortSignal) => CheckDeps,
  { maxTime = MAX_CHECK_TIME, stopped }: RunOptions = {},
): Promise<readonly Finding[]> {
  const ended = new AbortController()
  const slots = new Semaphore(MAX_CONCURRENT_CHECKS, checks.length)
  const deps = openDeps(ended.signal)
  let timer: NodeJS.Timeout | undefined
  const timeUp = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, maxTime, 'late')
    stopped?.addEventListener('abort', () => resolve('late'), { once: true })
  })
  const found = await Promise.all(checks.map((check) => runCheck(check, deps, slots, timeUp, maxTime)))
  clearTimeout(timer)
  ended.abort()
  return found.flat()
}

async function runCheck(
  check: Check,
  deps: CheckDeps,
  slots: Semaphore,
  timeUp: Promise<'late'>,
  maxTime: number,
): Promise<readonly Finding[]> {
  const work = (async () => {
    if (!(await slots.acquire(maxTime))) return 'late'
    try {
      return await check.run(deps)
    } catch (error) {
      return [undecided(check.name, `the check ended with an error: ${errorMessageOf(error)}`, again(check))]
    } finally {
      slots.release()
    }
  })()
  const outcome = await Promise.race([work, timeUp])
  const judgements =
    outcome === 'late'
      ? [undecided(check.name, `the check had no result within ${maxTime / 1_000} s`, again(check))]
      : outcome
  return limitFindings(check, judgements).map((judgement) => ({ check: check.name, ...judgement }))
}

/** The command that decides it, once the cause is repaired. */
function again({ name }: Check): Remedy {
  return [`posthorn doctor ${name}   # runs this check alone`]
}

function limitFindings(check: Check, judgements: readonly Judgement[]): readonly Judgement[] {
  if (judgements.length <= MAX_FINDINGS) return judgements
  const rank = { fail: 0, warn: 1, ok: 2 } as const
  const kept = judgements.toSorted((one, other) => rank[one.state] - rank[other.state]).slice(0, MAX_FINDINGS)
  const left = judgements.length - kept.length
  const text = `${left} more subjects are not shown`
  if (judgements.every(({ state }) => state === 'ok')) return [...kept, good('others', text)]
  return [...kept, warning('others', text, ['mend those that are shown first', ...again(check)])]
}
