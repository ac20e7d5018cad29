/** Observes mail from other servers: results of its authentication, verdicts about spam, reports about domains. */
import type { Authentication } from '../../base/mail/authentication-results.js'
import type { DomainReportKind } from '../../base/storage/tables/domain-report-tables.js'
import type { SpamStatus } from '../../base/storage/tables/inbound-tables.js'
import type { ReportOutcome } from '../../inbound/receiving/domain-reports/domain-report-filer.js'
import type { Metrics } from './registry.js'

export interface ReceivingObservers {
  readonly onAuthenticated: (results: Authentication) => void
  readonly onSpamVerdict: (status: SpamStatus) => void
  /** `known`: the tuple, or its network, had passed before. `passed`: it has waited long enough. */
  readonly onGreylisted: (outcome: GreylistOutcome) => void
  /** `kind` is null if the report was not read. */
  readonly onDomainReport: (kind: DomainReportKind | null, outcome: ReportOutcome) => void
}

type GreylistOutcome = 'known' | 'passed' | 'delayed'

const methods = ['spf', 'dkim', 'dmarc', 'arc', 'iprev'] as const
/** RFC 8601; not every method has every result. */
const results = ['pass', 'fail', 'softfail', 'neutral', 'none', 'policy', 'temperror', 'permerror']

const reportKinds = ['dmarc_aggregate', 'dmarc_failure', 'tls', 'unknown'] as const
const reportOutcomes = [
  'filed',
  'unauthenticated',
  'rate',
  'unreadable',
  'unknown-domain',
  'repeated',
] as const satisfies readonly ReportOutcome[]

export function createReceivingObservers(metrics: Metrics): ReceivingObservers {
  const authentication = metrics.counter({
    name: 'posthorn_authentication_results_total',
    help: 'Results of the authentication of inbound messages. Each DKIM signature counts; dkim none: an unsigned message.',
    labels: { method: methods, result: results },
  })
  const verdicts = metrics.counter({
    name: 'posthorn_spam_verdicts_total',
    help: 'Inbound messages by the status that their spam score gives them.',
    labels: { status: ['clean', 'suspicious', 'spam'] satisfies SpamStatus[] },
  })
  const greylisting = metrics.counter({
    name: 'posthorn_greylisting_total',
    help: 'Recipients of inbound messages that greylisting has judged, by outcome.',
    labels: { outcome: ['known', 'passed', 'delayed'] satisfies GreylistOutcome[] },
  })
  const domainReports = metrics.counter({
    name: 'posthorn_domain_reports_total',
    help: 'Reports about domains (DMARC, TLS) by what became of them; kind unknown: they were not read.',
    labels: { kind: reportKinds, outcome: reportOutcomes },
  })
  return {
    onAuthenticated: ({ spf, dkim, dmarc, arc, iprev }) => {
      authentication.add(['spf', spf.result])
      if (dkim.length === 0) authentication.add(['dkim', 'none'])
      for (const { result } of dkim) authentication.add(['dkim', result])
      authentication.add(['dmarc', dmarc.result])
      authentication.add(['arc', arc.result])
      authentication.add(['iprev', iprev.result])
    },
    onSpamVerdict: (status) => verdicts.add([status]),
    onGreylisted: (outcome) => greylisting.add([outcome]),
    onDomainReport: (kind, outcome) => domainReports.add([kind ?? 'unknown', outcome]),
  }
}
