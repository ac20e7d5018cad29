/** Reports about domains: from the server that sends them, by the MX listener, to REST and the command line. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { rsaKey, signMessage } from '../helpers/mail/sign-message.js'
import { runProgram } from '../helpers/programs/run-program.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import {
  attachedReport,
  failureReport,
  googleAggregate,
  reportMessage,
  tlsReport,
  zip,
} from '../helpers/receiving/domain-report-text.js'
import { deliverInbound, idOfReply } from '../helpers/smtp/deliver-inbound.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const pair = rsaKey()

/** b.test signs and has DMARC, c.test has SPF alone, d.test proves nothing. */
const zone = {
  'b.test': { TXT: ['v=spf1 -all'] },
  's._domainkey.b.test': { TXT: [`v=DKIM1; ${pair.record}`] },
  '_dmarc.b.test': { TXT: ['v=DMARC1; p=reject'] },
  'c.test': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
} as const

const DMARC = 'dmarc@mail.service.test'

/** `known`: b.test has received mail of a.test. */
async function reader(t: Test, { known = false } = {}): Promise<{ app: TestDaemon; domainId: string }> {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { zone, level: 'info', routes: { 'b.test': sink } })
  if (known) {
    await app.waitUntilSettled(await app.submitAccepted({ to: ['bob@b.test'] }))
    await waitUntil('b.test is known', async () => (await app.rows('select 1 from mail_receivers')).length > 0)
  }
  const { data } = (await app.rest('GET', '/v1/domains')).json<{ data: { id: string; domain: string }[] }>()
  const domainId = data.find(({ domain }) => domain === 'a.test')?.id
  if (domainId === undefined) throw new Error('a.test is not registered')
  return { app, domainId }
}

const sign = (raw: string): string => signMessage(raw, pair, { domain: 'b.test' })

/** What the log says of the reports, in their order. */
function outcomes(app: TestDaemon): readonly unknown[] {
  return app.lines
    .filter((line) => line.includes('"a report about a domain was '))
    .map((line) => JSON.parse(line).why ?? 'filed')
}

async function report(
  t: Test,
  app: TestDaemon,
  raw: string,
  { from = 'reports@b.test', to = DMARC } = {},
): Promise<void> {
  const before = outcomes(app).length
  idOfReply(await deliverInbound(t, app, { from, to: [to], raw }))
  await waitUntil('the report was read', () => outcomes(app).length > before)
  t.same(await app.rows('select 1 from inbound_emails'), [])
  t.same(await app.rows('select 1 from inbound_raw'), [], 'nothing of the message stays')
}

