/** Whether the time for an input grows faster than its size: a part of it is repeated to four sizes, each double the last. */
import { type RandomSource, stretch } from './mutate.js'
import { DEFAULT_MAX_SIZE, type FuzzTarget, findFault } from './target.js'
import { threadTime } from './thread-time.js'

/** Milliseconds; less says nothing. */
const MEASURABLE = 8
/** Time may grow with this power of the size. */
const STEEPEST = 1.5
const MAX_UNIT = 40

async function timeOf(target: FuzzTarget, input: Buffer, runs: number): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let run = 0; run < runs; run += 1) {
    const start = threadTime()
    await findFault(target, input)
    best = Math.min(best, threadTime() - start)
  }
  return best
}

/** The largest input that was measured, if the time grows too fast; null: it does not. */
export async function findGrowth(
  target: FuzzTarget,
  input: Buffer,
  random: RandomSource,
): Promise<{ readonly input: Buffer; readonly detail: string } | null> {
  const maxSize = target.maxSize ?? DEFAULT_MAX_SIZE
  const at = Math.floor(random() * input.length)
  const place = { at, length: 1 + Math.floor(random() * Math.min(MAX_UNIT, input.length - at)) }
  const inputs = [8, 4, 2, 1].map((share) => stretch(input, place, maxSize / share))
  const measure = (runs: number): Promise<readonly number[]> =>
    inputs.reduce<Promise<readonly number[]>>(
      async (before, one) => [...(await before), await timeOf(target, one, runs)],
      Promise.resolve([]),
    )
  if (!isSteep(await measure(1)) || !isSteep(await measure(4))) return null
  const times = await measure(6)
  const largest = inputs.at(-1)
  if (!isSteep(times) || largest === undefined) return null
  const unit = JSON.stringify(input.toString('latin1', at, at + place.length))
  return { input: largest, detail: `${times.map((time) => time.toFixed(1)).join(', ')} ms, repeated: ${unit}` }
}

/** The last two doublings both cost more than they may. */
function isSteep(times: readonly number[]): boolean {
  const [, quarter = 0, half = 0, whole = 0] = times
  const limit = 2 ** STEEPEST
  return whole > MEASURABLE && whole / Math.max(half, 1) > limit && half / Math.max(quarter, 0.3) > limit
}
