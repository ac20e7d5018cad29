/**
 * Looks for DNS records until all of them are there, for a limited time.
 *
 * The pauses grow, because DNS keeps the answer that a record is missing for minutes. Ctrl-C ends the wait, and with it
 * no more than that: the command goes on and says what is left to do.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { MissingRecord } from '../../../workspaces/domains/missing-records.js'

/** All in milliseconds. */
interface WaitTimes {
  readonly first: number
  readonly longest: number
  readonly total: number
}

const patientTimes: WaitTimes = { first: 5_000, longest: 60_000, total: 3_600_000 }
/** Each pause is so many times as long as the one before. */
const GROWTH = 1.3

interface WaitDeps {
  /** Finds what is missing now. Its look-ups end as failures when `signal` aborts. */
  readonly find: (signal: AbortSignal) => Promise<readonly MissingRecord[]>
  /** Called for each result that differs from the one before. */
  readonly onChange: (missing: readonly MissingRecord[]) => void
  readonly times?: WaitTimes
}

/** Resolves to the records that are missing at the end. */
export async function waitForRecords({
  find,
  onChange,
  times = patientTimes,
}: WaitDeps): Promise<readonly MissingRecord[]> {
  const interrupted = new AbortController()
  const interrupt = (): void => interrupted.abort()
  const signal = AbortSignal.any([interrupted.signal, AbortSignal.timeout(times.total)])
  process.once('SIGINT', interrupt)
  try {
    return await findRepeatedly({ find, onChange, times }, signal)
  } finally {
    process.removeListener('SIGINT', interrupt)
  }
}

async function findRepeatedly(
  { find, onChange, times }: Required<WaitDeps>,
  signal: AbortSignal,
): Promise<readonly MissingRecord[]> {
  let missing: readonly MissingRecord[] = []
  let shown = ''
  for (let pause = times.first; ; pause = Math.min(pause * GROWTH, times.longest)) {
    const found = await find(signal)
    // Look-ups that were cut off say nothing.
    if (signal.aborted) return missing.length === 0 ? found : missing
    missing = found
    if (missing.length === 0) return missing
    const names = missing
      .map(({ record, unanswered, found: value }) => `${record.type} ${record.name} ${unanswered} ${value}`)
      .join()
    if (names !== shown) onChange(missing)
    shown = names
    try {
      await sleep(pause, undefined, { signal })
    } catch {
      return missing
    }
  }
}
