import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { readDomainReport } from '../../../../src/inbound/receiving/domain-reports/report-digest.js'
import { MAX_UNPACKED, unpack } from '../../../../src/inbound/receiving/domain-reports/unpack.js'
import {
  attachedReport,
  failureReport,
  googleAggregate,
  microsoftAggregate,
  reportMessage,
  tlsReport,
  zip,
  zipFiles,
} from '../../../helpers/receiving/domain-report-text.js'
import { complaint } from '../../../helpers/receiving/report-text.js'

const google = Buffer.from(googleAggregate())
const digest = (message: string) => readDomainReport(Buffer.from(message, 'latin1'))

const sizeOf = (files: readonly Buffer[]): number => files.reduce((sum, { length }) => sum + length, 0)

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

t.test('what other programs unpack is unpacked', async (t) => {
  const aggregate = { kind: 'reported', domains: [{ kind: 'dmarc_aggregate', domain: 'a.test', messages: 16 }] }
  const packed = gzipSync(google)
  for (const behind of ['\r\n', '\0\0\0', ' ', 'x', '\x1f', '--\r\n'])
    t.match(digest(attachedReport(Buffer.concat([packed, Buffer.from(behind)]))), aggregate, JSON.stringify(behind))
  const members = [google.subarray(0, 700), google.subarray(700)].map((half) => gzipSync(half))
  t.match(digest(attachedReport(Buffer.concat([...members, Buffer.from('\r\n')]))), aggregate, 'two members')
  const named = Buffer.concat([
    Buffer.from('1f8b081e00000000000304004141424272656e0063000000', 'hex'),
    packed.subarray(10),
  ])
  t.match(digest(attachedReport(named)), aggregate, 'extra field, name, comment and checksum in the header')
  t.match(digest(attachedReport(gzipSync(packed))), aggregate, 'packed twice')
  t.match(digest(reportMessage(zip(packed, { name: 'report.xml.gz' }))), aggregate, 'gzip in an archive')
  t.match(digest(reportMessage(zip(google, { flags: 8 }))), aggregate, 'data descriptor')
  t.match(digest(reportMessage(Buffer.concat([zip(google), Buffer.from('\r\n')]))), aggregate, 'a line end behind it')
})

t.test('an archive may have several files', async (t) => {
  const other = Buffer.from(googleAggregate({ domain: 'b.test', id: '2' }))
  const folder = { content: Buffer.alloc(0), name: 'reports/', stored: true }
  const strange = { content: Buffer.from('\0\x05\x16\x07'), name: '__MACOSX/._a.xml' }
  const html = { content: Buffer.from('<html><body>What this is</body></html>'), name: 'readme.html' }
  const locked = { content: google, flags: 1 }
  const archive = zipFiles([folder, strange, html, locked, { content: google }, { content: other, flags: 8 }])
  t.match(digest(reportMessage(archive)), {
    domains: [
      { domain: 'a.test', messages: 16 },
      { domain: 'b.test', messages: 16 },
    ],
  })
})

t.test('types, names and encodings of parts decide nothing', async (t) => {
  const aggregate = { kind: 'reported', domains: [{ kind: 'dmarc_aggregate', domain: 'a.test', messages: 16 }] }
  for (const type of ['text/plain; name="report.txt"', 'application/xml', 'image/png', 'application/x-zip-compressed'])
    t.match(digest(attachedReport(gzipSync(google), type)), aggregate, type)
  t.match(digest(attachedReport(zip(google), 'application/gzip')), aggregate)
  const undeclared = reportMessage(gzipSync(google)).replace('Content-Transfer-Encoding: base64\r\n', '')
  t.match(digest(undeclared), aggregate, 'base64 that is not declared')
  const html = '--=_b\r\nContent-Type: text/html\r\n\r\n<html></html>\r\n'.repeat(4)
  t.match(digest(attachedReport(google, 'text/xml').replace('--=_b\r\n', `${html}--=_b\r\n`)), aggregate, 'behind HTML')
})

