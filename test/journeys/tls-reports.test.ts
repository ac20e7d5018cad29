/** The daemon reports to other domains about the TLS of its sessions with them, once a day. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { DAY } from '../../src/base/platform/time-units.js'
import type { TlsReport } from '../../src/outbound/delivery/tls-reports/build-report.js'
import { dateOf } from '../../src/outbound/delivery/tls-reports/report-day.js'
import { createSelfSigned } from '../helpers/certificates.js'
import { type TestDaemonOptions, testDaemon } from '../helpers/daemon/test-daemon.js'
import { type DnsRecord, dnsServer } from '../helpers/dns/dns-server.js'
import { freePort } from '../helpers/free-port.js'
import { runProgram } from '../helpers/programs/run-program.js'
import { openSink, type ScriptedSink, type SinkOptions } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const HOUR = 3_600_000
/** So that all sessions of a test are on one day: the clock of its daemon begins at noon, UTC. */
const NOON = (Math.floor(Date.now() / DAY) + 1.5) * DAY - Date.now()
/** From noon to when all reports of the day are due. */
const UNTIL_REPORTS = 17 * HOUR

interface World {
  /** Of `testDaemon`: names by a DNS server, MX hosts at one port, and the clock at noon. */
  readonly options: TestDaemonOptions
  /** By domain. */
  readonly sinks: Readonly<Record<string, ScriptedSink>>
}

/** Each domain has its MX host at a loopback address of its own; `texts`: TXT records by name. */
async function openWorld(
  t: Test,
  domains: Readonly<Record<string, SinkOptions>>,
  texts: Readonly<Record<string, readonly string[]>>,
  addresses: Readonly<Record<string, string>> = {},
): Promise<World> {
  const port = await freePort()
  const records = new Map<string, readonly DnsRecord[]>()
  const sinks: Record<string, ScriptedSink> = {}
  for (const [at, [domain, options]] of Object.entries(domains).entries()) {
    const address = `127.0.0.${at + 1}`
    const sink = await openSink({ ...options, port, address })
    t.teardown(() => sink.close())
    sinks[domain] = sink
    records.set(`MX ${domain}`, [{ type: 'MX', ttl: 60, preference: 10, value: `mx.${domain}` }])
    records.set(`A mx.${domain}`, [{ type: 'A', ttl: 60, value: address }])
  }
  for (const [name, strings] of Object.entries(texts)) {
    records.set(
      `TXT ${name}`,
      strings.map((text) => ({ type: 'TXT', ttl: 60, strings: [text] })),
    )
  }
  for (const [name, value] of Object.entries(addresses)) records.set(`A ${name}`, [{ type: 'A', ttl: 60, value }])
  const dns = await dnsServer((question) => records.get(question) ?? [])
  t.teardown(() => dns.close())
  const settings = { dns: { servers: [dns.address] }, outbound: { port } }
  return { sinks, options: { zone: 'dns.servers', settings, ahead: NOON } }
}

t.test('a day of sessions becomes one report, sent as mail', async (t) => {
  const certificate = await createSelfSigned(['mx.b.test'])
  const { sinks, options } = await openWorld(
    t,
    { 'b.test': { certificate }, 'c.test': {}, 'd.test': {}, 'e.test': {}, 'reports.test': {} },
    {
      '_smtp._tls.b.test': ['v=TLSRPTv1; rua=mailto:tls@reports.test'],
      '_smtp._tls.c.test': ['v=spf1 -all', 'v=TLSRPTv1;rua=mailto:tls%2Bc@reports.test'],
      '_smtp._tls.e.test': ['v=TLSRPTv1; rua=mailto:tls@reports.test'],
      '_smtp._tls.reports.test': ['v=TLSRPTv1; rua=mailto:tls@reports.test'],
    },
  )
  const receiver = requireSink(sinks, 'reports.test')
  const app = await testDaemon(t, options)
  const day = dateOf(app.now())
  const sent = await Promise.all(
    ['bob@b.test', 'carol@c.test', 'dave@d.test'].map((to) => app.submitAccepted({ to: [to] })),
  )
  for (const id of sent) await app.waitUntilSettled(id)
  app.advance(UNTIL_REPORTS)
  await receiver.waitUntil(() => receiver.messages.length === 2)

  const aboutB = readReport(receiver, 'tls@reports.test')
  t.match(aboutB.header, /^Subject: Report Domain: b\.test\r\n Submitter: mail\.service\.test\r\n Report-ID: <.+>/m)
  t.match(aboutB.header, /^TLS-Report-Domain: b\.test$/m)
  t.match(aboutB.header, /^TLS-Report-Submitter: mail\.service\.test$/m)
  t.match(aboutB.header, /^TLS-Required: No$/m)
  t.match(aboutB.header, /^DKIM-Signature: (?:.|\r\n[ \t])*?d=mail\.service\.test/m)
  t.equal(aboutB.report['date-range']['start-datetime'], `${day}T00:00:00Z`)
  t.equal(aboutB.report['date-range']['end-datetime'], `${day}T23:59:59Z`)
  t.same(aboutB.report.policies, [
    {
      policy: { 'policy-type': 'no-policy-found', 'policy-domain': 'b.test' },
      summary: { 'total-successful-session-count': 1, 'total-failure-session-count': 0 },
    },
  ])

  const aboutC = readReport(receiver, 'tls+c@reports.test')
  t.match(aboutC.report.policies[0], {
    summary: { 'total-successful-session-count': 0, 'total-failure-session-count': 1 },
    'failure-details': [
      {
        'result-type': 'starttls-not-supported',
        'sending-mta-ip': /^127\.0\.0\.\d$/,
        'receiving-mx-hostname': 'mx.c.test',
        'receiving-ip': '127.0.0.2',
        'failed-session-count': 1,
      },
    ],
  })

  await waitUntil(
    'all are settled',
    async () => (await app.rows('select 1 from tls_reports where settled_at is null')).length === 0,
  )
  t.same(await app.rows('select domain, state from tls_reports order by domain'), [
    { domain: 'b.test', state: 'sent' },
    { domain: 'c.test', state: 'sent' },
    { domain: 'd.test', state: 'unwanted' },
  ])
  t.same(await app.rows('select 1 from tls_results'), [], 'what was reported is not kept')
  const listed = await app.cli('tls-reports')
  t.equal(
    listed.out,
    [`${day}  unwanted  d.test`, `${day}  sent      c.test`, `${day}  sent      b.test`, ''].join('\n'),
  )

  // The next day: the sessions of the reports themselves are no reason for a report.
  await app.waitUntilSettled(await app.submitAccepted({ to: ['eve@e.test'] }))
  app.advance(24 * HOUR)
  await receiver.waitUntil(() => receiver.messages.length === 3)
  t.same(await app.rows("select 1 from tls_reports where domain = 'reports.test'"), [])
  t.same(await app.rows("select 1 from tls_policies where domain = 'reports.test'"), [])
  t.same(app.errors, [])
})

