/** The checks beside a running daemon and inside it: what they find, the events and the mail that follow, and the end. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import t, { type Test } from 'tap'
import type { Finding } from '../../src/operations/doctor/finding.js'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { type DnsRecord, dnsServer } from '../helpers/dns/dns-server.js'
import { givePassword, openBrowser } from '../helpers/http/browser-client.js'
import { waitUntil } from '../helpers/wait-until.js'

const address = '93.184.216.34'

interface World {
  readonly app: TestDaemon
  /** `A name` and its values; changed by the test. */
  readonly zone: Map<string, readonly string[]>
}

async function openWorld(t: Test): Promise<World> {
  const zone = new Map<string, readonly string[]>([
    ['A mail.service.test', [address]],
    ['PTR 34.216.184.93.in-addr.arpa', ['mail.service.test']],
    ['MX peer.test', ['mx.peer.test']],
    ['A mx.peer.test', ['127.0.0.1']],
    ['A 2.0.0.127.bl.test', ['127.0.0.2']],
    ['A 34.216.184.93.bl.test', ['127.0.0.2']],
  ])
  const dns = await dnsServer((question) => {
    const values = zone.get(question)
    return values === undefined ? 'NXDOMAIN' : values.map((value) => toRecord(question.split(' ')[0] ?? '', value))
  })
  t.teardown(dns.close)
  const peer = createServer((socket) => socket.on('error', () => undefined).end('220 mx.peer.test ESMTP\r\n'))
  peer.listen(0, '127.0.0.1')
  await once(peer, 'listening')
  t.teardown(() => peer.close())
  const { port } = peer.address() as { readonly port: number }
  const app = await testDaemon(t, {
    zone: 'dns.servers',
    settings: {
      service: { public_addresses: [address] },
      dns: { servers: [dns.address] },
      outbound: { port },
      doctor: { mx_domains: ['peer.test'], time_url: '', block_lists: ['bl.test'] },
    },
  })
  return { app, zone }
}

function toRecord(type: string, value: string): DnsRecord {
  if (type === 'MX') return { ttl: 60, type, preference: 10, value }
  if (type === 'TXT') return { ttl: 60, type, strings: [value] }
  return { ttl: 60, type: type === 'PTR' ? 'PTR' : 'A', value }
}

const listing = { check: 'blocklist', subject: `${address} at bl.test`, state: 'fail' }

