/** `setup --domain`: all records in one list, the wait for them, the first message, and the way on after an interruption. */
import t, { type Test } from 'tap'
import type { PublishedRecord } from '../../../../src/workspaces/domains/zone/publication.js'
import { createInstallation, setUpWorkspace, uuidPattern } from '../../../helpers/cli/command-line.js'
import { type TestDaemon, testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { type MutableZone, mutableZone } from '../../../helpers/dns/mutable-zone.js'
import { openSink } from '../../../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const words = ['setup', '--workspace', 'Acme', '--email', 'o@acme.test'] as const

t.test('the first run prints the key once and every record, and can be repeated', async (t) => {
  const { run } = createInstallation(t)
  const first = await run(...words, '--domain', 'news.test')
  t.match(first, {
    status: 0,
    out: /^workspace {2}ws_\S+ {2}Acme\nowner .*\nAPI key {4}ph_[\s\S]*\nDNS records to set, at once:\n\nRequired, at the DNS provider of service\.test:\n/,
    err: /^posthorn: service\.public_addresses is empty/,
  })
  t.match(first.out, /^ {2}posthorn\.news\.test\. CNAME mail\.service\.test\.$/m)
  t.match(first.out, /^ {2}dkim2\.\w+\._domainkey\.mail\.service\.test\. TXT "v=DKIM1/m)
  t.match(first.out, /\n {2}posthorn setup --workspace Acme --email o@acme\.test --domain news\.test --wait\n$/)
  const again = await run(...words, '--domain', 'NEWS.test')
  t.equal(again.status, 0)
  t.match(again.out, /^workspace {2}ws_\S+ {2}Acme, made before; its key was printed then\n/)
  t.notMatch(again.out, /ph_/)
  const list = (text: string): string => text.slice(text.indexOf('DNS records'))
  t.equal(list(again.out), list(first.out), 'the same keys')
  t.match((await run('key', 'list', '--json')).json(), { data: { length: 1 } })
})

t.test('a zone file has nothing else on standard output, and --json has all', async (t) => {
  const { run } = createInstallation(t)
  const zone = await run(...words, '--domain', 'news.test', '--format', 'zone')
  t.equal(zone.status, 0)
  t.match(zone.err, /^API key {4}ph_/m)
  for (const line of zone.out.trimEnd().split('\n')) t.match(line, /^(?:;|\S+\. 3600 IN [A-Z]+ \S)/)
  t.match(zone.out, /^; news\.test\. 3600 IN MX /m, 'the mail of the domain is not moved unasked')
  const { records, ...others } = (await run(...words, '--domain', 'news.test', '--json')).json() as {
    records: PublishedRecord[]
  }
  t.match(others, { workspace_id: /^ws_/, api_key: null, domain: { domain: 'news.test', status: 'pending' } })
  t.match(
    records.find(({ type }) => type === 'CNAME'),
    {
      name: 'posthorn.news.test',
      ttl: 3600,
      value: 'mail.service.test',
      required: true,
      set_by: 'DNS provider of news.test',
      purpose: /bounces/,
    },
  )
  const made = (await createInstallation(t).run(...words, '--domain', 'news.test', '--json')).json()
  t.match(made, { api_key: /^ph_/, user_id: uuidPattern, first_message: null })
})

t.test('what cannot be done is refused before the key is made', async (t) => {
  const { run } = createInstallation(t)
  for (const [more, status, err] of [
    [['--wait'], 2, /need --domain/],
    [['--format', 'zone'], 2, /need --domain/],
    [['--domain', 'news.test', '--format', 'xml'], 2, /allowed: text, zone, json/],
    [['--domain', 'not a domain'], 1, /not a domain name/],
    [['--domain', `${`${'x'.repeat(60)}.`.repeat(4)}test`], 1, /at most 195/],
  ] as const) {
    t.match(await run(...words, ...more), { status, out: '', err })
  }
  t.match((await run('workspace', 'list', '--json')).json(), { data: { length: 0 } })
  await setUpWorkspace(run)
  t.match(await run(...words), { status: 1, err: /its key was printed then: --domain DOMAIN goes on/ })
  t.match(await run('setup', '--workspace', 'B', '--email', 'o@acme.test', '--domain', 'news.test'), {
    status: 1,
    err: /there is a workspace already \(Acme of o@acme\.test\): .* its owner as --email/,
  })
})

interface World {
  readonly app: TestDaemon
  readonly zone: MutableZone
  readonly sink: Awaited<ReturnType<typeof openSink>>
}

async function openWorld(t: Test): Promise<World> {
  const [zone, sink] = await Promise.all([mutableZone(t), openSink()])
  t.teardown(() => sink.close())
  zone.set('mx.a.test', { A: ['127.0.0.1'] })
  const settings = { dns: { servers: [zone.address] } }
  return { zone, sink, app: await testDaemon(t, { zone: 'dns.servers', settings, routes: { 'a.test': sink } }) }
}

const ownWords = ['setup', '--workspace', 'Own', '--email', 'owner@a.test', '--domain', 'c.test'] as const

function publish(zone: MutableZone, records: readonly PublishedRecord[]): void {
  for (const { name, type, value } of records.filter(({ required }) => required)) {
    if (type === 'CNAME') zone.set(name, { CNAME: value })
    if (type === 'TXT') zone.set(name, { TXT: [value] })
    if (type === 'MX') zone.set(name, { MX: [[10, value.slice(3)]] })
  }
}

t.test('--wait verifies the domain when DNS has all, and sends the first message to the owner', async (t) => {
  const { app, zone, sink } = await openWorld(t)
  const { records } = (await app.cli(...ownWords, '--json')).json() as { records: PublishedRecord[] }
  publish(zone, records)
  const done = await app.cli(...ownWords, '--wait')
  t.match(done, {
    status: 0,
    out: /\nverified: you can send from c\.test\n\n\S+ {2}(?:sent|delivered)\n {2}from +postmaster@c\.test\n/,
  })
  const first = sink.messages[0]?.raw.toString()
  t.match(first, /\r\nSubject: The first message from c\.test\r\n[\s\S]*"posthorn setup" sent it/)
  t.notMatch(first, /posthorn send/)
  t.match(await app.cli('domain', 'verify', 'c.test', '--workspace', app.workspaceId), {
    status: 0,
    out: /\nverified: you can send from c\.test\n$/,
  })
})

t.test('a domain whose CNAMEs lead to no key is verified, and the last line says that DNS shows none', async (t) => {
  const { app, zone } = await openWorld(t)
  const { records } = (await app.cli(...ownWords, '--json')).json() as { records: PublishedRecord[] }
  publish(zone, records)
  const key = records.find(
    ({ name, type }) => type === 'TXT' && /^dkim2\.\w+\._domainkey\.mail\.service\.test$/.test(name),
  )
  zone.set(key?.name ?? '', null)
  const answer = await app.cli('domain', 'verify', 'c.test', '--workspace', app.workspaceId)
  t.match(answer, { status: 0, out: /^c\.test {2}verified\n/ })
  t.match(
    answer.out.trimEnd().split('\n').at(-1),
    /do not send from c\.test yet: DNS does not show the DKIM keys at dkim2\.\w+\._domainkey\.mail\.service\.test; .*"posthorn zone"/,
  )
})

t.test('Ctrl-C ends the wait with what is missing and the commands that go on', async (t) => {
  const { app, zone } = await openWorld(t)
  const { records } = (await app.cli(...ownWords, '--json')).json() as { records: PublishedRecord[] }
  publish(zone, records)
  zone.set('posthorn.c.test', null)
  zone.set('mail.service.test', 'SERVFAIL')
  const others = process.listenerCount('SIGINT')
  const running = app.cli(...ownWords, '--wait')
  await waitUntil(
    'it waits',
    async () => process.listenerCount('SIGINT') > others && zone.queries.includes('MX mail.service.test'),
  )
  process.emit('SIGINT')
  const ended = await running
  t.equal(ended.status, 1)
  t.match(ended.out, /\n {2}posthorn setup .* --wait\n/)
  t.match(ended.err, /^posthorn: c\.test does not exist in DNS: is it spelt right\?/m)
  t.match(ended.out, /\nnot done: \d+ of \d+ required records (?:is|are) missing or wrong in DNS\n$/)
  t.match(await app.cli('domain', 'verify', 'c.test', '--workspace', app.workspaceId), {
    status: 1,
    out: /^c\.test {2}failed\n[\s\S]*\n1 of 3 records is missing or wrong: posthorn\.c\.test\n$/,
  })
})
