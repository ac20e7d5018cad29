/**
 * The requests of a day, stored in the table `usage` so that the daily limit survives a restart.
 *
 * Counts are collected in memory and added to the table by `save`, once a minute and at the stop. A
 * crash loses up to a minute of counts. Until a save is acknowledged its counts are in memory too, so
 * a read at that moment may count them twice.
 */
import type { Read } from '../../../base/storage/db/prepared.js'
import type { Commit } from '../../../base/storage/db/write.js'
import { oldestSliceStart, type Slice, slidingDay } from './rate-limit-window.js'
import { addToExisting, bucketsSince, REQUESTS } from './usage.js'

/** Rows of one commit. */
const ROWS_PER_COMMIT = 500

interface DailyRequests {
  /** The requests of the workspace in the day that ends now, oldest first. */
  readonly readSlices: (workspaceId: string, now: number) => readonly Slice[]
  readonly count: (workspaceId: string, now: number) => void
  readonly save: () => Promise<void>
}

interface UnsavedCount {
  readonly workspaceId: string
  readonly start: number
  count: number
}

export function createDailyRequests({ read, commit }: { read: Read; commit: Commit }): DailyRequests {
  const unsaved = new Map<string, UnsavedCount>()

  async function savePortion(portion: readonly (readonly [string, UnsavedCount])[]): Promise<void> {
    const saved = portion.map(([key, { count }]) => ({ key, count }))
    await commit(
      portion.map(([, { workspaceId, start, count }]) =>
        addToExisting({ workspace_id: workspaceId, kind: REQUESTS, bucket: start, count }),
      ),
    )
    for (const { key, count } of saved) {
      const held = unsaved.get(key)
      if (held === undefined) continue
      held.count -= count
      if (held.count === 0) unsaved.delete(key)
    }
  }

  return {
    readSlices: (workspaceId, now) => {
      const since = oldestSliceStart(slidingDay, now)
      const saved = bucketsSince(read, { workspaceId, kind: REQUESTS, since }).map(({ bucket, count }) => ({
        start: bucket,
        count,
      }))
      const held = [...unsaved.values()].filter((slice) => slice.workspaceId === workspaceId && slice.start >= since)
      return [...saved, ...held].sort((one, other) => one.start - other.start)
    },
    count: (workspaceId, now) => {
      const start = now - (now % slidingDay.slice)
      const key = `${start} ${workspaceId}`
      const held = unsaved.get(key)
      if (held === undefined) unsaved.set(key, { workspaceId, start, count: 1 })
      else held.count += 1
    },
    save: async () => {
      const all = [...unsaved]
      for (let from = 0; from < all.length; from += ROWS_PER_COMMIT)
        await savePortion(all.slice(from, from + ROWS_PER_COMMIT))
    },
  }
}
