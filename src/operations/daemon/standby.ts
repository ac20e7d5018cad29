/** Starts the copy of the database to the standby folder, if one is set. */
import type { StartSettings } from '../../base/config/live-config.js'
import type { Log } from '../../base/platform/log.js'
import { databaseFile } from '../../base/storage/open.js'
import { StandbyRunner } from '../../base/storage/standby/standby-runner.js'

export async function startStandby({ service, standby }: StartSettings, log: Log): Promise<StandbyRunner | null> {
  const { data_dir: dataDir } = service
  const { folder, interval, snapshot_every: snapshotEvery, keep } = standby
  if (folder === '') return null
  return StandbyRunner.open({ file: databaseFile(dataDir), dataDir, folder, interval, snapshotEvery, keep }, log)
}
