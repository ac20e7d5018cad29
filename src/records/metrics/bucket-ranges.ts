/** Divides a window of metrics into ranges that are short enough for one turn of the event loop. */
import { waitForStep } from '../../base/storage/db/stepped-walk.js'
import type { Timestamp } from '../../base/storage/tables/columns.js'
import { BUCKET, type Window } from './window.js'

/** The most buckets of one range. Summing them takes a third of a millisecond. */
export const MAX_BUCKETS = 250

export interface BucketRange {
  readonly workspaceId: string
  /** The sender's domain. Empty for all domains. */
  readonly domain: string
  /** `name:value`. Empty for all tags. */
  readonly tag: string
  readonly start: Timestamp
  /** The exclusive end. */
  readonly end: Timestamp
}

export interface RangeRequest {
  readonly workspaceId: string
  readonly domain: string | undefined
  readonly tag: string | undefined
  readonly window: Window
}

/** Yields the ranges in order. Other work runs between two of them. */
export async function* walkRanges(request: RangeRequest): AsyncGenerator<BucketRange> {
  const { workspaceId, domain = '', tag = '', window } = request
  for (let start = window.start; start < window.end; start += MAX_BUCKETS * BUCKET) {
    if (start > window.start) await waitForStep()
    yield { workspaceId, domain, tag, start, end: Math.min(start + MAX_BUCKETS * BUCKET, window.end) }
  }
}
