/**
 * Starts the daemon: builds everything once, and stops it in reverse order.
 *
 * Stopping closes all listeners first, at the same time, so that nothing new is acknowledged; then attempts finish
 * or are released; then the database closes. Everything acknowledged is already on disk.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { ApiEndpoint } from '../api/http/server/listener.js'
import type { Config } from '../config/complete.js'
import type { Endpoint as DnsEndpoint } from '../dns/tcp-listener.js'
import type { MetricsEndpoint } from '../monitoring/metrics-listener.js'
import { loadTlsFiles, type TlsFiles } from '../platform/tls-files.js'
import type { BoundEndpoint } from '../smtp/server/server-sockets.js'
import { createChangeAcknowledger } from '../storage/change-acknowledgement.js'
import { lockDataFolder } from '../storage/data-lock.js'
import type { Database } from '../storage/database.js'
import { databaseFile, openDatabase } from '../storage/open.js'
import { createSuppressionCache, type SuppressionCache } from '../suppressions/suppression-cache.js'
import type { ServedRoutes } from './api-listener.js'
import { type DaemonOptions, type ObservedOptions, type StopSteps, stopAll } from './daemon-options.js'
import { type Listeners, openListeners } from './listeners.js'
import { buildMonitoring, openMonitoring } from './monitoring.js'
import { openServices } from './services.js'
import { watchCommits } from './storage-watch.js'

export interface Daemon extends ServedRoutes {
  readonly submission: readonly BoundEndpoint[]
  /** Where other servers deliver mail. */
  readonly mx: readonly BoundEndpoint[]
  /** Where the service zone is served, over UDP and TCP. */
  readonly zone: readonly DnsEndpoint[]
  readonly api: readonly ApiEndpoint[]
  /** Where Prometheus reads the metrics. */
  readonly metrics: readonly MetricsEndpoint[]
  readonly tls: TlsFiles
  readonly database: Database
  /**
   * Reads the certificate that these settings name and uses it from the next handshake on; open sessions keep
   * theirs. Rejects and changes nothing if certificate and key cannot be read or do not belong together.
   */
  readonly loadCertificate: (tls: Config['tls']) => Promise<TlsFiles>
  readonly stop: () => Promise<void>
}

export async function startDaemon(given: DaemonOptions): Promise<Daemon> {
  const { config, clock, log } = given
  const monitoring = buildMonitoring(given)
  const options = { ...given, observers: monitoring?.observers ?? null }
  const folder = config.service.data_dir
  const stopSteps: StopSteps = []
  const stop = (): Promise<void> => stopAll(stopSteps, log)
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const lock = lockDataFolder(folder)
    stopSteps.push(() => lock.release())
    const opened = await openDatabase({ file: databaseFile(folder) })
    stopSteps.push(() => opened.close())
    const suppressions = createSuppressionCache(opened)
    const database = watchDatabase(options, opened, suppressions, stopSteps)
    const tls = await loadConfiguredTls(config, clock())
    const services = await openServices(options, database, suppressions, stopSteps)
    const listeners = await openListeners(options, database, tls, services, stopSteps)
    const metrics = await openMonitoring(monitoring, options, { database, services, listeners }, stopSteps)
    const onForeignChange = createChangeAcknowledger({ database, log, forget: listeners.onForeignChange })
    database.onForeignCommit(onForeignChange)
    // Changes made during the start are in effect already, and must be acknowledged.
    onForeignChange()
    const loadCertificate: Daemon['loadCertificate'] = async (settings) => {
      const loaded = await loadConfiguredTls({ ...config, tls: settings }, clock())
      listeners.useCertificate(loaded)
      return loaded
    }
    const { routes, browserRoutes } = listeners
    return { ...endpointsOf(listeners), routes, browserRoutes, metrics, tls, database, loadCertificate, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The database whose commits the rooms make. */
function watchDatabase(
  { clock, log, observers }: ObservedOptions,
  opened: Database,
  suppressions: SuppressionCache,
  stopSteps: StopSteps,
): Database {
  if (observers !== null) opened.onBatch(observers.onBatch)
  const watched = watchCommits(opened.commit, { clock, log, onOutage: observers?.onStorageOutage })
  stopSteps.push(watched.stop)
  return { ...opened, commit: suppressions.watch(watched.commit) }
}

function endpointsOf({ submission, mx, zone, api }: Listeners): Pick<Daemon, 'submission' | 'mx' | 'zone' | 'api'> {
  return { submission: submission.endpoints, mx: mx.endpoints, zone: zone.endpoints, api: api.endpoints }
}

function loadConfiguredTls({ service, tls }: Config, now: number): Promise<TlsFiles> {
  const configured =
    tls.cert_file === null || tls.key_file === null ? null : { certFile: tls.cert_file, keyFile: tls.key_file }
  return loadTlsFiles(configured, { folder: join(service.data_dir, 'tls'), hostname: service.hostname, now })
}
