/** How much room the file system of a path has, in bytes. */
import { statfs } from 'node:fs/promises'

export interface DiskSpace {
  /** What this process may still fill: blocks reserved for root do not count. */
  readonly free: number
  readonly total: number
}

export async function readDiskSpace(path: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(path)
  return { free: bavail * bsize, total: blocks * bsize }
}
