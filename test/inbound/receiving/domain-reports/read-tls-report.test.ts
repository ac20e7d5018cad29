import t from 'tap'
import { parseJson } from '../../../../src/base/storage/tables/columns.js'
import { readTlsReport } from '../../../../src/inbound/receiving/domain-reports/read-tls-report.js'
import { tlsReport } from '../../../helpers/receiving/domain-report-text.js'

t.test('the results of a policy', async (t) => {
  const [report, ...others] = readTlsReport(tlsReport)
  t.same(others, [])
  t.match(report, {
    kind: 'tls',
    domain: 'a.test',
    organization: 'Google Inc.',
    reportId: '2026-11-22T00:00:00Z_a.test',
    policy: 'sts',
    messages: 100,
    passed: 90,
  })
  const failed = { policy_type: 'sts', passed: false }
  t.same(report === undefined ? [] : parseJson(report.rows), [
    { policy_type: 'sts', result: 'success', sessions: 90, passed: true, source_ip: '', mx_host: '' },
    { ...failed, result: 'certificate-expired', sessions: 8, source_ip: '192.0.2.9', mx_host: 'mx.service.test' },
    { ...failed, result: '', sessions: 2, source_ip: '', mx_host: '' },
  ])
})

t.test('each domain has a report of its own', async (t) => {
  const report = JSON.parse(tlsReport)
  const [one] = report.policies
  const other = { ...one, policy: { ...one.policy, 'policy-domain': 'b.test', 'policy-type': 'tlsa' } }
  const found = readTlsReport(JSON.stringify({ ...report, policies: [one, other, null, 7, { policy: {} }] }))
  t.match(found, [
    { domain: 'a.test', policy: 'sts' },
    { domain: 'b.test', policy: 'tlsa' },
  ])
})

t.test('what is no report is refused', async (t) => {
  const report = JSON.parse(tlsReport)
  const cases: readonly (readonly [string, RegExp])[] = [
    ['{', /no JSON object/],
    ['[]', /no JSON object/],
    ['['.repeat(100_000), /no JSON object/],
    ['{}', /without an id/],
    [JSON.stringify({ ...report, 'date-range': {} }), /without its times/],
    [JSON.stringify({ ...report, 'date-range': { 'start-datetime': 7 } }), /without its times/],
    [JSON.stringify({ ...report, policies: {} }), /without the domain/],
  ]
  for (const [document, message] of cases)
    t.throws(() => readTlsReport(document), { name: 'UnreadableReport', message })
})

t.test('counts that are no numbers count nothing', async (t) => {
  const report = JSON.parse(tlsReport)
  report.policies[0].summary = { 'total-successful-session-count': '90', 'total-failure-session-count': -1 }
  report.policies[0]['failure-details'] = [{ 'failed-session-count': 1e300 }, { 'failed-session-count': 1.5 }]
  t.match(readTlsReport(JSON.stringify(report)), [{ messages: 100_000_000, passed: 0 }])
})

t.test('a report counts for a billion sessions at most, and what failed stays seen beside what passed', async (t) => {
  const report = JSON.parse(tlsReport)
  const claim = {
    ...report.policies[0],
    summary: { 'total-successful-session-count': 1e12, 'total-failure-session-count': 1e12 },
    'failure-details': [],
  }
  const [read] = readTlsReport(JSON.stringify({ ...report, policies: new Array(12).fill(claim) }))
  t.match(read, { messages: 1_000_000_000, passed: 500_000_000 })
  const failed = { ...claim, summary: { 'total-failure-session-count': 1e12 } }
  const [fault] = readTlsReport(JSON.stringify({ ...report, policies: new Array(12).fill(failed) }))
  t.match(fault, { messages: 500_000_000, passed: 0 })
})

t.test('the summary says how many sessions there were, the details under which faults', async (t) => {
  const report = JSON.parse(tlsReport)
  const [policy] = report.policies
  const withSummary = (summary: unknown) =>
    readTlsReport(JSON.stringify({ ...report, policies: [{ ...policy, summary }] }))
  const more = withSummary({ 'total-successful-session-count': 90, 'total-failure-session-count': 5 })
  t.match(more, [{ messages: 95, passed: 90 }], 'eight faults of five sessions')
  const [first] = more
  t.match(first === undefined ? [] : parseJson(first.rows), [{ result: 'success' }, { sessions: 8 }])
  t.match(withSummary({ 'total-successful-session-count': 90, 'total-failure-session-count': 0 }), [
    { messages: 90, passed: 90 },
  ])
  t.match(withSummary({ 'total-successful-session-count': 90 }), [{ messages: 98, passed: 90 }])
  t.match(withSummary(undefined), [{ messages: 8, passed: 0 }])
  const twice = readTlsReport(JSON.stringify({ ...report, policies: [policy, policy] }))
  t.match(twice, [{ messages: 200, passed: 180 }])
})
