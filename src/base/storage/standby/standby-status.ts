/** The state of the standby: written by its process each second, read by commands, metrics and the doctor. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const statusSchema = z.object({
  pid: z.number(),
  folder: z.string(),
  updated_at: z.number(),
  generation: z.string().nullable(),
  segments: z.number(),
  /** Everything that was committed before this time is in the folder. Null until that holds after the start. */
  copied_at: z.number().nullable(),
  snapshot_at: z.number().nullable(),
  /** Why the last attempt failed. Null if it did not. */
  error: z.string().nullable(),
})
export type StandbyStatus = z.output<typeof statusSchema>

const fileOf = (dataDir: string): string => join(dataDir, 'standby.json')

export function writeStandbyStatus(dataDir: string, status: StandbyStatus): void {
  const partial = `${fileOf(dataDir)}.partial`
  writeFileSync(partial, `${JSON.stringify(status)}\n`, { mode: 0o600 })
  renameSync(partial, fileOf(dataDir))
}

/** Null if there is none, or it cannot be read. */
export function readStandbyStatus(dataDir: string): StandbyStatus | null {
  try {
    return statusSchema.parse(JSON.parse(readFileSync(fileOf(dataDir), 'utf8')))
  } catch {
    return null
  }
}

/** Milliseconds of commits that are not in the standby folder. Null if the folder has no copy that could be used. */
export function standbyLag({ copied_at, snapshot_at }: StandbyStatus, now: number): number | null {
  return copied_at === null || snapshot_at === null ? null : Math.max(0, now - copied_at)
}
