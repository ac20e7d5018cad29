/**
 * Reads a DMARC failure report (RFC 6591, RFC 7489 section 7.3): which server sent a message in the domain's name that
 * failed, and why. Nothing of the message itself is kept, neither its addresses nor its subject nor its text.
 *
 * Pure; the limits are those of `report-parts`.
 */

import { domainOf } from '../../../base/mail/address.js'
import type { DmarcRow } from '../../../base/storage/tables/domain-report-tables.js'
import type { ReportedHeader } from '../reports/report.js'
import { authorOf, findAddresses } from '../reports/report-addresses.js'
import { firstValueOf, parseFieldGroups, parseHeader } from '../reports/report-fields.js'
import type { ParsedReport } from '../reports/report-parts.js'
import { ReportRows } from './report-rows.js'
import { toAddressText, toDomainText, toLabel, toTime, toWord } from './report-values.js'
import type { ReportedDomain } from './reported-domain.js'

const MAX_INCIDENTS = 1_000_000
/** Characters of Authentication-Results that are read. */
const MAX_RESULTS = 2_000

/** Null if the message is no such report. */
export function readFailureReport({ header, parts }: ParsedReport): ReportedDomain | null {
  const part = parts.find(({ type }) => type === 'message/feedback-report')
  const fields = part === undefined ? [] : parseFieldGroups(part.text).flat()
  const value = (name: string): string => firstValueOf(fields, name) ?? ''
  if (toWord(value('feedback-type')) !== 'auth-failure') return null
  const reported = parseHeader(parts.find(({ type }) => /^(message|text)\/rfc822/.test(type))?.text ?? '')
  const domain = toDomainText(value('reported-domain')) || domainOfAuthor(reported)
  const at = toTime(
    Date.parse(value('arrival-date').slice(0, 100)) || Date.parse(firstValueOf(header, 'date') ?? '') || null,
  )
  const reportId = toLabel(firstValueOf(header, 'message-id') ?? '')
  if (domain === '' || at === null || reportId === '') return null
  const rows = new ReportRows<DmarcRow>(
    () => buildRow(fields, domain),
    (row, messages) => ({ ...row, messages }),
  )
  rows.add(buildRow(fields, domain), readIncidents(value('incidents')))
  return {
    kind: 'dmarc_failure',
    domain,
    organization: toLabel(value('user-agent')),
    reportId,
    policy: '',
    beginsAt: at,
    endsAt: at,
    ...rows.sum(),
    rows: rows.encode(),
  }
}

function buildRow(fields: ReportedHeader, domain: string): DmarcRow {
  const value = (name: string): string => firstValueOf(fields, name) ?? ''
  const failed = value('identity-alignment').toLowerCase().slice(0, 100)
  const results = readResults(value('authentication-results'))
  return {
    source_ip: toAddressText(value('source-ip').replace(/^IPv6:/i, '')),
    messages: 0,
    passed: false,
    disposition: toWord(value('delivery-result')),
    dkim: failed.includes('dkim') ? 'fail' : '',
    spf: failed.includes('spf') ? 'fail' : '',
    header_from: domain,
    dkim_domain: toDomainText(value('dkim-domain')),
    dkim_result: results.get('dkim') ?? '',
    spf_domain: domainOfSender(value('original-mail-from')),
    spf_result: results.get('spf') ?? '',
  }
}

/** The first result of each method (RFC 8601). */
function readResults(text: string): ReadonlyMap<string, string> {
  const results = new Map<string, string>()
  for (const [, method = '', result = ''] of text.slice(0, MAX_RESULTS).matchAll(/\b(dkim|spf)=([a-z]{1,20})/gi)) {
    const name = method.toLowerCase()
    if (!results.has(name)) results.set(name, result.toLowerCase())
  }
  return results
}

function readIncidents(text: string): number {
  const count = /^\d{1,9}$/.test(text.trim()) ? Number(text) : 1
  return Math.min(Math.max(count, 1), MAX_INCIDENTS)
}

function domainOfAuthor(header: ReportedHeader): string {
  const author = authorOf(header)
  return author === null ? '' : domainOf(author)
}

function domainOfSender(path: string): string {
  const [address] = findAddresses(path, 1)
  return address === undefined ? '' : domainOf(address)
}
