/**
 * The upgrade at the start of the daemon: a copy of the database as it is, then its migrations.
 *
 * The data folder must be locked. The migrations are one transaction: if the process is killed, the database is as it
 * was, and the next start repeats the upgrade.
 */
import { dirname } from 'node:path'
import { type DiskSpace, readDiskSpace } from '../../platform/disk-space.js'
import type { Migrations } from '../db/migrate.js'
import { migrations as ours } from '../db/migrations.js'
import { hasEnoughSpace, thresholdText } from '../health/disk-guard.js'
import { runUpgrade, type UpgradeListener } from './run-upgrade.js'
import { upgradeCopyOf } from './upgrade-copies.js'
import { planUpgrade, type UpgradePlan } from './upgrade-plan.js'

interface UpgradeOptions extends UpgradeListener {
  readonly file: string
  /** The version of this program, in the name of the copy. */
  readonly version: string
  /** Keep a copy of the database as it was, if there is room. */
  readonly keepCopy: boolean
  /** Called before the upgrade, if there is one. `copy` is null if none is made, for the reason `why`. */
  readonly onPlan: (plan: UpgradePlan, copy: string | null, why: string) => void
  readonly readSpace?: (path: string) => Promise<DiskSpace>
  /** If it is absent, the migrations are those of this version. */
  readonly migrations?: Migrations
}

/** Resolves to whether there was something to do. Throws `NewerDatabase`, `DevelopmentDatabase`, or a `StorageFault`. */
export async function upgradeDatabase(options: UpgradeOptions): Promise<boolean> {
  const { file, version, keepCopy, onPlan, readSpace = readDiskSpace, migrations = ours, ...listener } = options
  const plan = planUpgrade(file, migrations)
  if (plan === null || plan.pending.length === 0) return false
  const why = keepCopy ? findObstacle(plan, await readSpace(dirname(file))) : '--no-copy'
  const copy = why === '' ? upgradeCopyOf(file, version) : null
  onPlan(plan, copy, why)
  await runUpgrade({ copy, source: file, file, verify: false, migrations }, listener)
  return true
}

/** Empty if there is room for the copy and for the migration. */
function findObstacle({ room }: UpgradePlan, { free, total }: DiskSpace): string {
  if (hasEnoughSpace({ free: free - room, total })) return ''
  return `the copy and the upgrade may need ${room} bytes, ${free} of ${total} are free, and ${thresholdText}`
}
