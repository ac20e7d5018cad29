/** Debian programs that some tests use as peers. Where one is missing, its tests are skipped by name. */
import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'

const folders = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/sbin']

/** The `skip` option of a test that needs `program`: false, or why it is skipped. */
export function skipWithout(program: string): false | string {
  return folders.some((folder) => isExecutable(join(folder, program))) ? false : `${program} is not installed`
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
