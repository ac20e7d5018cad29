/** The upgrade of the database at the start of the daemon, in the log and, where it is given, for the service manager. */
import { type DiskSpace, readDiskSpace } from '../../base/platform/disk-space.js'
import type { Log } from '../../base/platform/log.js'
import { version } from '../../base/platform/version.js'
import type { Migrations } from '../../base/storage/db/migrate.js'
import { databaseFile } from '../../base/storage/open.js'
import { upgradeDatabase } from '../../base/storage/upgrade/upgrade-database.js'
import { describeStep } from '../../base/storage/upgrade/upgrade-protocol.js'

export interface UpgradeSettings {
  /**
   * If it is false, no copy of the database is kept from before an upgrade. If it is absent, one is kept if there is
   * room.
   */
  readonly keepCopy?: boolean
  /**
   * Called at most once a second, and every ten seconds while a step goes on. It shows that the daemon is starting and
   * not stuck.
   */
  readonly onProgress?: (status: string) => void
  /** Tests set it. */
  readonly readSpace?: (path: string) => Promise<DiskSpace>
  /** Tests set it. If it is absent, the migrations are those of this version. */
  readonly migrations?: Migrations
}

/** Milliseconds. A migration of a small database takes less than one. */
const STATUS_INTERVAL = 1000

export async function upgradeAtStart(dataDir: string, log: Log, settings: UpgradeSettings = {}): Promise<void> {
  const { keepCopy = true, onProgress, readSpace = readDiskSpace, migrations } = settings
  const begun = performance.now()
  let reportedAt = -STATUS_INTERVAL
  const reportStatus = (status: string): void => {
    if (performance.now() - reportedAt < STATUS_INTERVAL) return
    reportedAt = performance.now()
    onProgress?.(`upgrading the database: ${status}`)
  }
  const upgraded = await upgradeDatabase({
    file: databaseFile(dataDir),
    version,
    keepCopy,
    readSpace,
    ...(migrations === undefined ? {} : { migrations }),
    onPlan: ({ from, pending, bytes }, copy, why) => {
      log.info({ from, migrations: pending.length, bytes, copy }, 'upgrading the database')
      if (copy === null) log.warn({ reason: why }, 'no copy of the database is kept from before the upgrade')
    },
    onBegin: (step) => reportStatus(describeStep(step)),
    onDone: (step, ms) => log.info({ step: describeStep(step), ms }, 'a step of the upgrade is done'),
    onWait: (step, ms) => {
      const status = `${describeStep(step)}, ${Math.round(ms / 1000)} s so far`
      log.info({ step: describeStep(step), ms }, 'a step of the upgrade goes on')
      reportStatus(status)
    },
  })
  if (upgraded) log.info({ ms: Math.round(performance.now() - begun) }, 'the database is upgraded')
}
