/** Which records ask for TLS reports, and where they want them. */
import t from 'tap'
import {
  parseReportingRecord,
  readReportingRequest,
} from '../../../../src/outbound/delivery/tls-reports/reporting-record.js'

const many = Array.from({ length: 7 }, (_, at) => `mailto:a${at}@b.test`).join(',')

for (const [record, mailboxes, urls] of [
  ['v=TLSRPTv1; rua=mailto:tls@b.test', ['tls@b.test'], []],
  ['v=TLSRPTv1;rua=mailto:tls@b.test;', ['tls@b.test'], []],
  ['v=TLSRPTv1; rua = mailto:tls@B.test , https://b.test/v1', ['tls@b.test'], ['https://b.test/v1']],
  ['v=TLSRPTv1; ext=1; rua=mailto:a%2Bb@b.test?subject=x', ['a+b@b.test'], []],
  ['v=TLSRPTv1; rua=mailto:tls@b.test,mailto:tls@b.test', ['tls@b.test'], []],
  ['v=TLSRPTv1; rua=ftp://b.test/,mailto:tls@b.test', ['tls@b.test'], []],
  [`v=TLSRPTv1; rua=${many}`, ['a0@b.test', 'a1@b.test', 'a2@b.test', 'a3@b.test', 'a4@b.test'], []],
] as const) {
  t.test(record, async (t) => t.same(parseReportingRecord(record), { mailboxes, urls }))
}

for (const record of [
  '',
  'v=TLSRPTv1',
  'v=TLSRPTv1;',
  'v=TLSRPTv1; rua=',
  'v=TLSRPTv1; rua=tls@b.test',
  'v=TLSRPTv1; rua=mailto:tls',
  'v=TLSRPTv1; rua=mailto:%0d%0aBcc:x@b.test',
  'v=TLSRPTv1; rua=mailto:%zz@b.test',
  'v=TLSRPTv1; rua=http://b.test/',
  'v=TLSRPTv1; rua=https://user:pass@b.test/',
  'v=TLSRPTv2; rua=mailto:tls@b.test',
  ' v=TLSRPTv1x; rua=mailto:tls@b.test',
  ' v=TLSRPTv1; rua=mailto:tls@b.test',
  `v=TLSRPTv1; rua=mailto:tls@b.test; x=${'x'.repeat(2_000)}`,
]) {
  t.test(`nothing: ${record.slice(0, 60)}`, async (t) => t.equal(parseReportingRecord(record), null))
}

t.test('exactly one record counts, beside those of others', async (t) => {
  const record = 'v=TLSRPTv1; rua=mailto:tls@b.test'
  const kindOf = (...records: readonly [string, ...string[]]): string =>
    readReportingRequest({ kind: 'records', records }).kind
  t.equal(kindOf(record), 'wanted')
  t.equal(kindOf('v=spf1 -all', record), 'wanted')
  t.equal(kindOf(record, record), 'unwanted')
  t.equal(kindOf('v=spf1 -all'), 'unwanted')
  t.equal(readReportingRequest({ kind: 'no-data' }).kind, 'unwanted')
  t.equal(readReportingRequest({ kind: 'no-domain' }).kind, 'unwanted')
  t.equal(readReportingRequest({ kind: 'failure', detail: 'SERVFAIL' }).kind, 'unknown')
})