t.test('the command beside a daemon', async (t) => {
  const { app } = await openWorld(t)
  const all = await app.cli('doctor', '--json')
  t.equal(all.status, 1)
  const answer = all.json() as { state: string; totals: Record<string, number>; findings: Finding[] }
  t.match(answer, { state: 'fail', checked_at: /Z$/ })
  t.equal(
    answer.findings.length,
    Object.values(answer.totals).reduce((sum, count) => sum + count, 0),
  )
  const found = (check: string): readonly Finding[] => answer.findings.filter((one) => one.check === check)
  t.match(found('daemon'), [{ state: 'ok', text: new RegExp(`process ${process.pid}`) }])
  t.match(found('ptr'), [{ state: 'ok', subject: address }])
  t.match(found('port25-out'), [{ state: 'ok', text: 'mx.peer.test: 220 mx.peer.test ESMTP' }])
  t.match(found('blocklist'), [listing])
  t.match(found('clock'), [{ state: 'ok' }])
  t.match(found('leases'), [{ state: 'ok' }])
  for (const check of [
    'disk',
    'inodes',
    'memory',
    'files',
    'event-loop',
    'webhooks',
    'sms',
    'domains',
    'dns',
    'tls',
    'standby',
  ]) {
    t.ok(found(check).length > 0, check)
  }
  t.match(found('service-dkim'), [{ state: 'fail', remedy: [/_domainkey\.mail\.service\.test\. \d+ IN TXT "v=DKIM1/] }])
  t.same(app.errors, [])
})

t.test('some checks, for people and for a monitoring system', async (t) => {
  const { app } = await openWorld(t)
  const some = await app.cli('doctor', 'ptr', 'daemon')
  t.equal(some.status, 0)
  t.match(
    some.out,
    /^ok {4}daemon {2}\S+: process \d+.*\nok {4}ptr {5}93\.184\.216\.34: .*\n\n2 ok, 0 warnings, 0 failures in/,
  )
  t.match(await app.cli('doctor', 'blocklist', '--nagios'), {
    status: 2,
    out: /^POSTHORN CRITICAL - 0 ok, 0 warnings, 1 failure; blocklist .* \| ok=0 warn=0 fail=1\n$/,
  })
  t.match(await app.cli('doctor', 'ptr', '--nagios'), { status: 0, out: /^POSTHORN OK - 1 ok/ })
  t.match(await app.cli('doctor', 'nose'), { status: 2, err: /no check is called nose: there are trial, daemon, / })
  t.match(await app.cli('doctor', '--json', '--nagios'), { status: 2 })
  await app.stop()
  t.match(await app.cli('doctor', 'daemon', 'leases'), { status: 0, out: /WARN {2}daemon .*no daemon runs/ })
  t.match(await app.cli('doctor', 'daemon', '--nagios'), { status: 1, out: /^POSTHORN WARNING/ })
})

t.test('inside the daemon changes become events, and one mail to the operator', async (t) => {
  const { app, zone } = await openWorld(t)
  const browser = await openOperator(app)
  t.match((await browser.ask('GET', '/operator/doctor')).json(), { checked_at: null, findings: [] })
  const first = await browser.ask('POST', '/operator/doctor')
  t.equal(first.status, 200)
  const { findings } = first.json() as { readonly findings: readonly Finding[] }
  t.match(
    findings.find(({ check }) => check === 'blocklist'),
    { ...listing, remedy: [/TXT 34\.216/, /./] },
  )
  t.same((await browser.ask('GET', '/operator/doctor')).json(), first.json())

  const failed = await listEvents(app, 'service.check_failed')
  t.equal(failed.length, findings.length)
  t.match(
    failed.find(({ check }) => check === 'blocklist'),
    { ...listing, checked_at: /Z$/ },
  )
  const subjects = await waitUntil('the mail is written', async () => {
    const rows = await app.rows<{ subject: string }>(`select subject from emails where source = 'service'`)
    return rows.length > 0 && rows.map(({ subject }) => subject)
  })
  t.match(subjects, [/^The daily check found \d+ failures and (a|\d+) warnings?$/])

  zone.delete('A 34.216.184.93.bl.test')
  t.equal((await browser.ask('POST', '/operator/doctor')).status, 200)
  t.match(await listEvents(app, 'service.check_recovered'), [{ check: 'blocklist', subject: listing.subject }])
  t.equal((await listEvents(app, 'service.check_failed')).length, failed.length, 'what was known is no news')
  t.equal((await app.rows(`select id from emails where source = 'service'`)).length, 1)
  t.same(app.errors, [])
})

t.test('a stop does not wait for a run', async (t) => {
  const { app } = await openWorld(t)
  const browser = await openOperator(app)
  const asked = browser.ask('POST', '/operator/doctor').catch(() => null)
  await app.stop()
  await asked
  t.same(app.errors, [])
})

async function openOperator(app: TestDaemon): Promise<ReturnType<typeof openBrowser>> {
  await app.cli('workspace', 'set-operator', app.workspaceId)
  await givePassword(app)
  const browser = openBrowser(app)
  await browser.signIn('owner@a.test')
  return browser
}

async function listEvents(app: TestDaemon, type: string): Promise<readonly Record<string, unknown>[]> {
  const answer = await app.rest('GET', `/v1/events?type=${type}&limit=100`)
  return (answer.json() as { readonly data: readonly { readonly data: Record<string, unknown> }[] }).data.map(
    ({ data }) => data,
  )
}