t.test('a report that is proved is filed with its domain and shown', async (t) => {
  const { app, domainId } = await reader(t, { known: true })
  await report(t, app, sign(reportMessage(zip(Buffer.from(googleAggregate())))))
  await report(t, app, sign(attachedReport(gzipSync(tlsReport), 'application/tlsrpt+gzip')), {
    to: 'tlsrpt@mail.service.test',
  })
  await report(t, app, sign(failureReport()))
  const path = `/v1/domains/${domainId}/reports`
  const page = (await app.rest('GET', path)).json<{ data: { id: string; type: string }[] }>()
  t.match(page, {
    data: [
      { type: 'dmarc_failure', domain: 'a.test', reporter: 'b.test', messages: 1, passed: 0, failed: 1 },
      { type: 'tls', domain: 'a.test', organization: 'Google Inc.', policy: 'sts', passed: 90, failed: 10 },
      {
        type: 'dmarc_aggregate',
        reporter: 'b.test',
        known_reporter: true,
        organization: 'google.com',
        messages: 16,
        failed: 4,
      },
    ],
    has_more: false,
    next_cursor: null,
    summary: {
      dmarc: {
        ...{ reports: 1, messages: 16, passed: 12, failed: 4 },
        sources: [
          { source_ip: '192.0.2.1', messages: 12, passed: 12, failed: 0 },
          { source_ip: '198.51.100.7', messages: 4, passed: 0, failed: 4 },
        ],
        authenticated: [
          { domain: 'a.test', messages: 12, passed: 12, failed: 0 },
          { domain: null, messages: 4, passed: 0, failed: 4 },
        ],
        reporters: [{ reporter: 'b.test', known: true, reports: 1, messages: 16, passed: 12, failed: 4 }],
        uncounted: { reports: 0, messages: 0, passed: 0, failed: 0 },
      },
      tls: {
        ...{ reports: 1, sessions: 100, passed: 90, failed: 10 },
        failures: [
          { result: 'certificate-expired', sessions: 8 },
          { result: '', sessions: 2 },
        ],
        reporters: [{ reporter: 'b.test', known: true, reports: 1, sessions: 100, passed: 90, failed: 10 }],
        uncounted: { reports: 0, sessions: 0, passed: 0, failed: 0 },
      },
    },
  })
  const ids = page.data.map(({ id }) => id)
  t.match((await app.rest('GET', `${path}/${ids[2]}`)).json(), {
    type: 'dmarc_aggregate',
    from: '2026-11-22T00:00:00.000Z',
    rows: [{ source_ip: '192.0.2.1' }, { source_ip: '198.51.100.7', dkim_domain: 'forger.test' }],
  })
  t.match((await app.rest('GET', `${path}/${ids[1]}`)).json(), { rows: [{ result: 'success', sessions: 90 }, {}, {}] })
  t.equal((await app.rest('GET', `${path}/${domainId}`)).status, 404)

  const first = (await app.rest('GET', `${path}?limit=1`)).json<{ next_cursor: string }>()
  t.match(first, { data: [{ type: 'dmarc_failure' }], has_more: true })
  t.match((await app.rest('GET', `${path}?limit=1&cursor=${first.next_cursor}`)).json(), {
    data: [{ type: 'tls' }],
    summary: null,
  })
  t.match((await app.rest('GET', `${path}?type=tls`)).json(), {
    data: [{ type: 'tls' }],
    summary: { dmarc: { reports: 0 }, tls: { reports: 1 } },
  })
  t.match((await app.rest('GET', `${path}?from=2026-11-23T12:00:00Z`)).json(), { data: [] })
  t.match((await app.rest('GET', `${path}?to=2026-11-22T00:00:00Z`)).json(), { data: [{ type: 'dmarc_failure' }] })
  t.equal((await app.rest('GET', path, { key: app.otherKey })).status, 404, 'another workspace sees none of it')

  const shown = await app.cli('domain', 'reports', 'a.test', '--workspace', app.workspaceId)
  t.match(shown.out, /16 messages in 1 reports, 12 passed, 4 failed[\s\S]*198\.51\.100\.7 +0 +4/)
  const machine = await app.cli('domain', 'reports', 'a.test', '--json', '--workspace', app.workspaceId)
  t.match(machine.json(), { domain: 'a.test', summary: { dmarc: { failed: 4 } }, reports: page.data })
  t.match(outcomes(app), ['filed', 'filed', 'filed'])
  t.same(await app.rows(`select 1 from events where type = 'email.received'`), [], 'no inbound email of a workspace')
  t.same(app.errors, [])
})

t.test('reports of those who received no mail of the domain are shown, and not counted', async (t) => {
  const { app, domainId } = await reader(t, { known: true })
  const boast = Buffer.from(googleAggregate().replaceAll(/<count>\d+</g, '<count>999999999999<'))
  await report(t, app, reportMessage(zip(boast)).replace('noreply@b.test', 'noreply@c.test'), {
    from: 'reports@c.test',
  })
  const tls = attachedReport(gzipSync(tlsReport), 'application/tlsrpt+gzip')
  await report(t, app, tls.replaceAll('b.test', 'c.test'), { from: 'reports@c.test', to: 'tlsrpt@mail.service.test' })
  await report(t, app, sign(reportMessage(zip(Buffer.from(googleAggregate())))))
  t.match((await app.rest('GET', `/v1/domains/${domainId}/reports`)).json(), {
    data: [
      { reporter: 'b.test', known_reporter: true },
      { reporter: 'c.test', known_reporter: false, type: 'tls', messages: 100 },
      { reporter: 'c.test', known_reporter: false, messages: 200_000_000 },
    ],
    summary: {
      dmarc: {
        ...{ reports: 1, messages: 16, passed: 12, failed: 4 },
        reporters: [
          { reporter: 'c.test', known: false, reports: 1, messages: 200_000_000 },
          { reporter: 'b.test', known: true, reports: 1, messages: 16 },
        ],
        uncounted: { reports: 1, messages: 200_000_000, passed: 100_000_000, failed: 100_000_000 },
        sources: [{ messages: 12 }, { messages: 4 }],
      },
      tls: { reports: 0, sessions: 0, failures: [], uncounted: { reports: 1, sessions: 100, passed: 90, failed: 10 } },
    },
  })
  const shown = await app.cli('domain', 'reports', 'a.test', '--workspace', app.workspaceId)
  t.match(shown.out, /16 messages in 1 reports[\s\S]*not counted: 200000000 messages in 1 reports of others/)
  t.match(shown.out, /c\.test \(unknown\)/)
})

