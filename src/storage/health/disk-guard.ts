/**
 * Refuses new mail before the disk is full, so that what was accepted can still be
 * delivered, logged and backed up. SQLite's own "full" stands behind it.
 *
 * The disk is looked at every second. When the file system does not say how full it is,
 * the last answer stands.
 */
import type { DiskSpace } from '../../platform/disk-space.js'

export interface DiskThresholds {
  readonly minShare: number
  readonly minBytes: number
}

const defaultThresholds: DiskThresholds = { minShare: 0.05, minBytes: 1024 ** 3 }

/** In words, for messages. */
export const thresholdText = '5 % of the disk and 1 GB must be free'

/** Not under 5 % of the disk, and not under 1 GiB. */
export function hasEnoughSpace({ free, total }: DiskSpace, thresholds: DiskThresholds = defaultThresholds): boolean {
  return free >= total * thresholds.minShare && free >= thresholds.minBytes
}

export interface DiskGuardOptions {
  readonly path: string
  readonly readSpace: (path: string) => Promise<DiskSpace>
  /** Called when the disk becomes nearly full (`hasRoom` false, at the start too) and when it has room again. */
  readonly onChange: (hasRoom: boolean, space: DiskSpace) => void
  readonly thresholds?: DiskThresholds
  /** Milliseconds between two looks. */
  readonly interval?: number
}

export interface DiskGuard {
  readonly hasRoom: () => boolean
  readonly stop: () => void
}

const CHECK_INTERVAL = 1_000

export async function startDiskGuard(options: DiskGuardOptions): Promise<DiskGuard> {
  const { path, readSpace, onChange, thresholds, interval = CHECK_INTERVAL } = options
  let room = true

  async function checkDisk(): Promise<void> {
    const now = await readSpace(path)
    const answer = hasEnoughSpace(now, thresholds)
    if (answer === room) return
    room = answer
    onChange(room, now)
  }

  await checkDisk()
  const timer = setInterval(() => void checkDisk().catch(() => undefined), interval)
  timer.unref()
  return { hasRoom: () => room, stop: () => clearInterval(timer) }
}
