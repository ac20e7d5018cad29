/** The state of the service at a scrape: build, certificate, webhooks, broadcasts, exports, memory of messages. */
import { certificateExpiry } from '../../base/platform/tls-files.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { readWebhookBacklog } from '../../workspaces/webhooks/webhook-backlog.js'
import type { Metrics } from './registry.js'

const memoryParts = ['mx', 'submission', 'rest'] as const
const broadcastStates = ['sending', 'paused', 'cancelled'] as const

interface ReportedService {
  readonly read: Read
  readonly version: string
  /** PEM of the certificate that is served now. */
  readonly certificateOf: () => string
  /** Statuses of the broadcasts that are under way. */
  readonly listBroadcasts: () => Promise<readonly { readonly status: string }[]>
  /** Exports that are written or wait for their turn. */
  readonly countExports: () => number
  readonly memory: Readonly<Record<(typeof memoryParts)[number], Memory>>
}

interface Memory {
  readonly usedBytes: () => number
  readonly countWaiting: () => number
}

export function reportService(metrics: Metrics, service: ReportedService): void {
  reportBuild(metrics, service)
  reportCertificate(metrics, service)
  reportWebhooks(metrics, service)
  reportWork(metrics, service)
  reportMemory(metrics, service)
}

function reportBuild(metrics: Metrics, { version }: ReportedService): void {
  const labels = { version: [version], node: [process.version] }
  metrics
    .gauge({ name: 'posthorn_build_info', help: '1; the labels name the versions of Posthorn and Node.js.', labels })
    .set([version, process.version], 1)
}

/** A certificate is parsed when it has changed, not at each scrape. */
function reportCertificate(metrics: Metrics, { certificateOf }: ReportedService): void {
  const gauge = metrics.gauge({
    name: 'posthorn_certificate_expiry_timestamp_seconds',
    help: 'When the certificate that is served now expires, as a Unix time.',
  })
  let known = ''
  metrics.onScrape(() => {
    const cert = certificateOf()
    if (cert === known) return
    known = cert
    gauge.set([], Date.parse(certificateExpiry({ cert })) / 1_000)
  })
}

function reportWebhooks(metrics: Metrics, { read }: ReportedService): void {
  const enabled = metrics.gauge({
    name: 'posthorn_webhooks_enabled',
    help: 'Enabled webhooks, at most 5,000 are counted.',
  })
  const failing = metrics.gauge({
    name: 'posthorn_webhooks_failing',
    help: 'Enabled webhooks whose last attempts failed.',
  })
  const backlog = metrics.gauge({
    name: 'posthorn_webhook_backlog_events',
    help: 'Events of the service that the slowest enabled webhook has not looked at yet.',
  })
  metrics.onScrape(async () => {
    const found = await readWebhookBacklog(read)
    enabled.set([], found.webhooks)
    failing.set([], found.failing)
    backlog.set([], found.behind)
  })
}

function reportWork(metrics: Metrics, { listBroadcasts, countExports }: ReportedService): void {
  const broadcasts = metrics.gauge({
    name: 'posthorn_broadcasts_under_way',
    help: 'Broadcasts that have begun and are not over, by status; cancelled: their messages are being removed.',
    labels: { status: broadcastStates },
  })
  const exports = metrics.gauge({
    name: 'posthorn_exports_under_way',
    help: 'Exports that are being written or wait for their turn.',
  })
  metrics.onScrape(async () => {
    const running = await listBroadcasts()
    for (const state of broadcastStates) {
      broadcasts.set([state], running.filter(({ status }) => status === state).length)
    }
    exports.set([], countExports())
  })
}

function reportMemory(metrics: Metrics, { memory }: ReportedService): void {
  const used = metrics.gauge({
    name: 'posthorn_message_memory_bytes',
    help: 'Bytes of messages that are being received or composed, without their copies.',
    labels: { listener: memoryParts },
  })
  const waiting = metrics.gauge({
    name: 'posthorn_message_memory_waiting',
    help: 'Large messages that wait for memory before they are received, over all listeners.',
  })
  metrics.onScrape(() => {
    for (const part of memoryParts) used.set([part], memory[part].usedBytes())
    waiting.set([], memory.mx.countWaiting())
  })
}
