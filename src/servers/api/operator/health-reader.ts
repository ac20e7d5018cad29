/** Reads how the service is: process, storage, certificate, queue, webhooks, listeners and nodes, each as it is now. */
import { X509Certificate } from 'node:crypto'
import type { StartSettings } from '../../../base/config/live-config.js'
import { type Clock, formatTimestamp } from '../../../base/platform/clock.js'
import { readDiskSpace } from '../../../base/platform/disk-space.js'
import type { ProcessMeter } from '../../../base/platform/processes/process-meter.js'
import { certificateExpiry, type TlsFiles } from '../../../base/platform/tls-files.js'
import { version } from '../../../base/platform/version.js'
import type { Database } from '../../../base/storage/db/database.js'
import { readNodes } from '../../../base/storage/postgres/node-rows.js'
import { showNodes } from '../../../base/storage/postgres/node-view.js'
import type { QueueCensus } from '../../../records/messages/queue/queue-census.js'
import { readWebhookBacklog } from '../../../workspaces/webhooks/webhook-backlog.js'
import type { ApiEndpoint } from '../http/server/listener.js'
import type { Health } from './health-view.js'

interface HealthDeps {
  readonly config: StartSettings
  readonly clock: Clock
  readonly database: Database
  readonly meter: ProcessMeter
  readonly readCensus: () => Promise<QueueCensus>
  /** The certificate that is served now. */
  readonly served: Pick<TlsFiles, 'cert'>
  readonly hasDiskSpace: () => boolean
  readonly listeners: Bound
}

export class HealthReader {
  constructor(private readonly deps: HealthDeps) {}

  async read(): Promise<Health> {
    const { meter, readCensus, database, clock, served, listeners } = this.deps
    const { name } = database.node
    const [process, queue, storage, { webhooks, failing, behind }, nodes] = await Promise.all([
      meter.read(),
      readCensus(),
      readStorage(this.deps),
      readWebhookBacklog(database.read),
      name === '' ? [] : readNodes(database.read),
    ])
    return {
      ...describeProcess(process, clock()),
      storage,
      certificate: describeCertificate(served),
      queue: {
        complete: queue.complete,
        total: queue.all.total,
        held: queue.all.states.held,
        oldest_at: queue.all.total === 0 ? null : formatTimestamp(queue.all.oldestAt),
      },
      webhooks: { enabled: webhooks, failing, behind },
      listeners: listEndpoints(listeners),
      answered_by: name === '' ? null : name,
      nodes: [...showNodes(nodes, queue.nodes)],
    }
  }
}

type ProcessState = Awaited<ReturnType<ProcessMeter['read']>>

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

async function readStorage({ config, database, hasDiskSpace }: HealthDeps): Promise<Health['storage']> {
  const { free, total } = await readDiskSpace(config.service.data_dir)
  const { free: freeInDatabase, ...sizes } = await database.measure()
  return {
    ...sizes,
    free_in_database: freeInDatabase,
    disk_free: free,
    disk_total: total,
    accepts_mail: hasDiskSpace(),
    commits: database.countCommits(),
  }
}

function describeCertificate({ cert }: Pick<TlsFiles, 'cert'>): Health['certificate'] {
  const { issuer, subject } = new X509Certificate(cert)
  return { expires_at: certificateExpiry({ cert }), self_signed: issuer === subject }
}

export interface Bound {
  readonly submission: { readonly endpoints: readonly { host: string; port: number }[] }
  readonly mx: Bound['submission']
  readonly zone: Bound['submission']
  readonly api: { readonly endpoints: readonly ApiEndpoint[] }
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
