/** Reports about domains: what they come in, DMARC and TLS. */
import { gzipSync } from 'node:zlib'
import { tryParseDomainName } from '../../../../src/base/mail/address.js'
import { parseIpAddress } from '../../../../src/base/platform/ip-address.js'
import { parseJson } from '../../../../src/base/storage/tables/columns.js'
import { readAggregates } from '../../../../src/inbound/receiving/domain-reports/read-aggregate.js'
import { readTlsReport } from '../../../../src/inbound/receiving/domain-reports/read-tls-report.js'
import { readDomainReport } from '../../../../src/inbound/receiving/domain-reports/report-digest.js'
import type { ReportedDomain } from '../../../../src/inbound/receiving/domain-reports/reported-domain.js'
import { unpack } from '../../../../src/inbound/receiving/domain-reports/unpack.js'
import { UnreadableReport } from '../../../../src/inbound/receiving/domain-reports/unreadable-report.js'
import {
  attachedReport,
  failureReport,
  googleAggregate,
  microsoftAggregate,
  reportMessage,
  tlsReport,
  yahooAggregate,
  zip,
} from '../../receiving/domain-report-text.js'
import { check, checkEqual, type FuzzTarget } from '../target.js'

const MAX_ROWS = 1_002
const MAX_UNPACKED = 1_048_576

function checkReported({
  kind,
  domain,
  reportId,
  organization,
  policy,
  beginsAt,
  endsAt,
  ...rest
}: ReportedDomain): void {
  check(domain !== '' && tryParseDomainName(domain) === domain, 'the domain is a name')
  check(reportId !== '' && reportId.length <= 255 && organization.length <= 255, 'labels are bounded')
  check(!/[\p{Cc}\p{Cs}]/u.test(`${reportId}${organization}${policy}`), 'labels are printable')
  check(beginsAt > 0 && beginsAt <= endsAt, 'times are in order')
  const { messages, passed, rows } = rest
  check(Number.isSafeInteger(messages) && passed >= 0 && passed <= messages, 'what passed is part of all')
  const list = parseJson(rows)
  check(list.length <= MAX_ROWS, 'rows are bounded')
  for (const row of list) {
    const { source_ip: source } = row
    check(source === '' || parseIpAddress(source)?.toString() === source, 'a source is an address')
  }
  // A TLS session has a row for each fault that it met.
  if (kind === 'tls') return
  const counts = list.map((row) => ('sessions' in row ? row.sessions : row.messages))
  checkEqual(
    counts.reduce((sum, count) => sum + count, 0),
    messages,
    'rows add up',
  )
}

const refuses = (error: unknown): boolean => error instanceof UnreadableReport

export const domainReportTargets: readonly FuzzTarget[] = [
  {
    name: 'dmarc-aggregates',
    checks: 'domains are names, sources addresses; rows add up and are bounded; printable',
    seeds: [googleAggregate(), microsoftAggregate, yahooAggregate],
    words: [
      '<record>',
      '</record>',
      '<row>',
      '<count>1</count>',
      '<source_ip>192.0.2.1</source_ip>',
      '<!DOCTYPE a>',
      '<![CDATA[',
      ']]>',
      '<!--',
      '-->',
      '&amp;',
      '&#0;',
      '&#x110000;',
      '<?xml',
      '<d:feedback>',
      '/>',
      '99999999999999',
    ],
    run: (input) => readAggregates(input.toString()).forEach(checkReported),
    refuses,
  },
  {
    name: 'tls-reports',
    checks: 'domains are names; sessions add up; printable',
    seeds: [tlsReport],
    words: [
      '"policies":[',
      '"policy-domain":"a.test"',
      '1e308',
      '-1',
      'null',
      '[[',
      '{}',
      '"failure-details"',
      '\\u0000',
    ],
    run: (input) => readTlsReport(input.toString()).forEach(checkReported),
    refuses,
  },
  {
    name: 'report-archives',
    checks: 'nothing larger than its limit is unpacked',
    seeds: [
      zip(Buffer.from(googleAggregate())),
      zip(Buffer.from('{}'), { stored: true, comment: 'x' }),
      gzipSync('<feedback/>'),
    ],
    words: ['PK\u0003\u0004', 'PK\u0001\u0002', 'PK\u0005\u0006', '\u001f\ufffd', '\u0000\u0000\u0000\u0000'],
    run: (input) => {
      const size = unpack(input, MAX_UNPACKED).reduce((sum, { length }) => sum + length, 0)
      check(size <= MAX_UNPACKED, 'the limit holds')
    },
    refuses,
  },
  {
    name: 'domain-reports',
    checks: 'never throws; the same message gives the same report; as the two above',
    seeds: [
      reportMessage(zip(Buffer.from(googleAggregate()))),
      attachedReport(gzipSync(tlsReport), 'application/tlsrpt+gzip'),
      attachedReport(Buffer.from(microsoftAggregate), 'text/xml'),
      failureReport(),
    ],
    words: ['--x', '--=_b', 'Content-Type: ', 'Feedback-Type: auth-failure', 'Source-IP: ', 'Incidents: 9', '\r\n\r\n'],
    run: (input) => {
      const digest = readDomainReport(input)
      checkEqual(readDomainReport(input), digest, 'the same message gives the same report')
      if (digest.kind === 'reported') digest.domains.forEach(checkReported)
    },
  },
]
