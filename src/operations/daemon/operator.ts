/** Wires what only the operator sees: counts and acts of the queue, the health of the service, the log. */
import { X509Certificate } from 'node:crypto'
import { stat } from 'node:fs/promises'
import type { Config } from '../../base/config/complete.js'
import { formatTimestamp } from '../../base/platform/clock.js'
import { readDiskSpace } from '../../base/platform/disk-space.js'
import { type ProcessMeter, startProcessMeter } from '../../base/platform/processes/process-meter.js'
import { certificateExpiry, type TlsFiles } from '../../base/platform/tls-files.js'
import { version } from '../../base/platform/version.js'
import { countFreePages, type Database, PAGE_BYTES } from '../../base/storage/db/database.js'
import { measureSpool, spoolFolder } from '../../base/storage/db/spool-files.js'
import { databaseFile } from '../../base/storage/open.js'
import { createQueueCensus } from '../../records/messages/queue/queue-census.js'
import { QueueWork } from '../../records/messages/queue/queue-work.js'
import type { DoctorRouteDeps } from '../../servers/api/operator/doctor.js'
import type { Health } from '../../servers/api/operator/health-view.js'
import type { QueueRouteDeps } from '../../servers/api/operator/queue.js'
import type { ServiceRouteDeps } from '../../servers/api/operator/service.js'
import { readWebhookBacklog } from '../../workspaces/webhooks/webhook-backlog.js'
import type { StartOptions } from './daemon-options.js'

interface OperatorDeps extends Pick<StartOptions, 'config' | 'clock' | 'logTail'>, DoctorRouteDeps {
  readonly database: Database
  /** The certificate that is served now. */
  readonly served: Pick<TlsFiles, 'cert'>
  readonly hasDiskSpace: () => boolean
  readonly onQueueChanged: () => void
  readonly listeners: Bound
}

export interface Operator
  extends Omit<QueueRouteDeps, 'read' | 'commit'>,
    Pick<ServiceRouteDeps, 'readHealth' | 'logTail'>,
    DoctorRouteDeps {
  /** What this process uses now. */
  readonly readProcess: ProcessMeter['read']
  readonly stop: () => Promise<void>
}

export function wireOperator(deps: OperatorDeps): Operator {
  const { database, clock, logTail, onQueueChanged } = deps
  const { read, commit } = database
  const meter = startProcessMeter()
  const readCensus = createQueueCensus({ read, clock })
  const queueWork = new QueueWork({ read, commit, clock, onQueueChanged })
  const readHealth = async (): Promise<Health> => {
    const [process, queue, storage, { webhooks, failing, behind }] = await Promise.all([
      meter.read(),
      readCensus(),
      readStorage(deps),
      readWebhookBacklog(read),
    ])
    return {
      ...describeProcess(process, clock()),
      storage,
      certificate: describeCertificate(deps.served),
      queue: {
        complete: queue.complete,
        total: queue.all.total,
        held: queue.all.states.held,
        oldest_at: queue.all.total === 0 ? null : formatTimestamp(queue.all.oldestAt),
      },
      webhooks: { enabled: webhooks, failing, behind },
      listeners: listEndpoints(deps.listeners),
    }
  }
  return {
    ...{ readCensus, queueWork, onQueueChanged, readHealth },
    readProcess: meter.read,
    runDoctor: deps.runDoctor,
    logTail: logTail ?? { read: () => [] },
    stop: async () => {
      meter.stop()
      await queueWork.close()
    },
  }
}

type ProcessState = Awaited<ReturnType<ReturnType<typeof startProcessMeter>['read']>>

function describeProcess(
  { uptime, rss, heapUsed, threads, delays: { p50, p99, max }, load }: ProcessState,
  now: number,
): Pick<Health, 'version' | 'node' | 'started_at' | 'process'> {
  const delays = { delay_p50: p50, delay_p99: p99, delay_max: max }
  return {
    version,
    node: process.version,
    started_at: formatTimestamp(now - Math.round(uptime * 1_000)),
    process: { rss, heap_used: heapUsed, threads, load, ...delays },
  }
}

async function readStorage({ config, database, hasDiskSpace }: OperatorDeps): Promise<Health['storage']> {
  const file = databaseFile(config.service.data_dir)
  const { free, total } = await readDiskSpace(config.service.data_dir)
  return {
    database: await sizeOf(file),
    wal: await sizeOf(`${file}-wal`),
    spool: await measureSpool(spoolFolder(file)),
    free_in_database: countFreePages(database.read) * PAGE_BYTES,
    disk_free: free,
    disk_total: total,
    accepts_mail: hasDiskSpace(),
    commits: database.countCommits(),
  }
}

/** 0: there is no such file. */
async function sizeOf(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  )
}

function describeCertificate({ cert }: Pick<TlsFiles, 'cert'>): Health['certificate'] {
  const { issuer, subject } = new X509Certificate(cert)
  return { expires_at: certificateExpiry({ cert }), self_signed: issuer === subject }
}

interface Bound {
  readonly submission: { readonly endpoints: readonly { host: string; port: number }[] }
  readonly mx: Bound['submission']
  readonly zone: Bound['submission']
  readonly api: { readonly endpoints: readonly Config['api']['listen'][number][] }
}

function listEndpoints({ submission, mx, zone, api }: Bound): Health['listeners'] {
  const show = (name: string, { endpoints }: Bound['submission']): Health['listeners'] =>
    endpoints.map(({ host, port }) => ({ name, address: `${host}:${port}` }))
  return [
    ...show('Submission', submission),
    ...show('MX', mx),
    ...api.endpoints.map((endpoint) => ({
      name: 'REST',
      address: endpoint.kind === 'unix' ? `unix:${endpoint.path}` : `${endpoint.host}:${endpoint.port}`,
    })),
    ...show('DNS', zone),
  ]
}
