/**
 * Starts the daemon: builds everything once, and stops it in reverse order.
 *
 * Stopping closes all listeners first, at the same time, so that nothing new is acknowledged; then attempts finish
 * or are released; then the database closes. Everything acknowledged is already on disk.
 */
import type { Config } from '../../base/config/complete.js'
import { LiveConfig, type ReloadedSettings } from '../../base/config/live-config.js'
import type { ListenAddress } from '../../base/config/network-values.js'
import { RoomLogs } from '../../base/platform/room-logs.js'
import type { TlsFiles } from '../../base/platform/tls-files.js'
import { ChangeFollower } from '../../base/storage/db/change-acknowledgement.js'
import type { Database } from '../../base/storage/db/database.js'
import type { ApiEndpoint } from '../../servers/api/http/server/listener.js'
import type { DnsEndpoint } from '../../servers/dns/tcp-listener.js'
import type { BoundEndpoint } from '../../servers/smtp/server/server-sockets.js'
import type { CertificateView } from '../certificates/certificate-list.js'
import { Certificates, type PairSettings } from '../certificates/certificates.js'
import type { MetricsEndpoint } from '../monitoring/metrics-listener.js'
import { readinessProbe } from '../upkeep/storage-watch.js'
import { startCertificates } from './certificates.js'
import { type DaemonOptions, type StartOptions, type StopSteps, stopAll } from './daemon-options.js'
import { readFolderId } from './folder-id.js'
import { type Listeners, openListeners } from './listeners.js'
import { buildMonitoring, openMonitoring } from './monitoring.js'
import { NodeWork } from './node-work.js'
import { openStorage } from './open-storage.js'
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
    const holder = await readFolderId(options.config.service.data_dir)
    const { tls } = started.config
    const certificates = await Certificates.open({ config: options.config, store: database, holder, clock, log }, tls)
    const services = await openServices(options, database, suppressions, stopSteps)
    if (options.loadsAhead === true) await services.receiving.loadAhead()
    const listeners = await openListeners(options, database, certificates, services, { stopSteps, lateSteps })
    const { delivery } = services
    followNode(services, database, logs.of('storage'), stopSteps)
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
      ...createReload(options, live, { database, services, listeners, certificates }),
      listCertificates: () => certificates.list(),
      probeWriter: () => opened.commit([readinessProbe(clock())], { isProbe: true }).catch(() => undefined),
      describeLoad: () => describeLoad(listeners, services),
    }
  } catch (error) {
    await stop()
    throw error
  }
}

function followNode(
  { delivery, receiving }: Services,
  { node }: Database,
  log: ConstructorParameters<typeof NodeWork>[0]['log'],
  stopSteps: StopSteps,
): void {
  const work = new NodeWork({ node, delivery, receiving, log })
  work.start()
  stopSteps.push(() => work.stop())
}

/** Puts what other processes have changed in force, until the listeners and the services have stopped. */
async function followChanges(
  deps: Pick<ConstructorParameters<typeof ChangeFollower>[0], 'log'> & { readonly database: Database },
  listeners: Listeners,
  certificates: Certificates,
  lateSteps: StopSteps,
): Promise<void> {
  const putInForce: Listeners['onForeignChange'] = async (changed) => {
    await listeners.onForeignChange(changed)
    await certificates.madeElsewhere(changed)
  }
  const changes = new ChangeFollower({ ...deps, putInForce })
  lateSteps.push(() => changes.stop())
  deps.database.onForeignCommit(() => changes.follow())
  // Changes made during the start are in effect already, and must be acknowledged.
  await changes.follow()
}

interface Parts {
  readonly database: Database
  readonly services: Services
  readonly listeners: Listeners
  readonly certificates: Certificates
}

function createReload(
  options: StartOptions,
  live: LiveConfig,
  { database, services, listeners, certificates }: Parts,
): Pick<Daemon, 'loadCertificate' | 'reload'> {
  const loadCertificate: Daemon['loadCertificate'] = async (tls) => {
    const loaded = await certificates.loadDefault(tls)
    listeners.useCertificate(loaded)
    return loaded
  }
  return {
    loadCertificate,
    reload: async (next) => {
      // What is put in force below reads it, and must not end half-way.
      await database.read('select 1 as one', [])
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
