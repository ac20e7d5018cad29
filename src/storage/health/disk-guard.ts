/**
 * Refuses new mail before the disk is full, so that what was accepted can still be
 * delivered, logged and backed up. SQLite's own "full" stands behind it.
 *
 * The disk is looked at every second. When the file system does not say how full it is,
 * the last answer stands.
 */
import type { DiskSpace } from '../../platform/disk-space.js'

export interface DiskThresholds {
  readonly leastShare: number
  readonly leastBytes: number
}

const defaults: DiskThresholds = { leastShare: 0.05, leastBytes: 1024 ** 3 }

/** In words, for messages. */
export const thresholdWords = '5 % of the disk and 1 GB must be free'

/** Not under 5 % of the disk, and not under 1 GiB. */
export function mayTake({ free, total }: DiskSpace, thresholds: DiskThresholds = defaults): boolean {
  return free >= total * thresholds.leastShare && free >= thresholds.leastBytes
}

export interface DiskGuardOptions {
  readonly path: string
  readonly space: (path: string) => Promise<DiskSpace>
  /** Called when the disk becomes nearly full (`hasRoom` false, at the start too) and when it has room again. */
  readonly changed: (hasRoom: boolean, space: DiskSpace) => void
  readonly thresholds?: DiskThresholds
  /** Milliseconds between two looks. */
  readonly every?: number
}

export interface DiskGuard {
  readonly hasRoom: () => boolean
  readonly stop: () => void
}

const EVERY = 1_000

export async function diskGuard(options: DiskGuardOptions): Promise<DiskGuard> {
  const { path, space, changed, thresholds, every = EVERY } = options
  let room = true

  async function look(): Promise<void> {
    const now = await space(path)
    const answer = mayTake(now, thresholds)
    if (answer === room) return
    room = answer
    changed(room, now)
  }

  await look()
  const timer = setInterval(() => void look().catch(() => undefined), every)
  timer.unref()
  return { hasRoom: () => room, stop: () => clearInterval(timer) }
}
