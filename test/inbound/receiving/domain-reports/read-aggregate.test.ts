import t from 'tap'
import { parseJson } from '../../../../src/base/storage/tables/columns.js'
import { readAggregates } from '../../../../src/inbound/receiving/domain-reports/read-aggregate.js'
import type { ReportedDomain } from '../../../../src/inbound/receiving/domain-reports/reported-domain.js'
import {
  aggregateRecord,
  googleAggregate,
  microsoftAggregate,
  yahooAggregate,
} from '../../../helpers/receiving/domain-report-text.js'

/** The report of a file that has one. */
function readAggregate(document: string): ReportedDomain {
  const [report, ...others] = readAggregates(document)
  if (report === undefined || others.length > 0) throw new Error(`${others.length + 1} reports`)
  return report
}

const rowsOf = (document: string) => parseJson(readAggregate(document).rows)

t.test('the forms of large providers', async (t) => {
  t.match(readAggregate(googleAggregate()), {
    kind: 'dmarc_aggregate',
    domain: 'a.test',
    organization: 'google.com',
    reportId: '12985173428',
    policy: 'p=none; sp=none; np=none; adkim=r; aspf=r; pct=100',
    beginsAt: Date.parse('2026-11-22T00:00:00Z'),
    endsAt: Date.parse('2026-11-22T23:59:59Z'),
    messages: 16,
    passed: 12,
  })
  t.same(rowsOf(googleAggregate()), [
    {
      source_ip: '192.0.2.1',
      messages: 12,
      passed: true,
      disposition: 'none',
      dkim: 'pass',
      spf: 'pass',
      header_from: 'a.test',
      dkim_domain: 'a.test',
      dkim_result: 'pass',
      spf_domain: 'posthorn.a.test',
      spf_result: 'pass',
    },
    {
      source_ip: '198.51.100.7',
      messages: 4,
      passed: false,
      disposition: 'none',
      dkim: 'fail',
      spf: 'fail',
      header_from: 'a.test',
      dkim_domain: 'forger.test',
      dkim_result: 'fail',
      spf_domain: 'posthorn.forger.test',
      spf_result: 'fail',
    },
  ])
  t.match(readAggregate(microsoftAggregate), { organization: 'Enterprise Outlook', messages: 7, passed: 7 })
  t.match(rowsOf(microsoftAggregate), [
    { source_ip: '2001:db8::1', header_from: 'a.test', dkim_domain: 'a.test', spf_result: 'softfail' },
  ])
  t.match(readAggregate(yahooAggregate), {
    organization: 'Yahoo',
    reportId: '1795398000.123456',
    messages: 1,
    passed: 0,
  })
  t.match(rowsOf(yahooAggregate), [{ header_from: 'shop.a.test', dkim_domain: '', spf_domain: 'list.test' }])
})

t.test('rows with the same properties are one, and what exceeds the limit is summed up', async (t) => {
  const same = googleAggregate({ records: [aggregateRecord({ count: 3 }), aggregateRecord({ count: 4 })] })
  t.match(rowsOf(same), [{ messages: 7 }])
  const sources = Array.from({ length: 1_500 }, (_, at) => `10.0.${at >> 8}.${at & 255}`)
  const many = googleAggregate({
    records: sources.map((source, at) => aggregateRecord({ source, count: 2, result: at % 2 === 0 ? 'pass' : 'fail' })),
  })
  const report = readAggregate(many)
  t.match(report, { messages: 3_000, passed: 1_500 })
  const rows = parseJson(report.rows)
  t.ok(rows.length <= 1_002, `${rows.length} rows`)
  t.ok(report.rows.length < 300_000, `${report.rows.length} characters`)
  t.equal(rows.filter((row) => 'source_ip' in row && row.source_ip === '').length, 2, 'of what passed and what failed')
})

t.test('records without a count or an address are passed over, and other values become empty', async (t) => {
  const records = [
    aggregateRecord({}).replace('<count>12', '<count>-1'),
    aggregateRecord({}).replace('192.0.2.1', 'nowhere'),
    aggregateRecord({}).replace('<header_from>a.test', '<header_from>a b'),
    '<record/>',
  ]
  t.match(rowsOf(googleAggregate({ records })), [{ header_from: '', messages: 12 }])
})

t.test('a count is a claim: a row and a report have a largest one', async (t) => {
  const boast = (count: string, at = 0): string =>
    aggregateRecord({}).replace('<count>12', `<count>${count}`).replace('192.0.2.1', `192.0.2.${at}`)
  t.match(readAggregate(googleAggregate({ records: [boast('999999999999')] })), { messages: 100_000_000 })
  const same = [boast('99999999'), boast('99999999')]
  t.match(readAggregate(googleAggregate({ records: same })), { messages: 100_000_000 })
  const many = Array.from({ length: 11 }, (_, at) => boast('999999999999', at))
  const report = readAggregate(googleAggregate({ records: many }))
  t.match(report, { messages: 500_000_000, passed: 500_000_000 })
  const sum = parseJson(report.rows).reduce((sum, row) => sum + ('messages' in row ? row.messages : 0), 0)
  t.equal(sum, 500_000_000, 'and so do its rows')
  for (const count of ['-5', '1.5', '1e9', 'NaN', '0x10', '1'.repeat(400), '']) {
    t.match(readAggregate(googleAggregate({ records: [boast(count)] })), { messages: 0 }, count)
  }
})

t.test('what is no report is refused', async (t) => {
  const google = googleAggregate()
  const cases: readonly (readonly [string, RegExp])[] = [
    ['', /without the element feedback/],
    ['<html><body>hello</body></html>', /without the element feedback/],
    [google.replace('<domain>a.test', '<domain>'), /without the domain/],
    [google.replace(/<report_id>.*<\/report_id>/, ''), /without an id/],
    [google.replace('<begin>1795305600', '<begin>never'), /without its times/],
    [google.replace('<begin>1795305600', '<begin>1895305600'), /without its times/],
    [`<!DOCTYPE feedback [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>${google}`, /document type/],
    [`${'<a>'.repeat(13)}`, /more than 12 levels/],
    [`<feedback>${Array.from({ length: 200 }, (_, at) => `<x${at}/>`).join('')}</feedback>`, /more than 100 kinds/],
  ]
  for (const [document, message] of cases)
    t.throws(() => readAggregate(document), { name: 'UnreadableReport', message })
})

t.test('no entity expands but those of XML itself', async (t) => {
  const document = googleAggregate().replace('<org_name>google.com', '<org_name>a &amp; b &lol; &#65;')
  t.equal(readAggregate(document).organization, 'a & b &lol; A')
})

t.test('a text of a document without end is cut off', async (t) => {
  const document = googleAggregate().replace('google.com', 'x'.repeat(100_000))
  t.equal(readAggregate(document).organization.length, 255)
})

t.test('files that were joined are reports of their own', async (t) => {
  const both = `${googleAggregate({ id: '1' })}\r\n${googleAggregate({ domain: 'b.test', id: '2', records: [] })}`
  t.match(readAggregates(both), [
    { domain: 'a.test', reportId: '1', messages: 16 },
    { domain: 'b.test', reportId: '2', messages: 0 },
  ])
  const many = googleAggregate({ records: [] }).repeat(21)
  t.throws(() => readAggregates(many), { name: 'UnreadableReport', message: /more than 20 reports/ })
})
