/**
 * The concerns of the service: what the daily checks found, and what the same checks find now in numbers that are at hand.
 * The newer result replaces the stored one, so a fault that is repaired leaves the list at once.
 */
import type { ReadSettings } from '../../../base/config/live-config.js'
import type { Clock } from '../../../base/platform/clock.js'
import type { TlsFiles } from '../../../base/platform/tls-files.js'
import type { NodeState } from '../../../base/storage/db/node-state.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { Concern } from '../../../operations/concerns/concern.js'
import { judgeEventLoop } from '../../../operations/doctor/checks/daemon-checks.js'
import { judgeDisk } from '../../../operations/doctor/checks/host-checks.js'
import { judgeServedDays } from '../../../operations/doctor/checks/tls-checks.js'
import { judgeWebhooks } from '../../../operations/doctor/checks/work-checks.js'
import type { Finding } from '../../../operations/doctor/finding.js'
import { type OfNode, readAllFindings, readRunsOfAll } from '../../../operations/doctor/findings-store.js'
import { isLocalTrial } from '../../../operations/doctor/local-trial.js'
import { toLiveConcern, toRunConcerns } from './finding-concerns.js'
import type { Health } from './health-view.js'

interface ServiceConcernDeps {
  readonly read: Read
  readonly node: Pick<NodeState, 'name'>
  readonly settings: ReadSettings
  readonly clock: Clock
  /** The certificate that is served now. */
  readonly served: Pick<TlsFiles, 'cert'>
  readonly health: { readonly read: () => Promise<Health> }
}

interface ServiceConcerns {
  /** Whether the public DNS knows nothing of this server. */
  readonly isTrial: boolean
  readonly concerns: readonly Concern[]
  /** The last runs of all checks. */
  readonly run: Awaited<ReturnType<typeof readRunsOfAll>>
}

export class ServiceConcernReader {
  constructor(private readonly deps: ServiceConcernDeps) {}

  async read(): Promise<ServiceConcerns> {
    const { read, node, health } = this.deps
    const [state, run, stored] = [await health.read(), await readRunsOfAll(read), await readAllFindings(read)]
    const live = await this.judgeNow(state)
    const isTrial = isLocalTrial(this.deps.settings())
    const isOlder = ({ node, check, subject }: OfNode<Pick<Finding, 'check' | 'subject'>>): boolean =>
      node === this.deps.node.name && live.some((one) => one.check === check && one.subject === subject)
    const concerns = [
      ...listHealthConcerns(state),
      ...live.flatMap((finding) => toLiveConcern({ ...finding, node: node.name })),
      ...toRunConcerns(
        stored.filter((finding) => !isOlder(finding)),
        run.unanswered.filter((finding) => !isOlder(finding)),
      ),
      ...(run.at === 0 && !isTrial ? [neverChecked] : []),
    ]
    return { concerns, run, isTrial }
  }

  private async judgeNow({ storage, process, webhooks }: Health): Promise<readonly Finding[]> {
    const { read, settings, clock, served } = this.deps
    const config = settings()
    const { disk_free: free, disk_total: total } = storage
    const { delay_p50: p50, delay_p99: p99, delay_max: max, load } = process
    const backlog = { webhooks: webhooks.enabled, failing: webhooks.failing, behind: webhooks.behind }
    return [
      { check: 'disk', ...judgeDisk(config.service.data_dir, { free, total }) },
      {
        check: 'event-loop',
        ...judgeEventLoop({ event_loop_delay_ms: { p50, p99, max }, rates: { main_thread_load: load } }),
      },
      { check: 'webhooks', ...judgeWebhooks(backlog) },
      { check: 'tls', ...(await judgeServedDays({ read, config, clock }, served.cert)) },
    ]
  }
}

const neverChecked: Concern = {
  ...{ key: 'checks', severity: 'unanswered', title: 'The daily checks have not run yet' },
  text: 'They begin ten minutes after the start, unless they are switched off. You can also run them now.',
  link: { href: '/operator/health', label: 'Open Health' },
  remedy: ['posthorn doctor'],
}

/** Bytes. */
const LARGE_WAL = 500_000_000

/** What no check looks at. */
function listHealthConcerns({ storage, queue }: Health): readonly Concern[] {
  const concerns: Concern[] = []
  if (!storage.accepts_mail) {
    concerns.push({
      ...{ key: 'disk guard', severity: 'bad', title: 'The service accepts no new mail', link: null, remedy: [] },
      text: 'The disk of the data folder is nearly full. Make room, then the service accepts mail again.',
    })
  }
  if (queue.held > 0) {
    const entries = queue.held === 1 ? '1 entry' : `${queue.held.toLocaleString('en-US')} entries`
    concerns.push({
      ...{ key: 'held entries', severity: 'warn', title: `Mail is held in the queue: ${entries}`, remedy: [] },
      text: 'Held entries wait until you release them, or until their hold rule ends or their broadcast continues.',
      link: { href: '/operator/queue?tab=entries&status=held', label: 'Show them' },
    })
  }
  if (storage.wal > LARGE_WAL) {
    concerns.push({
      ...{ key: 'wal', severity: 'warn', title: 'The write-ahead log is large', link: null, remedy: [] },
      text: 'A long read, such as a backup by another program, keeps the log from being written back. Look for one.',
    })
  }
  return concerns
}
