/**
 * `check --upgrade`: migrates a copy of the database, verifies it, and removes it. The database itself is only read, so
 * a daemon may be running.
 */
import { readdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type DiskSpace, readDiskSpace } from '../../platform/disk-space.js'
import { errorCodeOf } from '../../platform/errors.js'
import type { Migrations } from '../db/migrate.js'
import { migrations as ours } from '../db/migrations.js'
import { spoolFolder } from '../db/spool-files.js'
import { hasEnoughSpace, thresholdText } from '../health/disk-guard.js'
import { runUpgrade, type UpgradeListener } from './run-upgrade.js'
import { planUpgrade, type UpgradePlan } from './upgrade-plan.js'

/** The copy would take room that the daemon needs. */
export class NoRoomForCopy extends Error {
  override name = 'NoRoomForCopy'
}

interface RehearsalOptions extends UpgradeListener {
  readonly file: string
  /** Where the copy is made. */
  readonly folder: string
  /** Called before anything is written. */
  readonly onPlan: (plan: UpgradePlan, space: DiskSpace) => void
  readonly signal?: AbortSignal
  readonly readSpace?: (path: string) => Promise<DiskSpace>
  /** If it is absent, the migrations are those of this version. */
  readonly migrations?: Migrations
}

interface Rehearsal {
  readonly plan: UpgradePlan
  readonly migrations: readonly { readonly name: string; readonly milliseconds: number }[]
  readonly milliseconds: number
  /** The problems that `verify-data` found in the copy. */
  readonly problems: readonly string[]
}

/** Null if there is no database yet. */
export async function rehearseUpgrade(options: RehearsalOptions): Promise<Rehearsal | null> {
  const { file, folder, onPlan, onDone, readSpace = readDiskSpace, migrations = ours, ...others } = options
  const plan = planUpgrade(file, migrations)
  if (plan === null) return null
  const done: Rehearsal['migrations'][number][] = []
  if (plan.pending.length === 0) return { plan, migrations: done, milliseconds: 0, problems: [] }
  removeOldCopies(file, folder)
  const space = await readSpace(folder)
  onPlan(plan, space)
  requireRoom(plan, space, folder)
  const copy = join(folder, `${basename(file)}${COPY_MARK}${process.pid}`)
  const begun = performance.now()
  try {
    const problems = await runUpgrade(
      { copy, source: file, file: copy, verify: true, migrations },
      {
        ...others,
        onDone: (step, milliseconds) => {
          if (step.act === 'migrate') done.push({ name: step.migration, milliseconds })
          onDone?.(step, milliseconds)
        },
      },
    )
    return { plan, migrations: done, milliseconds: Math.round(performance.now() - begun), problems }
  } finally {
    removeCopy(copy)
  }
}

const COPY_MARK = '.upgrade-check-'

function requireRoom({ room }: UpgradePlan, { free, total }: DiskSpace, folder: string): void {
  if (hasEnoughSpace({ free: free - room, total })) return
  throw new NoRoomForCopy(
    `there is no room for a copy in ${folder}: it may need ${room} bytes, ${free} of ${total} are free, and ${thresholdText}: name another folder with --copy-to`,
  )
}

/** Removes the copies of a process that was killed. */
function removeOldCopies(file: string, folder: string): void {
  const start = `${basename(file)}${COPY_MARK}`
  const pidOf = (name: string): number => Number.parseInt(name.slice(start.length), 10)
  const left = readdirSync(folder).filter((name) => name.startsWith(start) && !isRunning(pidOf(name)))
  for (const name of left) rmSync(join(folder, name), { recursive: true, force: true })
}

function isRunning(pid: number): boolean {
  try {
    return Number.isInteger(pid) && process.kill(pid, 0)
  } catch (error) {
    return errorCodeOf(error) === 'EPERM'
  }
}

function removeCopy(copy: string): void {
  const partial = `${copy}.new.partial-${process.pid}`
  for (const name of [copy, `${copy}-wal`, `${copy}-shm`, `${copy}.new`, partial, `${partial}-journal`]) {
    rmSync(name, { force: true })
  }
  rmSync(spoolFolder(copy), { recursive: true, force: true })
}
