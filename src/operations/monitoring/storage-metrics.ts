/** The database: commits with their batches and the time of their sync, sizes of files, free space. */
import { readDiskSpace } from '../../base/platform/disk-space.js'
import type { Database, WrittenBatch } from '../../base/storage/db/database.js'
import type { Metrics } from './registry.js'

export interface StorageObservers {
  readonly onBatch: (batch: WrittenBatch) => void
  /** The database has begun to take no writes, or takes them again. */
  readonly onStorageOutage: (isOutage: boolean) => void
}

const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_000]
const SYNC_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export function createStorageObservers(metrics: Metrics): StorageObservers {
  const batches = metrics.histogram({
    name: 'posthorn_commit_batch_requests',
    help: 'Requests that shared one commit.',
    buckets: BATCH_BUCKETS,
  })
  const sync = metrics.histogram({
    name: 'posthorn_commit_sync_seconds',
    help: 'Time of the COMMIT statement in the writer thread: write-ahead log, fdatasync, and a checkpoint if one is due.',
    buckets: SYNC_BUCKETS,
  })
  const outage = metrics.gauge({
    name: 'posthorn_database_outage',
    help: '1 while the database takes no writes and nothing new is accepted, else 0.',
  })
  return {
    onBatch: ({ requests, syncTime }) => {
      batches.observe([], requests)
      if (syncTime !== null) sync.observe([], syncTime / 1_000)
    },
    onStorageOutage: (isOutage) => outage.set([], isOutage ? 1 : 0),
  }
}

interface ReportedStorage {
  readonly database: Pick<Database, 'measure' | 'countCommits'>
  readonly folder: string
  readonly hasDiskSpace: () => boolean
}

export function reportStorage(metrics: Metrics, { database, folder, hasDiskSpace }: ReportedStorage): void {
  const commits = metrics.counter({
    name: 'posthorn_commits_total',
    help: 'Commits: one transaction and one fdatasync each.',
  })
  const gaugeOf = (name: string, help: string): ((value: number) => void) => {
    const gauge = metrics.gauge({ name, help })
    return (value) => gauge.set([], value)
  }
  const setSize = gaugeOf('posthorn_database_bytes', 'Size of the database file.')
  const setWal = gaugeOf('posthorn_database_wal_bytes', 'Size of the write-ahead log.')
  const setSpool = gaugeOf('posthorn_spool_bytes', 'Size of the spool files, which hold large messages.')
  const setUnused = gaugeOf(
    'posthorn_database_free_bytes',
    'Empty pages in the database file, which the next rows fill.',
  )
  const setFree = gaugeOf(
    'posthorn_disk_free_bytes',
    'Free space on the disk of the data folder, without what is reserved for root.',
  )
  const setTotal = gaugeOf('posthorn_disk_size_bytes', 'Size of the disk of the data folder.')
  const setAccepts = gaugeOf(
    'posthorn_disk_accepts_mail',
    '1 while the disk has room for new mail, 0 while new mail is put off.',
  )
  metrics.onScrape(async () => {
    commits.setTotal([], database.countCommits())
    setAccepts(hasDiskSpace() ? 1 : 0)
    const sizes = await database.measure()
    setUnused(sizes.free)
    setSize(sizes.database)
    setWal(sizes.wal)
    setSpool(sizes.spool)
    const { free, total } = await readDiskSpace(folder)
    setFree(free)
    setTotal(total)
  })
}
