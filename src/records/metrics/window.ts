/** The period that metrics cover: whole quarters of an hour, at most 90 days and one quarter at each end. */

import { DAY } from '../../base/platform/time-units.js'
import type { Timestamp } from '../../base/storage/tables/columns.js'

/** Milliseconds of a bucket. Every time zone is ahead of or behind UTC by a multiple of a bucket. */
export const BUCKET = 900_000
export const MAX_DAYS = 90

export interface Window {
  readonly start: Timestamp
  /** The exclusive end. */
  readonly end: Timestamp
  readonly days: number
}

/** Rounds outward to whole buckets. */
export function toWindow(from: Timestamp, to: Timestamp): Window {
  const start = Math.floor(from / BUCKET) * BUCKET
  const end = Math.ceil(to / BUCKET) * BUCKET
  return { start, end, days: Math.ceil((to - from) / DAY) }
}
