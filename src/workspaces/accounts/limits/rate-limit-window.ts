/**
 * A sliding window: the number of requests in the last second, minute or day.
 *
 * We count requests in slices of time. A slice counts until its last moment has left the window, so no span of the
 * window's length exceeds the limit, and a request may count one slice too long. A second has slices of one
 * millisecond, the resolution of the clock, and is exact.
 *
 * Memory: one entry for each slice with requests. If the clock is set back, requests count into the newest slice, so
 * room returns later, never sooner.
 */
import { DAY, MINUTE, SECOND } from '../../../base/platform/time-units.js'

export interface WindowShape {
  /** Milliseconds. */
  readonly length: number
  readonly slice: number
}

export const slidingSecond: WindowShape = { length: SECOND, slice: 1 }
export const slidingMinute: WindowShape = { length: MINUTE, slice: 100 }
export const slidingDay: WindowShape = { length: DAY, slice: 10 * MINUTE }

export interface Slice {
  /** Epoch milliseconds. */
  readonly start: number
  readonly count: number
}

/** Start of the oldest slice that overlaps the window. */
export function oldestSliceStart({ length, slice }: WindowShape, now: number): number {
  const firstMoment = now - length + 1
  return firstMoment - (firstMoment % slice)
}

export class SlidingCount {
  private readonly slices: { readonly start: number; count: number }[] = []
  private total = 0

  /** `past` has the slices that were counted before, oldest first. */
  constructor(
    readonly shape: WindowShape,
    past: readonly Slice[] = [],
  ) {
    for (const { start, count } of past) this.addTo(start, count)
  }

  add(now: number): void {
    this.addTo(now - (now % this.shape.slice), 1)
  }

  private addTo(start: number, count: number): void {
    const newest = this.slices.at(-1)
    if (newest !== undefined && newest.start >= start) newest.count += count
    else this.slices.push({ start, count })
    this.total += count
  }

  count(now: number): number {
    const oldest = oldestSliceStart(this.shape, now)
    for (let first = this.slices[0]; first !== undefined && first.start < oldest; first = this.slices[0]) {
      this.total -= first.count
      this.slices.shift()
    }
    return this.total
  }

  /**
   * The moment when fewer than `limit` requests remain in the window. If that is so already, it is the moment when
   * the oldest slice leaves.
   */
  nextRoomAt(limit: number, now: number): number {
    let left = this.count(now)
    for (const { start, count } of this.slices) {
      left -= count
      if (left < limit) return start + this.shape.slice + this.shape.length - 1
    }
    return now
  }
}
