/** Counts emails by local day or by hour of the local day. Each period occurs once, even if it has no emails. */

import { DAY, HOUR } from '../../base/platform/time-units.js'
import type { OffsetAt } from './time-zone.js'
import { BUCKET, type Window } from './window.js'

export const groupings = ['day', 'hour', 'status'] as const
/** `status` needs no series, because its numbers are those of the whole window. */
export type Grouping = (typeof groupings)[number]

export interface Point {
  readonly period: string
  readonly count: number
}

interface BucketTotal {
  readonly bucket: number
  readonly total: number
}

const HOURS = 24

/** Adds up buckets that come in the order of time. */
interface TimeSeries {
  readonly add: (totals: readonly BucketTotal[]) => void
  readonly toPoints: () => readonly Point[]
}

export function createTimeSeries(grouping: 'day' | 'hour', window: Window, offsetAt: OffsetAt): TimeSeries {
  return grouping === 'day' ? seriesOfDays(window, offsetAt) : seriesOfHours(rememberOffsets(offsetAt))
}

interface DayFinder {
  /** The local days of the window, such as `2026-11-22`. */
  readonly dates: readonly string[]
  /** Finds the place in `dates` of the day of a bucket. */
  readonly placeOf: (bucket: number) => number
}

export function createDayFinder({ start, end }: Window, offsetAt: OffsetAt): DayFinder {
  const findOffset = rememberOffsets(offsetAt)
  const dayOf = (at: number): number => Math.floor((at + findOffset(at)) / DAY)
  const first = dayOf(start)
  return {
    dates: Array.from({ length: dayOf(end - BUCKET) - first + 1 }, (_, at) => formatDay(first + at)),
    placeOf: (bucket) => dayOf(bucket) - first,
  }
}

function seriesOfDays(window: Window, offsetAt: OffsetAt): TimeSeries {
  const { dates, placeOf } = createDayFinder(window, offsetAt)
  const counts = dates.map(() => 0)
  return {
    add: (totals) => {
      for (const { bucket, total } of totals) increase(counts, placeOf(bucket), total)
    },
    toPoints: () => dates.map((period, at) => ({ period, count: counts[at] ?? 0 })),
  }
}

function seriesOfHours(offsetAt: OffsetAt): TimeSeries {
  const counts: number[] = Array.from({ length: HOURS }, () => 0)
  return {
    add: (totals) => {
      for (const { bucket, total } of totals) {
        increase(counts, Math.floor((bucket + offsetAt(bucket)) / HOUR) % HOURS, total)
      }
    },
    toPoints: () => counts.map((count, hour) => ({ period: `${String(hour).padStart(2, '0')}:00`, count })),
  }
}

function increase(counts: number[], at: number, by: number): void {
  counts[at] = (counts[at] ?? 0) + by
}

function formatDay(day: number): string {
  return new Date(day * DAY).toISOString().slice(0, 'yyyy-mm-dd'.length)
}

/**
 * Looks an offset up at both ends of a day, which takes some microseconds. Only on a day when the clocks change, it
 * looks the offset up at each bucket.
 */
function rememberOffsets(offsetAt: OffsetAt): OffsetAt {
  const known = new Map<number, number>()
  const lookUp = (at: number): number => {
    const offset = known.get(at) ?? offsetAt(at)
    known.set(at, offset)
    return offset
  }
  return (at) => {
    const day = at - (at % DAY)
    const offset = lookUp(day)
    return offset === lookUp(day + DAY) ? offset : lookUp(at)
  }
}
