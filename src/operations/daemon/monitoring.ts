/** Wires the metrics: the observers that the rooms get, what is read at each scrape, and the listener. */

import { version } from '../../base/platform/version.js'
import type { Database } from '../../base/storage/db/database.js'
import { readNodes } from '../../base/storage/postgres/node-rows.js'
import { readStandbyStatus, standbyLag } from '../../base/storage/standby/standby-status.js'
import { listRunningBroadcasts } from '../../outbound/broadcasts/active-broadcasts.js'
import type { WatchedCertificate } from '../certificates/expiry-watch.js'
import { allChecks } from '../doctor/checks/all-checks.js'
import { readFindings, readLastRun } from '../doctor/findings-store.js'
import { reportBreaker } from '../monitoring/breaker-metrics.js'
import { type MetricsEndpoint, startMetricsListener } from '../monitoring/metrics-listener.js'
import { createMonitoring, type Monitoring } from '../monitoring/monitoring.js'
import { reportNodes } from '../monitoring/node-metrics.js'
import { reportProcess } from '../monitoring/process-metrics.js'
import { reportQueue } from '../monitoring/queue-metrics.js'
import { reportService } from '../monitoring/service-metrics.js'
import { reportOpenSessions } from '../monitoring/session-metrics.js'
import { reportStorage } from '../monitoring/storage-metrics.js'
import { reportStsPolicies } from '../monitoring/tls-metrics.js'
import { reportUpkeep } from '../monitoring/upkeep-metrics.js'
import { type DaemonOptions, defaultStopTimeouts, type StartOptions, type StopSteps } from './daemon-options.js'
import type { Listeners } from './listeners.js'
import type { Services } from './services.js'

/** Null if no listener for metrics is configured, and nothing is measured. */
export function buildMonitoring({ config, clock, log }: DaemonOptions): Monitoring | null {
  if (config.metrics.listen.length === 0) return null
  return createMonitoring({ clock, onFault: (err) => log.error({ err }, 'some metrics cannot be read now') })
}

interface MonitoredParts {
  readonly database: Database
  readonly services: Services
  readonly listeners: Listeners
  readonly listCertificates: () => readonly WatchedCertificate[]
}

/** Opens the listener; returns where it listens. */
export async function openMonitoring(
  monitoring: Monitoring | null,
  options: StartOptions,
  { database, services, listeners, listCertificates }: MonitoredParts,
  stopSteps: StopSteps,
): Promise<readonly MetricsEndpoint[]> {
  if (monitoring === null) return []
  const { config, log, clock, stopTimeouts = defaultStopTimeouts } = options
  const { metrics, collect } = monitoring
  const { read } = database
  const { readCensus, memory, hasDiskSpace, certificateOf, countApiConnections } = listeners.watched
  const { data_dir: folder } = config.service
  reportQueue(metrics, { readCensus, now: clock })
  reportNodes(metrics, {
    countLiving: database.node.countLiving,
    listNodes: async () => (database.node.name === '' ? [] : readNodes(read)),
    readCensus,
  })
  reportOpenSessions(metrics, {
    submission: () => listeners.submission.connections(),
    mx: () => listeners.mx.connections(),
    rest: countApiConnections,
  })
  reportStorage(metrics, { database, folder, hasDiskSpace })
  reportService(metrics, {
    ...{ read, version, certificateOf },
    listBroadcasts: () => listRunningBroadcasts(read),
    countExports: () => services.exports.countUnderWay(),
    memory: { mx: memory.mx, submission: memory.submission, rest: memory.requests },
  })
  reportStsPolicies(metrics, () => services.delivery.stsPolicyCount)
  reportBreaker(metrics, read)
  reportUpkeep(metrics, { clock, listCertificates, ...readUpkeep(options, database) })
  stopSteps.push(reportProcess(metrics, busyTimesOf(database, services)).stop)
  const listener = await startMetricsListener(config.metrics.listen, { collect, log })
  stopSteps.push(() => listener.stop(stopTimeouts.listeners))
  return listener.endpoints
}

function readUpkeep(
  { config, settings, clock }: StartOptions,
  { read, node }: Database,
): Omit<Parameters<typeof reportUpkeep>[1], 'clock' | 'listCertificates'> {
  const { service, standby } = config
  return {
    doctor: {
      checks: allChecks.map(({ name }) => name),
      readRun: () => readLastRun(read, node.name),
      listFindings: () => readFindings(read, node.name),
    },
    standbyInterval: standby.interval,
    readStandbyLag: () => {
      if (standby.folder === '') return undefined
      const status = readStandbyStatus(service.data_dir)
      // A status of another folder is from before a change of the setting.
      return status?.folder === standby.folder ? standbyLag(status, clock()) : null
    },
    readBackupSettings: () => {
      const { backup_folder: folder, backup_max_age: maxAge } = settings().doctor
      return { folder, maxAge }
    },
  }
}

function busyTimesOf(
  database: Database,
  { signing, receiving, webhookThread }: Services,
): Parameters<typeof reportProcess>[1] {
  return {
    writer: database.readBusyTime,
    signing: () => signing.readBusyTime(),
    ...Object.fromEntries(receiving.busyTimes.map((readBusyTime, at) => [`inbound_${at + 1}`, readBusyTime])),
    webhooks: () => webhookThread.readBusyTime(),
  }
}
