/**
 * How many requests fell into the last second, minute or day: a sliding window.
 *
 * Requests are counted in slices of time. A slice counts until the last moment of it has
 * left the window, so that no span of the window's length ever holds more than the limit;
 * the price is that a request may count for one slice too long. The second has slices of
 * one millisecond, which is exact, because nothing here knows a shorter time.
 *
 * Memory: one entry for each slice in which something happened. A clock that is set back
 * counts into the newest slice that is there, and makes room later, never sooner.
 */
export interface WindowShape {
  /** Milliseconds. */
  readonly length: number
  readonly slice: number
}

export const SECOND: WindowShape = { length: 1_000, slice: 1 }
export const MINUTE: WindowShape = { length: 60_000, slice: 100 }
export const DAY: WindowShape = { length: 86_400_000, slice: 600_000 }

export interface Slice {
  /** Epoch milliseconds. */
  readonly start: number
  readonly count: number
}

/** Start of the oldest slice of which some moment is still in the window. */
export function oldestSliceStart({ length, slice }: WindowShape, now: number): number {
  const firstMoment = now - length + 1
  return firstMoment - (firstMoment % slice)
}

export class SlidingCount {
  private readonly slices: { readonly start: number; count: number }[] = []
  private total = 0

  /** `past`: what was counted before, oldest first. */
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

  /** The moment at which fewer than `limit` are left; where they are so already, at which the oldest leave. */
  nextRoomAt(limit: number, now: number): number {
    let left = this.count(now)
    for (const { start, count } of this.slices) {
      left -= count
      if (left < limit) return start + this.shape.slice + this.shape.length - 1
    }
    return now
  }
}
