/**
 * Refuses new mail before the disk is full, so that accepted mail can still be delivered, logged and backed
 * up; SQLite's own "disk full" is the second line. The disk is checked every second. If the file system does
 * not answer, the last result stands.
 */
import type { DiskSpace } from '../../platform/disk-space.js'

interface DiskThresholds {
  readonly minShare: number
  readonly minBytes: number
}

const defaultThresholds: DiskThresholds = { minShare: 0.05, minBytes: 1024 ** 3 }

/** The default thresholds in words, for messages. */
export const thresholdText = '5 % of the disk and 1 GiB must be free'

/** At least 5 % of the disk and at least 1 GiB must be free. */
export function hasEnoughSpace(space: DiskSpace, thresholds: DiskThresholds = defaultThresholds): boolean {
  return countRoom(space, thresholds) >= 0
}

/** Bytes beyond those that must be free. A negative number says how many are missing. */
function countRoom({ free, total }: DiskSpace, { minShare, minBytes }: DiskThresholds): number {
  return free - Math.max(total * minShare, minBytes)
}

interface DiskGuardOptions {
  readonly path: string
  readonly readSpace: (path: string) => Promise<DiskSpace>
  /** Called when the disk becomes nearly full (`hasRoom` is false; at the start too) and when it has room again. */
  readonly onChange: (hasRoom: boolean, space: DiskSpace) => void
  readonly thresholds?: DiskThresholds
  /** Milliseconds between two checks. */
  readonly interval?: number
}

export interface DiskGuard {
  readonly hasRoom: () => boolean
  /** Bytes that may be stored until the disk is nearly full. */
  readonly room: () => number
  readonly stop: () => void
}

const CHECK_INTERVAL = 1_000

export async function startDiskGuard(options: DiskGuardOptions): Promise<DiskGuard> {
  const { path, readSpace, onChange, thresholds = defaultThresholds, interval = CHECK_INTERVAL } = options
  let hasRoom = true
  let room = 0

  async function checkDisk(): Promise<void> {
    const now = await readSpace(path)
    room = Math.max(0, countRoom(now, thresholds))
    const answer = hasEnoughSpace(now, thresholds)
    if (answer === hasRoom) return
    hasRoom = answer
    onChange(hasRoom, now)
  }

  await checkDisk()
  const timer = setInterval(() => void checkDisk().catch(() => undefined), interval)
  timer.unref()
  return { hasRoom: () => hasRoom, room: () => room, stop: () => clearInterval(timer) }
}