t.test('what is not proved, not ours, known or no report is discarded', async (t) => {
  const { app, domainId } = await reader(t)
  const google = reportMessage(zip(Buffer.from(googleAggregate())))
  await report(t, app, sign(google))
  await report(t, app, sign(google))
  await report(t, app, google.replace('noreply@b.test', 'noreply@d.test'), { from: 'reports@d.test' })
  const unknown = reportMessage(zip(Buffer.from(googleAggregate({ domain: 'nobody.test' }))))
  await report(t, app, sign(unknown))
  await report(t, app, sign(reportMessage(gzipSync(Buffer.alloc(40 * 1_048_576)))))
  await report(t, app, sign(`From: a@b.test\r\nSubject: hello\r\n\r\nWho are you?\r\n`))
  t.same(outcomes(app), ['filed', 'repeated', 'unauthenticated', 'unknown-domain', 'unreadable', 'unreadable'])
  // Another reporter may use the same id, and a subdomain belongs to its domain.
  await report(t, app, google.replace('noreply@b.test', 'noreply@c.test'), { from: 'reports@c.test' })
  await report(t, app, sign(reportMessage(zip(Buffer.from(googleAggregate({ domain: 'shop.a.test' }))))))
  const { data } = (await app.rest('GET', `/v1/domains/${domainId}/reports`)).json<{ data: { id: string }[] }>()
  t.match(data, [{ domain: 'shop.a.test' }, { reporter: 'c.test' }, { reporter: 'b.test' }])
  await report(t, app, sign(reportMessage(zip(Buffer.from(googleAggregate({ domain: 'mail.service.test' }))))))
  const own = await app.cli('domain', 'reports', 'mail.service.test')
  t.match(own.out, /not counted: 16 messages in 1 reports of others/, 'of the service itself')
  t.equal((await app.rest('DELETE', `/v1/domains/${domainId}`)).status, 200)
  t.equal((await app.rows('select 1 from domain_reports')).length, 1, 'the reports of a domain go with it')
  t.equal((await app.rows('select 1 from domain_report_rows')).length, 1)
  t.same(app.errors, [])
})

t.test('a domain is asked to send its reports to us', async (t) => {
  const { app, domainId } = await reader(t)
  t.match((await app.rest('GET', `/v1/domains/${domainId}`)).json(), {
    dmarc_record: { name: '_dmarc.a.test', value: `v=DMARC1; p=none; rua=mailto:${DMARC}` },
  })
  t.match((await app.cli('zone')).out, /^\*\._report\._dmarc\.mail\.service\.test\. \d+ IN TXT "v=DMARC1"$/m)
})

t.test('swaks delivers a report as a file', { skip: skipWithout('swaks') }, async (t) => {
  const { app, domainId } = await reader(t)
  const file = join(t.testdir(), 'report.eml')
  writeFileSync(file, sign(reportMessage(zip(Buffer.from(googleAggregate())))).slice(0, -2))
  const envelope = ['--from', 'reports@b.test', '--to', DMARC, '--ehlo', 'mx.b.test', '--data', `@${file}`]
  const port = String(app.daemon.mx[0]?.port)
  const said = await runProgram(['swaks', '--server', '127.0.0.1', '--port', port, ...envelope])
  t.equal(said.status, 0, said.stdout)
  const found = await waitUntil('the report is shown', async () => {
    const { data } = (await app.rest('GET', `/v1/domains/${domainId}/reports`)).json<{ data: { reporter: string }[] }>()
    return data[0]
  })
  t.match(found, { reporter: 'b.test' })
})
