import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { readDomainReport } from '../../../src/receiving/domain-reports/report-digest.js'
import { MAX_UNPACKED, unpack } from '../../../src/receiving/domain-reports/unpack.js'
import {
  attachedReport,
  failureReport,
  googleAggregate,
  microsoftAggregate,
  reportMessage,
  tlsReport,
  zip,
} from '../../helpers/receiving/domain-report-text.js'
import { complaint } from '../../helpers/receiving/report-text.js'

const google = Buffer.from(googleAggregate())
const digest = (message: string) => readDomainReport(Buffer.from(message, 'latin1'))

t.test('a report is found in each form of message', async (t) => {
  const aggregate = { kind: 'reported', domains: [{ kind: 'dmarc_aggregate', domain: 'a.test', messages: 16 }] }
  t.match(digest(reportMessage(zip(google))), aggregate, 'the message is an archive')
  t.match(digest(reportMessage(zip(google, { stored: true }))), aggregate, 'not compressed')
  t.match(digest(reportMessage(zip(google, { comment: 'made by a program' }))), aggregate, 'with a comment')
  t.match(digest(attachedReport(gzipSync(google))), aggregate, 'attached, beside HTML')
  t.match(digest(attachedReport(google, 'text/xml')), aggregate, 'plain')
  t.match(digest(attachedReport(Buffer.concat([Buffer.from('\ufeff\r\n'), google]))), aggregate, 'a byte order mark')
  t.match(digest(attachedReport(gzipSync(microsoftAggregate), 'application/octet-stream')), {
    domains: [{ messages: 7 }],
  })
  const tls = { kind: 'reported', domains: [{ kind: 'tls', domain: 'a.test', messages: 100 }] }
  t.match(digest(attachedReport(gzipSync(tlsReport), 'application/tlsrpt+gzip')), tls)
  t.match(digest(attachedReport(Buffer.from(tlsReport), 'application/tlsrpt+json')), tls)
})

t.test('a failure report keeps nothing of the message', async (t) => {
  const found = digest(failureReport())
  t.match(found, { kind: 'reported', domains: [{ kind: 'dmarc_failure', domain: 'a.test', messages: 1, passed: 0 }] })
  const text = JSON.stringify(found)
  t.match(text, /198\.51\.100\.7/)
  for (const word of ['private', 'victim', 'boss@']) t.notMatch(text, word)
})

t.test('what is no report says why', async (t) => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['', /no part that is a report/],
    [complaint('From: a@a.test\r\n\r\n'), /no part that is a report/],
    [reportMessage(gzipSync('neither')), /neither XML nor JSON/],
    [reportMessage(gzipSync(google).subarray(0, 100)), /cannot be unpacked/],
    [reportMessage(zip(google).subarray(0, 200)), /cut off/],
    [reportMessage(zip(google, { files: 2 })), /does not have one file/],
    [reportMessage(zip(google, { flags: 1 })), /encrypted/],
    [reportMessage(Buffer.from(`{"a":"${'x'.repeat(4_300_000)}"}`)), /JSON with more than 4194304/],
  ]
  for (const [message, why] of cases) t.match(digest(message), { kind: 'unreadable', why }, String(why))
})

t.test('bombs stop at the limit', async (t) => {
  const zeros = Buffer.alloc(64 * 1_048_576)
  const tooLarge = { kind: 'unreadable', why: /^it has more than \d+ octets when it is unpacked/ } as const
  t.match(digest(reportMessage(gzipSync(zeros))), tooLarge)
  t.match(digest(reportMessage(zip(zeros))), tooLarge)
  t.match(digest(reportMessage(zip(zeros, { claimed: 10 }))), tooLarge, 'the size is a claim')
  const noise = randomBytes(300_000)
  const large = gzipSync(Buffer.concat([noise, zeros]))
  t.match(digest(reportMessage(large)), { why: /more than 33554432 octets/ }, 'so it has if it is large itself')
  t.throws(() => unpack(gzipSync(zeros.subarray(0, 12 * 1_048_576))), { name: 'UnreadableReport' }, 'for its size')
  t.equal(unpack(gzipSync(zeros.subarray(0, 2_097_152))).length, 2_097_152)
  t.equal(unpack(gzipSync(Buffer.alloc(1_000)), 1_000).length, 1_000)
  t.throws(() => unpack(gzipSync(Buffer.alloc(1_001)), 1_000), { name: 'UnreadableReport' })
  t.throws(() => unpack(Buffer.alloc(1_001), 1_000), { name: 'UnreadableReport' })
  t.ok(MAX_UNPACKED >= 32 * 1_048_576)
})

t.test('very many records are one row where they are alike', async (t) => {
  const record = '<record><row><source_ip>192.0.2.1</source_ip><count>1</count></row></record>'
  const document = google.toString().replace('</feedback>', `${record.repeat(20_000)}</feedback>`)
  t.match(digest(reportMessage(gzipSync(document))), { domains: [{ messages: 20_016 }] })
})
