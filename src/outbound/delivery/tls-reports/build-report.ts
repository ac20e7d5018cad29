/** Builds the report about one domain and day, as the JSON value of RFC 8460 section 4. Pure. */

import { DAY } from '../../../base/platform/time-units.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { startOfDay } from './report-day.js'
import type { StoredPolicy, StoredResult } from './result-records.js'

export interface ReportSubject {
  readonly day: string
  readonly domain: string
}

export interface Reporter {
  /** The domain of the From field, which is the submitter of reports. */
  readonly submitter: string
  readonly contact: string
}

export interface TlsReport {
  readonly 'organization-name': string
  readonly 'date-range': { readonly 'start-datetime': string; readonly 'end-datetime': string }
  readonly 'contact-info': string
  readonly 'report-id': string
  readonly policies: readonly PolicyReport[]
}

interface PolicyReport {
  readonly policy: {
    readonly 'policy-type': StoredPolicy['type']
    readonly 'policy-string'?: readonly string[]
    readonly 'policy-domain': string
    readonly 'mx-host'?: readonly string[]
  }
  readonly summary: {
    readonly 'total-successful-session-count': number
    readonly 'total-failure-session-count': number
  }
  readonly 'failure-details'?: readonly FailureDetails[]
}

interface FailureDetails {
  readonly 'result-type': string
  readonly 'sending-mta-ip'?: string
  readonly 'receiving-mx-hostname'?: string
  readonly 'receiving-ip'?: string
  readonly 'failed-session-count': number
  readonly 'failure-reason-code'?: string
}

/** Returns an id that is the same for every copy of the report, so that receivers recognize a copy that comes twice. */
export function reportIdOf({ day, domain }: ReportSubject, { submitter }: Reporter): string {
  return `${day}.${domain}@${submitter}`
}

/** Returns the period of a day. It ends with the last second of the day, as in the examples of the RFC. */
export function periodOf(day: string): { readonly begin: number; readonly end: number } {
  const begin = startOfDay(day)
  return { begin, end: begin + DAY - 1_000 }
}

export function buildReport(
  subject: ReportSubject,
  reporter: Reporter,
  policies: readonly StoredPolicy[],
  results: readonly StoredResult[],
): TlsReport {
  const { begin, end } = periodOf(subject.day)
  return {
    'organization-name': reporter.submitter,
    'date-range': { 'start-datetime': formatTime(begin), 'end-datetime': formatTime(end) },
    'contact-info': reporter.contact,
    'report-id': reportIdOf(subject, reporter),
    policies: policies.map((policy) => buildPolicy(policy, results)),
  }
}

function formatTime(at: number): string {
  return new Date(at).toISOString().replace('.000Z', 'Z')
}

function buildPolicy(stored: StoredPolicy, all: readonly StoredResult[]): PolicyReport {
  const results = all.filter(({ policy }) => policy === stored.policy)
  const failures = results.filter(({ result }) => result !== '')
  const [strings, hosts] = [parseJson(stored.strings), parseJson(stored.hosts)]
  return {
    policy: {
      'policy-type': stored.type,
      ...(strings.length === 0 ? {} : { 'policy-string': strings }),
      'policy-domain': stored.domain,
      ...(hosts.length === 0 ? {} : { 'mx-host': hosts }),
    },
    summary: {
      'total-successful-session-count': countSessions(results.filter(({ result }) => result === '')),
      'total-failure-session-count': countSessions(failures),
    },
    ...(failures.length === 0 ? {} : { 'failure-details': failures.map(describeFailure) }),
  }
}

function countSessions(results: readonly StoredResult[]): number {
  return results.reduce((sum, { sessions }) => sum + sessions, 0)
}

function describeFailure({
  result,
  sending_ip,
  mx_host,
  receiving_ip,
  sessions,
  detail,
}: StoredResult): FailureDetails {
  return {
    'result-type': result,
    ...(sending_ip === '' ? {} : { 'sending-mta-ip': sending_ip }),
    ...(mx_host === '' ? {} : { 'receiving-mx-hostname': mx_host }),
    ...(receiving_ip === '' ? {} : { 'receiving-ip': receiving_ip }),
    'failed-session-count': sessions,
    ...(detail === '' ? {} : { 'failure-reason-code': detail }),
  }
}
