/**
 * Where tests put their files: in memory if there is room, because each commit of a database waits for the disk, and
 * so does each test file that runs beside it.
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'

const IN_MEMORY = '/dev/shm'
/** Bytes that must be free. The files of all tests that run at a time take less than a tenth of it. */
const ROOM = 4 * 1_073_741_824

/** Creates a folder that all users may write to, as /tmp. It is removed when this process ends. */
export function createTemporaryFolder() {
  const folder = mkdtempSync(join(memoryHasRoom() ? IN_MEMORY : tmpdir(), 'posthorn-'))
  chmodSync(folder, 0o1777)
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1))
  return folder
}

/** Tests start programs from their folder, which `noexec` forbids: containers often mount it so. */
function memoryHasRoom() {
  try {
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n')
    const options = mounts.map((line) => line.split(' ')).findLast(([, place]) => place === IN_MEMORY)?.[3]
    if (options === undefined || options.split(',').includes('noexec')) return false
    const { bavail, bsize } = statfsSync(IN_MEMORY)
    return Math.min(bavail * bsize, freemem()) >= ROOM
  } catch {
    return false
  }
}