t.test('a restart neither loses nor repeats a report', async (t) => {
  const texts = { '_smtp._tls.b.test': ['v=TLSRPTv1; rua=mailto:tls@b.test'] }
  const { sinks, options } = await openWorld(t, { 'b.test': {} }, texts)
  const receiver = requireSink(sinks, 'b.test')
  const first = await testDaemon(t, options)
  await first.waitUntilSettled(await first.submitAccepted({ to: ['bob@b.test'] }))
  await first.stop()
  const second = await testDaemon(t, { ...options, folder: first.folder, ahead: NOON + UNTIL_REPORTS })
  await receiver.waitUntil(() => receiver.messages.length === 2)
  t.equal(readReport(receiver, 'tls@b.test').report.policies[0]?.summary['total-failure-session-count'], 1)
  await second.stop()
  const third = await testDaemon(t, { ...options, folder: first.folder, ahead: NOON + UNTIL_REPORTS + HOUR })
  await third.waitUntilSettled(await third.submitAccepted({ to: ['bob@b.test'] }))
  t.equal(receiver.messages.length, 3)
  t.same(await third.rows('select domain, state from tls_reports'), [{ domain: 'b.test', state: 'sent' }])
})

t.test('a report is posted over HTTPS, again while it is not taken, and never to a private address', async (t) => {
  const certificate = await createSelfSigned(['reports.test'])
  const taken: { readonly type: string | undefined; readonly body: Buffer }[] = []
  const server = createServer({ cert: certificate.cert, key: certificate.key }, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      taken.push({ type: request.headers['content-type'], body: Buffer.concat(chunks) })
      response.writeHead(taken.length === 1 ? 503 : 201).end()
    })
  })
  const port = await listen(server)
  t.teardown(() => server.close())
  const { options } = await openWorld(
    t,
    { 'b.test': {}, 'c.test': {} },
    {
      '_smtp._tls.b.test': [`v=TLSRPTv1; rua=https://reports.test:${port}/v1`],
      '_smtp._tls.c.test': ['v=TLSRPTv1; rua=https://inside.test/v1'],
    },
    { 'reports.test': '127.0.0.1', 'inside.test': '10.0.0.1' },
  )
  const app = await testDaemon(t, { ...options, authorities: certificate.cert })
  const sent = await Promise.all(['bob@b.test', 'carol@c.test'].map((to) => app.submitAccepted({ to: [to] })))
  for (const id of sent) await app.waitUntilSettled(id)
  app.advance(UNTIL_REPORTS)
  await waitUntil('the first request', () => taken.length === 1)
  await waitUntil(
    'it waits',
    async () => (await app.rows("select 1 from tls_reports where attempts = 1 and domain = 'b.test'")).length === 1,
  )
  app.advance(HOUR)
  await waitUntil('the second request', () => taken.length === 2)
  t.equal(taken[1]?.type, 'application/tlsrpt+gzip')
  const report: TlsReport = JSON.parse(gunzipSync(taken[1]?.body ?? Buffer.alloc(0)).toString())
  t.equal(report.policies[0]?.policy['policy-domain'], 'b.test')
  await waitUntil(
    'it is sent',
    async () => (await app.rows("select 1 from tls_reports where state = 'sent'")).length === 1,
  )
  app.advance(26 * HOUR)
  const failed = await waitUntil('the other is given up', async () => {
    const rows = await app.rows<{ reason: string }>("select reason from tls_reports where state = 'failed'")
    return rows.length === 1 && rows
  })
  t.match(failed[0]?.reason, /inside\.test has no public address/)
})

