/** Opens the database of the daemon: files of SQLite in the data folder, or a server of PostgreSQL. */
import { mkdir } from 'node:fs/promises'
import { lockDataFolder } from '../../base/storage/db/data-lock.js'
import type { Database } from '../../base/storage/db/database.js'
import { databaseFile, type OpenOptions, openDatabase } from '../../base/storage/open.js'
import { connectionSettingsOf } from '../../base/storage/postgres/configured-server.js'
import { openPostgres } from '../../base/storage/postgres/open-postgres.js'
import { StandbyRunner } from '../../base/storage/standby/standby-runner.js'
import { holdLog } from '../../base/storage/wal/hold-log.js'
import { SuppressionCache } from '../../records/suppressions/suppression-cache.js'
import { upgradeAtStart } from '../upkeep/database-upgrade.js'
import { foldForStandby, startSweeps, usesSpool } from '../upkeep/spool-sweeps.js'
import { watchDatabase } from '../upkeep/storage-watch.js'
import { type StartOptions, type StopSteps, stopAll } from './daemon-options.js'
import { readFolderId } from './folder-id.js'

interface OpenStorage {
  /** The database as it was opened: its commits are not watched. */
  readonly opened: Database
  readonly database: Database
  readonly suppressions: SuppressionCache
  /** They are taken when everything that was started after the storage has stopped, and before the storage closes. */
  readonly lateSteps: StopSteps
}

/** Locks the data folder, and opens the database with the schema of this version. */
export async function openStorage(options: StartOptions, stopSteps: StopSteps): Promise<OpenStorage> {
  const { config, log } = options
  const folder = config.service.data_dir
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const lock = lockDataFolder(folder)
  stopSteps.push(() => lock.release())
  const opened = config.storage.url === '' ? await openFiles(options, stopSteps) : await openServer(options, stopSteps)
  const suppressions = new SuppressionCache(opened.read)
  const database = watchStorage(options, opened, suppressions, stopSteps)
  const lateSteps: StopSteps = []
  stopSteps.push(() => stopAll(lateSteps, log))
  return { opened, database, suppressions, lateSteps }
}

/** Upgrades the database where it is of an earlier version, and opens it. */
async function openFiles(options: StartOptions, stopSteps: StopSteps): Promise<Database> {
  const { config, log, logs } = options
  const folder = config.service.data_dir
  const { migrations } = options.upgrade ?? {}
  const opened = await openUpgraded(
    { file: databaseFile(folder), spool: usesSpool(config), ...(migrations && { migrations }) },
    () => upgradeAtStart(folder, log, options.upgrade),
  )
  const storageLog = logs.of('storage')
  await foldForStandby(options, opened, storageLog)
  const standby = await startStandby(options)
  // It stops after the database is closed, so that the last commit is copied too.
  stopSteps.push(() => standby?.stop())
  stopSteps.push(() => opened.close())
  stopSteps.push(startSweeps(opened, storageLog).stop)
  return opened
}

async function openUpgraded(options: OpenOptions, upgrade: () => Promise<void>): Promise<Database> {
  const releaseLog = holdLog(options.file)
  try {
    await upgrade()
    return await openDatabase(options)
  } finally {
    releaseLog()
  }
}

async function startStandby({ config, logs }: StartOptions): Promise<StandbyRunner | null> {
  const { data_dir: dataDir } = config.service
  const { folder, interval, snapshot_every: snapshotEvery, keep } = config.standby
  if (folder === '') return null
  const options = { file: databaseFile(dataDir), dataDir, folder, interval, snapshotEvery, keep }
  return StandbyRunner.open(options, logs.of('storage'))
}

async function openServer({ config, clock, logs, onTaken }: StartOptions, stopSteps: StopSteps): Promise<Database> {
  const log = logs.of('storage')
  const settings = connectionSettingsOf(config.storage)
  const { connections } = config.storage
  const opened = await openPostgres({
    ...{ settings, connections, clock, log },
    holder: await readFolderId(config.service.data_dir),
    node: config.node.name,
    onTaken: (err) => {
      log.warn({ err }, 'the lease of this node is lost: it writes nothing more, and joins again')
      onTaken?.()
    },
  })
  stopSteps.push(() => opened.close())
  return opened
}

/** The database whose commits the rooms make. */
function watchStorage(
  { clock, logs, observers }: StartOptions,
  opened: Database,
  suppressions: SuppressionCache,
  stopSteps: StopSteps,
): Database {
  if (observers !== null) opened.onBatch(observers.onBatch)
  const log = logs.of('storage')
  const watched = watchDatabase(opened, { clock, log, onOutage: observers?.onStorageOutage })
  stopSteps.push(watched.stop)
  return { ...opened, commit: suppressions.watch(watched.commit) }
}
