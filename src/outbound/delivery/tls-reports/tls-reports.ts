/** Reports about TLS: the counter of sessions, which delivery calls, and the runner that sends the reports of each day. */
import type { ReadSettings, StartSettings } from '../../../base/config/live-config.js'
import { domainOf } from '../../../base/mail/address.js'
import { createAddressGuard } from '../../../base/platform/address-guard.js'
import {
  defaultResolverSettings,
  openResolver,
  type RecordResolver,
  type Resolver,
} from '../../../base/platform/dns/resolver.js'
import type { Log } from '../../../base/platform/log.js'
import { version } from '../../../base/platform/version.js'
import type { NodeState } from '../../../base/storage/db/node-state.js'
import type { TlsSessionResult } from '../hosts/tls-result.js'
import { MailboxLimit } from './mailbox-limit.js'
import { createReportPost } from './post-report.js'
import { TlsReportRunner } from './report-runner.js'
import { TlsResultCounter } from './result-counter.js'
import type { SendReportDeps } from './send-report.js'

interface TlsReportsDeps extends Pick<SendReportDeps, 'read' | 'commit' | 'clock' | 'onReport'> {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly log: Log
  readonly node: Pick<NodeState, 'name' | 'leads'>
  /** Null if the configured servers are asked. */
  readonly resolver: (Resolver & RecordResolver) | null
  /** PEM certificates that verify receivers. Undefined if the system's are used. */
  readonly authorities: string | undefined
}

export class TlsReports {
  private readonly stopped = new AbortController()
  private runner: TlsReportRunner | null = null

  private constructor(
    private readonly deps: TlsReportsDeps,
    private readonly counter: TlsResultCounter,
  ) {}

  static async open(deps: TlsReportsDeps): Promise<TlsReports> {
    return new TlsReports(deps, await TlsResultCounter.open(deps, deps.clock()))
  }

  onTlsResult(result: TlsSessionResult): void {
    if (this.deps.settings().outbound.tls_reports) this.counter.count(result)
  }

  /** Begins to send reports. */
  startSending(queue: { offer: SendReportDeps['offer'] }): void {
    const { config, settings, clock, authorities } = this.deps
    const { hostname, mail_from: mailFrom, zone } = config.service
    const { signal } = this.stopped
    const asking = { ...defaultResolverSettings, servers: config.dns.servers, cacheSize: 0 }
    const resolver = this.deps.resolver ?? openResolver(asking, clock, signal)
    this.runner = new TlsReportRunner({
      ...{ ...this.deps, counter: this.counter, resolver, hostname, mailFrom },
      reporter: { submitter: domainOf(mailFrom), contact: `postmaster@${zone}` },
      isEnabled: () => settings().outbound.tls_reports,
      post: createReportPost({
        ...{ authorities, signal, userAgent: `Posthorn/${version}` },
        mayConnect: (address) => createAddressGuard(settings().outbound.allowed_private_networks)(address),
        resolveAddresses: (name) => resolver.resolveAddresses(name),
      }),
      mailboxes: new MailboxLimit(),
      offer: (enqueued) => queue.offer(enqueued),
    })
    this.runner.start()
  }

  /** Resolves when no step is under way. A receiver that does not answer must not delay the end of delivery. */
  async stopSending(): Promise<void> {
    const stopping = this.runner?.stop()
    this.stopped.abort()
    await stopping
  }

  /** Stores what was counted. Call it after delivery has stopped. */
  async stop(): Promise<void> {
    await this.counter
      .flush()
      .catch((err: unknown) => this.deps.log.error({ err }, 'TLS reports cannot be worked on now'))
  }
}
