/**
 * The requests of a day, stored in the table `usage` so that the daily limit survives a restart.
 *
 * We collect counts in memory. `save` adds them to the table once a minute and at the stop, so a crash loses up to a
 * minute of counts. The counts of a save stay in memory until it is acknowledged, so a read at that moment may count
 * them twice.
 */
import type { Store } from '../../../base/storage/db/database.js'
import { oldestSliceStart, type Slice, slidingDay } from './rate-limit-window.js'
import { addToExisting, bucketsSince, REQUESTS } from './usage.js'

/** Rows of one commit. */
const ROWS_PER_COMMIT = 500

interface UnsavedCount {
  readonly workspaceId: string
  readonly start: number
  count: number
}

export class DailyRequests {
  private readonly unsaved = new Map<string, UnsavedCount>()

  constructor(private readonly store: Store) {}

  /** The requests of the workspace in the day that ends now, oldest first. */
  readSlices(workspaceId: string, now: number): readonly Slice[] {
    const since = oldestSliceStart(slidingDay, now)
    const saved = bucketsSince(this.store.read, { workspaceId, kind: REQUESTS, since }).map(({ bucket, count }) => ({
      start: bucket,
      count,
    }))
    const held = [...this.unsaved.values()].filter((slice) => slice.workspaceId === workspaceId && slice.start >= since)
    return [...saved, ...held].sort((one, other) => one.start - other.start)
  }

  count(workspaceId: string, now: number): void {
    const start = now - (now % slidingDay.slice)
    const key = `${start} ${workspaceId}`
    const held = this.unsaved.get(key)
    if (held === undefined) this.unsaved.set(key, { workspaceId, start, count: 1 })
    else held.count += 1
  }

  async save(): Promise<void> {
    const all = [...this.unsaved]
    for (let from = 0; from < all.length; from += ROWS_PER_COMMIT)
      await this.savePortion(all.slice(from, from + ROWS_PER_COMMIT))
  }

  private async savePortion(portion: readonly (readonly [string, UnsavedCount])[]): Promise<void> {
    const saved = portion.map(([key, { count }]) => ({ key, count }))
    await this.store.commit(
      portion.map(([, { workspaceId, start, count }]) =>
        addToExisting({ workspace_id: workspaceId, kind: REQUESTS, bucket: start, count }),
      ),
    )
    for (const { key, count } of saved) {
      const held = this.unsaved.get(key)
      if (held === undefined) continue
      held.count -= count
      if (held.count === 0) this.unsaved.delete(key)
    }
  }
}
