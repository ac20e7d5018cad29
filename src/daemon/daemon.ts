/**
 * Starts the daemon: builds everything once, and stops it in reverse order.
 *
 * Stopping closes all listeners first, at the same time, so that nothing new is acknowledged; then attempts finish
 * or are released; then the database closes. Everything acknowledged is already on disk.
 */
import { mkdir } from 'node:fs/promises'
import type { ApiEndpoint } from '../api/http/server/listener.js'
import type { CertificateView } from '../certificates/certificate-list.js'
import type { ListenAddress } from '../config/network-values.js'
import type { Endpoint as DnsEndpoint } from '../dns/tcp-listener.js'
import type { TlsFiles } from '../platform/tls-files.js'
import type { BoundEndpoint } from '../smtp/server/server-sockets.js'
import { createChangeAcknowledger } from '../storage/change-acknowledgement.js'
import { lockDataFolder } from '../storage/data-lock.js'
import type { Database } from '../storage/database.js'
import { databaseFile, openDatabase } from '../storage/open.js'
import { createSuppressionCache } from '../suppressions/suppression-cache.js'
import type { ServedRoutes } from './api-listener.js'
import { openCertificates, type PairSettings, startCertificates } from './certificates.js'
import { type DaemonOptions, type StopSteps, stopAll } from './daemon-options.js'
import { type Listeners, openListeners } from './listeners.js'
import { openServices } from './services.js'
import { watchCommits } from './storage-watch.js'

export interface Daemon extends ServedRoutes {
  readonly submission: readonly BoundEndpoint[]
  /** Where other servers deliver mail. */
  readonly mx: readonly BoundEndpoint[]
  /** Where the service zone is served, over UDP and TCP. */
  readonly zone: readonly DnsEndpoint[]
  readonly api: readonly ApiEndpoint[]
  /** Where challenges of an ACME server are answered over plain HTTP. */
  readonly challenges: readonly ListenAddress[]
  readonly tls: TlsFiles
  readonly database: Database
  /**
   * Reads the certificate that these settings name and uses it from the next handshake on; open sessions keep
   * theirs. Rejects and changes nothing if certificate and key cannot be read or do not belong together.
   */
  readonly loadCertificate: (tls: PairSettings) => Promise<TlsFiles>
  /** Those from the ACME server; empty without one. */
  readonly listCertificates: () => readonly CertificateView[]
  readonly stop: () => Promise<void>
}

export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { config, clock, log } = options
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
    const watched = watchCommits(opened.commit, { clock, log })
    stopSteps.push(watched.stop)
    const database = { ...opened, commit: suppressions.watch(watched.commit) }
    const certificates = await openCertificates(options)
    const services = await openServices(options, database, suppressions, stopSteps)
    const listeners = await openListeners(options, database, certificates, services, stopSteps)
    const orders = await startCertificates({ ...options, database, services, certificates, listeners }, stopSteps)
    const forget = (): void => {
      listeners.onForeignChange()
      orders.wake()
    }
    const onForeignChange = createChangeAcknowledger({ database, log, forget })
    database.onForeignCommit(onForeignChange)
    // Changes made during the start are in effect already, and must be acknowledged.
    onForeignChange()
    const loadCertificate: Daemon['loadCertificate'] = async (settings) => {
      const loaded = await certificates.loadDefault(settings)
      listeners.useCertificate(loaded)
      return loaded
    }
    const { routes, browserRoutes } = listeners
    const bound = { ...endpointsOf(listeners), challenges: orders.endpoints, tls: certificates.tls }
    return { ...bound, routes, browserRoutes, database, loadCertificate, listCertificates: orders.list, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function endpointsOf({ submission, mx, zone, api }: Listeners): Pick<Daemon, 'submission' | 'mx' | 'zone' | 'api'> {
  return { submission: submission.endpoints, mx: mx.endpoints, zone: zone.endpoints, api: api.endpoints }
}
