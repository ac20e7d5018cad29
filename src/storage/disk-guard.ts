/**
 * Refuses new mail before the disk is full, so that what was accepted can still be
 * delivered, logged and backed up. SQLite's own "full" stands behind it.
 *
 * The answer is at most about a second old. When the file system does not say how full
 * it is, the last answer stands.
 */
import type { Clock } from '../platform/clock.js'
import type { DiskSpace } from '../platform/disk-space.js'

export interface DiskThresholds {
  readonly leastShare: number
  readonly leastBytes: number
}

const defaults: DiskThresholds = { leastShare: 0.05, leastBytes: 1024 ** 3 }

/** Not under 5 % of the disk, and not under 1 GiB. */
export function mayTake(free: number, total: number, thresholds: DiskThresholds = defaults): boolean {
  return free >= total * thresholds.leastShare && free >= thresholds.leastBytes
}

export interface DiskGuardOptions {
  readonly path: string
  readonly clock: Clock
  readonly space: (path: string) => Promise<DiskSpace>
  readonly thresholds?: DiskThresholds
}

export interface DiskGuard {
  /** Answers at once; looks again in the background when the answer is older than a second. */
  readonly hasRoom: () => boolean
}

const staleAfter = 1000

export async function diskGuard({ path, clock, space, thresholds }: DiskGuardOptions): Promise<DiskGuard> {
  let askedAt = clock()
  let room = await look()

  async function look(): Promise<boolean> {
    const { free, total } = await space(path)
    return mayTake(free, total, thresholds)
  }

  function refresh(): void {
    askedAt = clock()
    look().then(
      (answer) => {
        room = answer
      },
      () => undefined,
    )
  }

  return {
    hasRoom: () => {
      if (clock() - askedAt >= staleAfter) refresh()
      return room
    },
  }
}
