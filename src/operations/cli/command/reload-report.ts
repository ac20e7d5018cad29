/**
 * The outcome of the last reload, in the file `reload.json` of the data folder: the daemon writes it, and the command
 * `reload` reads it.
 *
 * It also tells the process id of the daemon. The file may be that of a daemon that has ended: a reader must check that
 * this process holds the lock of the folder.
 */
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Problem } from '../../../base/config/problems.js'

/** What people must know of a reload that changed nothing. */
export const SETTINGS_KEPT = 'the daemon goes on with the settings that it has'

const outcome = z.object({
  /** Microseconds of the machine's monotonic clock at which the daemon began to read the configuration. */
  began: z.number(),
  ok: z.boolean(),
  applied: z.array(z.string()),
  pending: z.array(z.string()),
  problems: z.array(z.object({ key: z.string(), message: z.string() })),
})

const report = z.object({ pid: z.int(), last: outcome.nullable() })

export interface ReloadOutcome extends z.output<typeof outcome> {
  readonly problems: Problem[]
}

type ReloadReport = z.output<typeof report>

/** Reads the monotonic clock, which all processes of the machine share. */
export function readMonotonicMicroseconds(): number {
  return Number(process.hrtime.bigint() / 1_000n)
}

/** The file is replaced, so that a reader never sees a part of it. */
export function writeReloadReport(folder: string, content: ReloadReport): void {
  const file = reportFile(folder)
  writeFileSync(`${file}.new`, `${JSON.stringify(content)}\n`, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

/** Null if no daemon has written one. */
export function readReloadReport(folder: string): ReloadReport | null {
  try {
    return report.parse(JSON.parse(readFileSync(reportFile(folder), 'utf8')))
  } catch {
    return null
  }
}

function reportFile(folder: string): string {
  return join(folder, 'reload.json')
}

/** Whether this process holds a lock on the file. Undefined if the system does not tell (it has no /proc/locks). */
export function holdsLock(file: string, pid: number): boolean | undefined {
  const { ino } = statSync(file)
  const lines = readLocks()?.split('\n')
  // A line is `1: POSIX ADVISORY WRITE 4711 fe:01:131074 1073741824 1073742335`.
  return lines?.some((line) => {
    const words = line.trim().split(/\s+/)
    return words[4] === String(pid) && words[5]?.endsWith(`:${ino}`) === true
  })
}

function readLocks(): string | null {
  try {
    return readFileSync('/proc/locks', 'utf8')
  } catch {
    return null
  }
}
