/**
 * The requests of a day, kept in the table `usage`, so that a restart does not give a
 * workspace its day anew.
 *
 * Counts are gathered here and added to the table by `save`, once a minute and at the
 * stop. A crash forgets what was not saved: up to a minute of requests, which the
 * workspace may then make again. Until a save is acknowledged its counts are held here
 * too; a workspace that is looked up in that very moment may count them twice.
 */
import type { Read } from '../../storage/prepared.js'
import type { Commit } from '../../storage/writer/write.js'
import { DAY, oldestSlice, type Slice } from './rate-limit-window.js'
import { addToLiving, bucketsSince, REQUESTS } from './usage.js'

/** Rows of one commit. */
const PORTION = 500

export interface RequestDays {
  /** What the workspace has asked in the day that ends now, oldest first. */
  readonly past: (workspaceId: string, now: number) => readonly Slice[]
  readonly count: (workspaceId: string, now: number) => void
  readonly save: () => Promise<void>
}

interface Unsaved {
  readonly workspaceId: string
  readonly start: number
  count: number
}

export function requestDays({ read, commit }: { read: Read; commit: Commit }): RequestDays {
  const unsaved = new Map<string, Unsaved>()

  async function savePortion(portion: readonly (readonly [string, Unsaved])[]): Promise<void> {
    const saved = portion.map(([key, { count }]) => ({ key, count }))
    await commit(
      portion.map(([, { workspaceId, start, count }]) =>
        addToLiving({ workspace_id: workspaceId, kind: REQUESTS, bucket: start, count }),
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
    past: (workspaceId, now) => {
      const since = oldestSlice(DAY, now)
      const saved = bucketsSince(read, { workspaceId, kind: REQUESTS, since }).map(({ bucket, count }) => ({
        start: bucket,
        count,
      }))
      const held = [...unsaved.values()].filter((slice) => slice.workspaceId === workspaceId && slice.start >= since)
      return [...saved, ...held].sort((one, other) => one.start - other.start)
    },
    count: (workspaceId, now) => {
      const start = now - (now % DAY.slice)
      const key = `${start} ${workspaceId}`
      const held = unsaved.get(key)
      if (held === undefined) unsaved.set(key, { workspaceId, start, count: 1 })
      else held.count += 1
    },
    save: async () => {
      const all = [...unsaved]
      for (let from = 0; from < all.length; from += PORTION) await savePortion(all.slice(from, from + PORTION))
    },
  }
}