t.test('a report is read in its charset', async (t) => {
  const named = (name: string, declared: string): string =>
    googleAggregate()
      .replace('google.com', name)
      .replace(' encoding="UTF-8"', declared === '' ? '' : ` encoding="${declared}"`)
  const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1')
  const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le')
  const cases: readonly (readonly [what: string, bytes: Buffer, name: string])[] = [
    ['UTF-8 with a mark', Buffer.from(`\ufeff${named('Jörg', 'UTF-8')}`), 'Jörg'],
    ['UTF-16 with a mark', utf16(`\ufeff${named('Jörg', 'UTF-16')}`), 'Jörg'],
    ['UTF-16, the other order', utf16(`\ufeff${named('Jörg', 'utf-16')}`).swap16(), 'Jörg'],
    ['UTF-16 without a mark', utf16(named('Jörg', 'UTF-16LE')), 'Jörg'],
    ['the same in the other order', utf16(named('Jörg', '')).swap16(), 'Jörg'],
    ['UTF-16 declared, which it is not', Buffer.from(named('Jörg', 'utf-16')), 'Jörg'],
    ['ISO-8859-1', latin1(named('Jörg', 'ISO-8859-1')), 'Jörg'],
    ['ISO-8859-2', latin1(named('\xa3\xf3d\xbc', 'iso-8859-2')), 'Łódź'],
    ['windows-1252', latin1(named('\x84J\xf6rg\x93', 'Windows-1252')), '„Jörg“'],
    ['not declared, not UTF-8', latin1(named('Jörg', '')), 'Jörg'],
    ['declared as UTF-8, which it is not', latin1(named('Jörg', 'UTF-8')), 'Jörg'],
    ['an unknown charset', Buffer.from(named('Jörg', 'x-none')), 'Jörg'],
  ]
  for (const [what, bytes, organization] of cases) {
    t.match(digest(attachedReport(gzipSync(bytes))), { domains: [{ organization, domain: 'a.test' }] }, what)
    t.match(digest(attachedReport(bytes, 'text/xml')), { domains: [{ organization }] }, `${what}, not packed`)
  }
  const undeclared = latin1(named('\xa3\xf3d\xbc', ''))
  t.match(digest(attachedReport(undeclared, 'text/xml; charset=iso-8859-2')), { domains: [{ organization: 'Łódź' }] })
  t.match(digest(attachedReport(Buffer.concat([Buffer.from([0xff, 0xfe]), utf16(tlsReport)]))), {
    domains: [{ kind: 'tls', messages: 100 }],
  })
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
    [reportMessage(zip(Buffer.alloc(0), { name: 'reports/', stored: true })), /without a file/],
    [reportMessage(zipFiles(Array.from({ length: 101 }, () => ({ content: google })))), /more than 100 entries/],
    [reportMessage(zipFiles([{ content: Buffer.from('a') }, { content: Buffer.from('b') }])), /neither XML nor JSON/],
    [reportMessage(gzipSync(google).fill(0, gzipSync(google).length - 8)), /checksum does not fit/],
    [reportMessage(gzipSync(google).subarray(0, -3)), /cut off/],
    [reportMessage(Buffer.concat(Array.from({ length: 1_001 }, () => gzipSync('')))), /more than 1000 members/],
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
  t.equal(sizeOf(unpack(gzipSync(zeros.subarray(0, 2_097_152)))), 2_097_152)
  t.equal(sizeOf(unpack(gzipSync(Buffer.alloc(1_000)), 1_000)), 1_000)
  t.throws(() => unpack(gzipSync(Buffer.alloc(1_001)), 1_000), { name: 'UnreadableReport' })
  t.throws(() => unpack(Buffer.alloc(1_001), 1_000), { name: 'UnreadableReport' })
  const half = zeros.subarray(0, 600)
  for (const two of [Buffer.concat([gzipSync(half), gzipSync(half)]), zipFiles([{ content: half }, { content: half }])])
    t.throws(() => unpack(two, 1_000), { message: /more than 1000 octets/ }, 'all parts together')
  t.match(digest(reportMessage(gzipSync(gzipSync(zeros)))), tooLarge, 'packed twice')
  t.ok(MAX_UNPACKED >= 32 * 1_048_576)
})

t.test('very many records are one row where they are alike', async (t) => {
  const record = '<record><row><source_ip>192.0.2.1</source_ip><count>1</count></row></record>'
  const document = google.toString().replace('</feedback>', `${record.repeat(20_000)}</feedback>`)
  t.match(digest(reportMessage(gzipSync(document))), { domains: [{ messages: 20_016 }] })
})

t.test('a failure report that does not name the domain is about that of the author', async (t) => {
  const report = failureReport().replace('Reported-Domain: a.test\r\n', '')
  t.match(digest(report.replace('Boss <boss@a.test>', '"ceo@b.test" (x@c.test) <boss@a.test>')), {
    domains: [{ kind: 'dmarc_failure', domain: 'a.test' }],
  })
})
