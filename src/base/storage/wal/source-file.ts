/**
 * Descriptors of database files that are read without SQLite.
 *
 * They are never closed: closing any descriptor of a file releases all POSIX locks that the process holds on it, also
 * those of SQLite's connections, and another process could then remove the log under them.
 */
import { fstatSync, openSync, statSync } from 'node:fs'

const descriptors = new Map<string, number>()

export function openSource(file: string): number {
  const { dev, ino } = statSync(file)
  const key = `${dev}:${ino}`
  const known = descriptors.get(key)
  if (known !== undefined && fstatSync(known).nlink > 0) return known
  const opened = openSync(file, 'r')
  descriptors.set(key, opened)
  return opened
}
