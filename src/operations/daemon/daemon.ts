/**
 * Starts the daemon: builds everything once, and stops it in reverse order.
 *
 * Stopping closes all listeners first, at the same time, so that nothing new is acknowledged; then attempts finish
 * or are released; then the database closes. Everything acknowledged is already on disk.
 */
import { mkdir } from 'node:fs/promises'
import type { Config } from '../../base/config/complete.js'
import { LiveConfig, type ReloadedSettings, type StartSettings } from '../../base/config/live-config.js'
import type { ListenAddress } from '../../base/config/network-values.js'
import type { Log } from '../../base/platform/log.js'
import { RoomLogs } from '../../base/platform/room-logs.js'
import type { TlsFiles } from '../../base/platform/tls-files.js'
import { ChangeFollower } from '../../base/storage/db/change-acknowledgement.js'
import { lockDataFolder } from '../../base/storage/db/data-lock.js'
import type { Database } from '../../base/storage/db/database.js'
import { databaseFile, type OpenOptions, openDatabase } from '../../base/storage/open.js'
import { StandbyRunner } from '../../base/storage/standby/standby-runner.js'
import { holdLog } from '../../base/storage/wal/hold-log.js'
import { SuppressionCache } from '../../records/suppressions/suppression-cache.js'
import type { ApiEndpoint } from '../../servers/api/http/server/listener.js'
import type { DnsEndpoint } from '../../servers/dns/tcp-listener.js'
import type { BoundEndpoint } from '../../servers/smtp/server/server-sockets.js'
import type { CertificateView } from '../certificates/certificate-list.js'
import { Certificates, type PairSettings } from '../certificates/certificates.js'
import type { MetricsEndpoint } from '../monitoring/metrics-listener.js'
import { upgradeAtStart } from '../upkeep/database-upgrade.js'
import { foldForStandby, startSweeps, usesSpool } from '../upkeep/spool-sweeps.js'
import { readinessProbe, watchCommits } from '../upkeep/storage-watch.js'
import { startCertificates } from './certificates.js'
import { type DaemonOptions, type StartOptions, type StopSteps, stopAll } from './daemon-options.js'
import { type Listeners, openListeners } from './listeners.js'
import { buildMonitoring, openMonitoring } from './monitoring.js'
import type { ServedRoutes } from './serve-routes.js'
import { openServices, type Services } from './services.js'

export interface Daemon extends ServedRoutes {
  readonly submission: readonly BoundEndpoint[]
  /** Where other servers deliver mail. */
  readonly mx: readonly BoundEndpoint[]
  /** Where the service zone is served, over UDP and TCP. */
  readonly zone: readonly DnsEndpoint[]
  readonly api: readonly ApiEndpoint[]
  /** Where Prometheus reads the metrics. */
  readonly metrics: readonly MetricsEndpoint[]
  /** Where challenges of an ACME server are answered over plain HTTP. */
  readonly challenges: readonly ListenAddress[]
  readonly tls: TlsFiles
  readonly database: Database
  /**
   * Reads the certificate that these settings name and uses it from the next handshake on; open sessions keep
   * theirs. Rejects and changes nothing if certificate and key cannot be read or do not belong together.
   */
  readonly loadCertificate: (tls: PairSettings) => Promise<TlsFiles>
  /** The certificates from the ACME server. Empty if there is none. */
  readonly listCertificates: () => readonly CertificateView[]
  /**
   * Puts in force what can change while the daemon runs, and says what was changed. Rejects, and changes nothing, if the
   * certificate cannot be used.
   */
  readonly reload: (next: Config) => Promise<ReloadedSettings & { readonly tls: TlsFiles }>
  /** Resolves when the writer thread has answered, even if it could not write: a restart does not repair the disk. */
  readonly probeWriter: () => Promise<void>
  /** Sessions and attempts under way, for people. */
  readonly describeLoad: () => string
  readonly stop: () => Promise<void>
}

