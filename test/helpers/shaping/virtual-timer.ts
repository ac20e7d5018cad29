/** A clock that goes on when it is told to, with its timers: hours of a provider's limits in milliseconds. */
import type { PaceTimer } from '../../../src/outbound/delivery/shaping/pace-state.js'

interface Timed {
  readonly at: number
  readonly order: number
  readonly run: () => void
}

export interface VirtualTimer extends PaceTimer {
  /** Runs everything that is due before this moment, in order, and stands there then. */
  readonly advanceTo: (at: number) => void
}

export function createVirtualTimer(): VirtualTimer {
  const heap: Timed[] = []
  const cancelled = new Set<Timed>()
  let current = 0
  let order = 0
  const isBefore = (one: Timed, other: Timed): boolean =>
    one.at === other.at ? one.order < other.order : one.at < other.at
  return {
    now: () => current,
    toWall: (at) => at,
    after: (milliseconds, run) => {
      const timed = { at: current + Math.max(0, milliseconds), order: order++, run }
      push(heap, timed, isBefore)
      return () => cancelled.add(timed)
    },
    advanceTo: (at) => {
      for (let next = heap[0]; next !== undefined && next.at <= at; next = heap[0]) {
        pop(heap, isBefore)
        if (cancelled.delete(next)) continue
        current = next.at
        next.run()
      }
      current = at
    },
  }
}

type IsBefore = (one: Timed, other: Timed) => boolean

function push(heap: Timed[], timed: Timed, isBefore: IsBefore): void {
  let at = heap.length
  heap.push(timed)
  while (at > 0) {
    const above = (at - 1) >> 1
    if (!isBefore(timed, heap[above] as Timed)) break
    heap[at] = heap[above] as Timed
    at = above
  }
  heap[at] = timed
}

function pop(heap: Timed[], isBefore: IsBefore): void {
  const last = heap.pop() as Timed
  if (heap.length === 0) return
  let at = 0
  for (;;) {
    let below = 2 * at + 1
    if (below >= heap.length) break
    if (below + 1 < heap.length && isBefore(heap[below + 1] as Timed, heap[below] as Timed)) below += 1
    if (!isBefore(heap[below] as Timed, last)) break
    heap[at] = heap[below] as Timed
    at = below
  }
  heap[at] = last
}
