/**
 * Delays reads, for tests alone: `POSTHORN_TEST_READS=late`.
 *
 * A read of an engine behind a network takes turns of the event loop in which anything may happen. SQLite answers at
 * once, so a fault that needs such a turn would be seen only there. With delays the tests find it here. The delays
 * follow from a seed, which the tests print and which may be given as `POSTHORN_TEST_SEED`.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { findLateReadsSeed } from '../../config/late-reads.js'
import type { Awaitable, Read, ReadTogether } from './prepared.js'

const MAX_MILLISECONDS = 4

let random: (() => number) | null = null

/** Returns the same read, unless tests ask for delays. */
export function delayForTests(read: Read): Read {
  const seed = findLateReadsSeed()
  if (seed === null) return read
  random ??= seededRandom(seed)
  const draw = random
  const runLate = async <Result>(begin: () => Awaitable<Result>): Promise<Result> => {
    await delay(draw())
    const result = await begin()
    await delay(draw())
    return result
  }
  const { together } = read
  return Object.assign(
    <Row>(sql: string, parameters: readonly unknown[]) => runLate(() => read<Row>(sql, parameters)),
    together === undefined
      ? {}
      : { together: (queries: Parameters<ReadTogether>[0]) => runLate(() => together(queries)) },
  )
}

/** Waits for a turn of the event loop mostly, for some milliseconds now and then, and not at all for the rest. */
async function delay(draw: number): Promise<void> {
  if (draw < 0.6) await nextTurn()
  else if (draw < 0.7) await sleep(Math.ceil((draw - 0.6) * 10 * MAX_MILLISECONDS))
}

/** The generator mulberry32: a test of interleavings needs no better one. */
function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
