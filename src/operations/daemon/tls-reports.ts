/** Wires TLS reports: the counter of sessions, which delivery calls, and the runner that sends the reports of each day. */

import { followSetting } from '../../base/config/follow-setting.js'
import type { ReadSettings, StartSettings } from '../../base/config/live-config.js'
import { domainOf } from '../../base/mail/address.js'
import { createAddressGuard } from '../../base/platform/address-guard.js'
import type { Clock } from '../../base/platform/clock.js'
import { defaultResolverSettings, openResolver } from '../../base/platform/dns/resolver.js'
import type { Log } from '../../base/platform/log.js'
import { version } from '../../base/platform/version.js'
import type { Database } from '../../base/storage/db/database.js'
import type { Delivery } from '../../outbound/delivery/delivery.js'
import type { TlsSessionResult } from '../../outbound/delivery/hosts/tls-result.js'
import { MailboxLimit } from '../../outbound/delivery/tls-reports/mailbox-limit.js'
import { createReportPost } from '../../outbound/delivery/tls-reports/post-report.js'
import { TlsReportRunner } from '../../outbound/delivery/tls-reports/report-runner.js'
import { TlsResultCounter } from '../../outbound/delivery/tls-reports/result-counter.js'
import type { Observers } from '../monitoring/monitoring.js'
import type { Edges } from './edges.js'

interface TlsReportDeps {
  readonly config: StartSettings
  readonly settings: ReadSettings
  readonly clock: Clock
  readonly log: Log
  readonly database: Database
  readonly edges: Edges
  readonly observers: Observers | null
}

interface TlsReports {
  readonly onTlsResult: (result: TlsSessionResult) => void
  /** Begins to send reports; `stop` resolves when no step is under way. */
  readonly startSending: (delivery: Pick<Delivery, 'runner'>) => { readonly stop: () => Promise<void> }
  /** Stores what was counted. Call it after delivery has stopped. */
  readonly stop: () => Promise<void>
}

export function wireTlsReports(deps: TlsReportDeps): TlsReports {
  const { settings, log, database } = deps
  const { read, commit } = database
  const counter = new TlsResultCounter({ read, commit })
  const stopped = new AbortController()
  return {
    onTlsResult: (result) => {
      if (settings().outbound.tls_reports) counter.count(result)
    },
    startSending: (delivery) => {
      const runner = createRunner(deps, { counter, delivery }, stopped.signal)
      runner.start()
      return {
        // A receiver that does not answer must not delay the end of delivery.
        stop: async () => {
          const stopping = runner.stop()
          stopped.abort()
          await stopping
        },
      }
    },
    stop: async () => {
      await counter.flush().catch((err: unknown) => log.error({ err }, 'TLS reports cannot be worked on now'))
    },
  }
}

interface RunnerParts {
  readonly counter: TlsResultCounter
  readonly delivery: Pick<Delivery, 'runner'>
}

function createRunner(
  { config, settings, clock, log, database: { read, commit }, edges, observers }: TlsReportDeps,
  { counter, delivery }: RunnerParts,
  signal: AbortSignal,
): TlsReportRunner {
  const { hostname, mail_from: mailFrom, zone } = config.service
  const asking = { ...defaultResolverSettings, servers: config.dns.servers, cacheSize: 0 }
  const resolver = edges.resolver ?? openResolver(asking, clock, signal)
  const guard = followSetting(() => settings().outbound.allowed_private_networks, createAddressGuard)
  return new TlsReportRunner({
    ...{ read, commit, clock, log, counter, resolver, hostname, mailFrom },
    reporter: { submitter: domainOf(mailFrom), contact: `postmaster@${zone}` },
    isEnabled: () => settings().outbound.tls_reports,
    post: createReportPost({
      authorities: edges.authorities,
      userAgent: `Posthorn/${version}`,
      signal,
      mayConnect: (address) => guard()(address),
      resolveAddresses: (name) => resolver.resolveAddresses(name),
    }),
    mailboxes: new MailboxLimit(),
    offer: (enqueued) => delivery.runner.offer(enqueued),
    onReport: observers?.onTlsReport,
  })
}