export async function startDaemon(started: DaemonOptions): Promise<Daemon> {
  const { clock, log } = started
  const live = new LiveConfig(started.config)
  const monitoring = buildMonitoring(started)
  const logs = new RoomLogs(log, started.config.log.levels)
  const options: StartOptions = { ...started, settings: live.settings, logs, observers: monitoring?.observers ?? null }
  const stopSteps: StopSteps = []
  const stop = (): Promise<void> => stopAll(stopSteps, log)
  try {
    const { opened, database, suppressions, lateSteps } = await openStorage(options, stopSteps)
    const certificates = await Certificates.open({ config: options.config, clock, log }, started.config.tls)
    const services = await openServices(options, database, suppressions, stopSteps)
    if (options.loadsAhead === true) await services.receiving.loadAhead()
    const listeners = await openListeners(options, database, certificates, services, { stopSteps, lateSteps })
    const { delivery } = services
    await startCertificates(certificates, options, { database, delivery, listeners }, stopSteps)
    const parts = { database, services, listeners, listCertificates: () => certificates.listServed() }
    const metrics = await openMonitoring(monitoring, options, parts, stopSteps)
    // The listeners stop before the parts that they use: nothing new is accepted while these end.
    stopSteps.push(listeners.stop)
    await followChanges({ database, log: logs.of('storage') }, listeners, certificates, lateSteps)
    return {
      ...{
        ...endpointsOf(listeners),
        metrics,
        challenges: certificates.endpoints,
        tls: certificates.tls,
        database,
        stop,
      },
      ...createReload(options, live, { services, listeners, certificates }),
      listCertificates: () => certificates.list(),
      probeWriter: () => opened.commit([readinessProbe(clock())]).catch(() => undefined),
      describeLoad: () => describeLoad(listeners, services),
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Puts what other processes have changed in force, until the listeners and the services have stopped. */
async function followChanges(
  deps: Pick<Parameters<typeof ChangeFollower.open>[0], 'database' | 'log'> & { readonly database: Database },
  listeners: Listeners,
  certificates: Certificates,
  lateSteps: StopSteps,
): Promise<void> {
  const putInForce: Listeners['onForeignChange'] = (changed) => {
    certificates.wake()
    return listeners.onForeignChange(changed)
  }
  const changes = await ChangeFollower.open({ ...deps, putInForce })
  lateSteps.push(() => changes.stop())
  deps.database.onForeignCommit(() => void changes.follow())
  // Changes made during the start are in effect already, and must be acknowledged.
  await changes.follow()
}

interface OpenStorage {
  /** The database as it was opened: its commits are not watched. */
  readonly opened: Database
  readonly database: Database
  readonly suppressions: SuppressionCache
  /** They are taken when everything that was started after the storage has stopped, and before the storage closes. */
  readonly lateSteps: StopSteps
}

/** Locks the data folder, upgrades its database where it is of an earlier version, and opens it. */
async function openStorage(options: StartOptions, stopSteps: StopSteps): Promise<OpenStorage> {
  const { config, log, logs } = options
  const folder = config.service.data_dir
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const lock = lockDataFolder(folder)
  stopSteps.push(() => lock.release())
  const file = databaseFile(folder)
  const { migrations } = options.upgrade ?? {}
  const opened = await openUpgraded({ file, spool: usesSpool(config), ...(migrations && { migrations }) }, () =>
    upgradeAtStart(folder, log, options.upgrade),
  )
  const storageLog = logs.of('storage')
  await foldForStandby(options, opened, storageLog)
  const standby = await startStandby(config, storageLog)
  // It stops after the database is closed, so that the last commit is copied too.
  stopSteps.push(() => standby?.stop())
  stopSteps.push(() => opened.close())
  stopSteps.push(startSweeps(opened, storageLog).stop)
  const suppressions = new SuppressionCache(opened.read)
  const database = watchDatabase(options, opened, suppressions, stopSteps)
  const lateSteps: StopSteps = []
  stopSteps.push(() => stopAll(lateSteps, log))
  return { opened, database, suppressions, lateSteps }
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

/** The database whose commits the rooms make. */
function watchDatabase(
  { clock, logs, observers }: StartOptions,
  opened: Database,
  suppressions: SuppressionCache,
  stopSteps: StopSteps,
): Database {
  if (observers !== null) opened.onBatch(observers.onBatch)
  const log = logs.of('storage')
  const watched = watchCommits(opened.commit, { clock, log, onOutage: observers?.onStorageOutage })
  stopSteps.push(watched.stop)
  return { ...opened, commit: suppressions.watch(watched.commit) }
}

interface Parts {
  readonly services: Services
  readonly listeners: Listeners
  readonly certificates: Certificates
}

function createReload(
  options: StartOptions,
  live: LiveConfig,
  { services, listeners, certificates }: Parts,
): Pick<Daemon, 'loadCertificate' | 'reload'> {
  const loadCertificate: Daemon['loadCertificate'] = async (tls) => {
    const loaded = await certificates.loadDefault(tls)
    listeners.useCertificate(loaded)
    return loaded
  }
  return {
    loadCertificate,
    reload: async (next) => {
      const tls = await loadCertificate(next.tls)
      const reloaded = live.apply(next)
      await putInForce(options, services)
      await listeners.zone.onReload()
      return { ...reloaded, tls }
    },
  }
}

/** Puts settings in force for the parts that do not read the configuration for each use. */
async function putInForce(
  { settings, logs, addressHider }: StartOptions,
  { limits, delivery }: Services,
): Promise<void> {
  const { log } = settings()
  logs.setLevels(log.level, log.levels)
  addressHider?.setEnabled(log.hash_local_parts)
  await limits.onReload()
  // Mail that waited for another route or for a free connection is looked at again.
  await delivery.refresh()
}

function describeLoad({ submission, mx }: Listeners, { delivery }: Services): string {
  const sessions = `${submission.connections()} submission and ${mx.connections()} MX sessions`
  return `${sessions}, ${delivery.runner.activeCount} attempts under way`
}

type Served = Pick<Daemon, 'submission' | 'mx' | 'zone' | 'api' | keyof ServedRoutes>

function endpointsOf({ submission, mx, zone, api, routes, browserRoutes }: Listeners): Served {
  return {
    routes,
    browserRoutes,
    submission: submission.endpoints,
    mx: mx.endpoints,
    zone: zone.endpoints,
    api: api.endpoints,
  }
}

/** Starts the copy of the database to the standby folder, if one is set. */
async function startStandby({ service, standby }: StartSettings, log: Log): Promise<StandbyRunner | null> {
  const { data_dir: dataDir } = service
  const { folder, interval, snapshot_every: snapshotEvery, keep } = standby
  if (folder === '') return null
  return StandbyRunner.open({ file: databaseFile(dataDir), dataDir, folder, interval, snapshotEvery, keep }, log)
}