t.test('a receiver that does not answer holds up no stop, and gets the report after the next start', async (t) => {
  const certificate = await createSelfSigned(['reports.test'])
  let requests = 0
  let answers = false
  const server = createServer({ cert: certificate.cert, key: certificate.key }, (request, response) => {
    requests += 1
    request.resume()
    if (answers) response.writeHead(201).end()
  })
  const port = await listen(server)
  t.teardown(() => server.close())
  const urls = ['v1', 'v2', 'v3'].map((path) => `https://reports.test:${port}/${path}`)
  const texts = { '_smtp._tls.b.test': [`v=TLSRPTv1; rua=${urls.join()}`] }
  const { options } = await openWorld(t, { 'b.test': {} }, texts, { 'reports.test': '127.0.0.1' })
  const first = await testDaemon(t, { ...options, authorities: certificate.cert })
  await first.waitUntilSettled(await first.submitAccepted({ to: ['bob@b.test'] }))
  first.advance(UNTIL_REPORTS)
  await waitUntil('the first request', () => requests === 1)
  await first.stop()
  t.equal(requests, 1, 'the others were not called, each for half a minute')
  answers = true
  const again = { folder: first.folder, authorities: certificate.cert, ahead: NOON + UNTIL_REPORTS + HOUR }
  const second = await testDaemon(t, { ...options, ...again })
  await waitUntil(
    'it is sent',
    async () => (await second.rows("select 1 from tls_reports where state = 'sent'")).length === 1,
  )
  t.equal(requests, 4)
})

t.test('our own policy is served to the hosts of its domains, over TLS', async (t) => {
  const app = await testDaemon(t, {
    settings: {
      service: { zone: 'z.test', public_addresses: ['192.0.2.1'] },
      inbound: { mta_sts: 'enforce' },
    },
    zone: { 'a.test': { mx: [[10, 'mx.z.test']] } },
  })
  const endpoint = app.daemon.api[0]
  if (endpoint?.kind !== 'tls') throw new Error('no TLS')
  const ask = async (host: string): Promise<string> => {
    const { stdout } = await runProgram([
      'curl',
      ...[
        '--silent',
        '--noproxy',
        '*',
        '--insecure',
        '--include',
        '--connect-to',
        `${host}:443:127.0.0.1:${endpoint.port}`,
      ],
      `https://${host}/.well-known/mta-sts.txt`,
    ])
    return stdout
  }
  const answer = await ask('mta-sts.z.test')
  t.match(answer, /^HTTP\/1\.1 200 /)
  t.match(answer, /^content-type: text\/plain; charset=utf-8/im)
  t.ok(answer.endsWith('\r\n\r\nversion: STSv1\r\nmode: enforce\r\nmx: mx.z.test\r\nmax_age: 604800\r\n'))
  t.match(await ask('mta-sts.a.test'), /^HTTP\/1\.1 404 /, 'the domain does not receive mail here')
  const [{ id = '' } = {}] = await app.rows<{ id: string }>("select id from domains where domain = 'a.test'")
  t.equal((await app.rest('PATCH', `/v1/domains/${id}`, { body: { inbound: true } })).status, 200)
  t.match(await ask('mta-sts.a.test'), /^HTTP\/1\.1 200 /)
  t.match(await ask('other.z.test'), /^HTTP\/1\.1 404 /)
  const zone = (await app.cli('zone')).out
  t.match(zone, /^_mta-sts\.z\.test\. 3600 IN TXT "v=STSv1; id=[0-9a-f]{32};"$/m)
  t.match(zone, /^mta-sts\.z\.test\. 3600 IN A 192\.0\.2\.1$/m)
  t.match(zone, /^_smtp\._tls\.z\.test\. 3600 IN TXT "v=TLSRPTv1; rua=mailto:tlsrpt@z\.test"$/m)
  t.same(app.errors, [])
})

function requireSink(sinks: World['sinks'], domain: string): ScriptedSink {
  const sink = sinks[domain]
  if (sink === undefined) throw new Error(`no sink of ${domain}`)
  return sink
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return port
}

function readReport(sink: ScriptedSink, to: string): { readonly header: string; readonly report: TlsReport } {
  const found = sink.messages.find(({ rcptTo }) => rcptTo[0]?.startsWith(`<${to}>`))
  const raw = found?.raw.toString() ?? ''
  const [, base64 = ''] = raw.split('Content-Type: application/tlsrpt+gzip')[1]?.split('\r\n\r\n') ?? []
  const [encoded = ''] = base64.split('\r\n--')
  return {
    header: raw.slice(0, raw.indexOf('\r\n\r\n')),
    report: JSON.parse(gunzipSync(Buffer.from(encoded, 'base64')).toString()),
  }
}
