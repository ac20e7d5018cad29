/** The size and the free space of a path's file system, in bytes. */
import { statfs } from 'node:fs/promises'

export interface DiskSpace {
  /** Bytes without the blocks that are reserved for root. */
  readonly free: number
  readonly total: number
}

export async function readDiskSpace(path: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(path)
  return { free: bavail * bsize, total: blocks * bsize }
}
