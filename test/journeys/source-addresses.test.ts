/** Mail leaves from the addresses of its pool, with their EHLO names; new addresses have a daily cap for each provider. */
import t, { type Test } from 'tap'
import { type TestDaemon, type TestDaemonOptions, testDaemon } from '../helpers/daemon/test-daemon.js'
import { openSink, type ScriptedSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const DAY = 86_400_000
const HOUR = 3_600_000

/** One in the morning of the next day, so that no test runs over midnight. */
const morning = DAY - (Date.now() % DAY) + HOUR

async function sinkFor(t: Test): Promise<ScriptedSink> {
  const sink = await openSink()
  t.teardown(() => sink.close())
  return sink
}

async function daemonWith(
  t: Test,
  sink: ScriptedSink,
  outbound: Readonly<Record<string, unknown>>,
  options: TestDaemonOptions = {},
): Promise<TestDaemon> {
  return await testDaemon(t, { routes: { 'b.test': sink }, ahead: morning, ...options, settings: { outbound } })
}

async function sendEach(app: TestDaemon, names: readonly string[]): Promise<readonly string[]> {
  const ids: string[] = []
  for (const name of names) ids.push(await app.submitAccepted({ to: [`${name}@b.test`] }))
  return ids
}

/** How many messages came from each address. */
function countPeers({ messages, peers }: ScriptedSink): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { connection } of messages) {
    const peer = peers[connection] ?? ''
    counts[peer] = (counts[peer] ?? 0) + 1
  }
  return counts
}

const namesOf = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `name${at}`)

t.test(
  'the pool of a message gives it its address and EHLO name, and sessions of two addresses are not mixed',
  async (t) => {
    const sink = await sinkFor(t)
    const app = await daemonWith(t, sink, {
      sources: [
        { address: '127.0.0.2', hello: 'one.service.test' },
        { address: '127.0.0.3', hello: 'two.service.test', pool: 'bulk' },
      ],
      pool_rules: [{ pool: 'bulk', priority: 'low' }],
    })
    for (const priority of ['low', 'normal', 'low', 'high']) {
      const sent = await app.rest('POST', '/v1/emails', {
        body: { from: 'app@a.test', to: [`${priority}@b.test`], subject: 'hello', text: 'a line', priority },
      })
      t.equal(sent.status, 201, sent.text)
      await app.waitUntilSettled(String(sent.json()['id']))
    }
    t.same(
      sink.messages.map(({ connection }) => sink.peers[connection]),
      ['127.0.0.3', '127.0.0.2', '127.0.0.3', '127.0.0.2'],
    )
    t.equal(sink.connections, 2, 'the second message of each pool found the session of its address')
    const greetings = sink.commands.filter((line) => line.startsWith('EHLO'))
    t.same(greetings, ['EHLO two.service.test', 'EHLO one.service.test'])
    t.same(app.errors, [])
  },
)

t.test('an address that this machine does not have is left out, and the host does not count as down', async (t) => {
  const sink = await sinkFor(t)
  const app = await daemonWith(t, sink, { sources: [{ address: '192.0.2.77' }, { address: '127.0.0.2' }] })
  for (const id of await sendEach(app, namesOf(8))) t.match(await app.waitUntilSettled(id), { status: 'delivered' })
  t.same(countPeers(sink), { '127.0.0.2': 8 })
  t.equal(app.errors.length, 1, 'logged once')
  t.match(JSON.parse(app.errors[0] ?? ''), {
    source: '192.0.2.77',
    msg: 'a source address is not an address of this machine and is left out',
  })
})

t.test('what a new address may not send today leaves from an older one of its pool', async (t) => {
  const sink = await sinkFor(t)
  const app = await daemonWith(t, sink, {
    sources: [{ address: '127.0.0.2' }, { address: '127.0.0.3', warm_up: true }],
    warm_up_plan: [2, 4],
  })
  for (const id of await sendEach(app, namesOf(24))) t.match(await app.waitUntilSettled(id), { status: 'delivered' })
  t.same(countPeers(sink), { '127.0.0.2': 22, '127.0.0.3': 2 })
  t.same(app.errors, [])
})

t.test('without another way it waits for the next day, over a restart, and says so', async (t) => {
  const sink = await sinkFor(t)
  const outbound = { sources: [{ address: '127.0.0.3', warm_up: true }], warm_up_plan: [2, 4] }
  const first = await daemonWith(t, sink, outbound)
  const ids = await sendEach(first, namesOf(5))
  const isWaiting = async (app: TestDaemon, count: number): Promise<boolean> =>
    (await app.rows(`select 1 from queue where waits_for is not null and attempts = 0 and leased = 0`)).length === count
  await waitUntil('two are sent and three wait', async () => sink.messages.length === 2 && (await isWaiting(first, 3)))
  await first.stop()

  const app = await daemonWith(t, sink, outbound, { folder: first.folder })
  const [late = ''] = await sendEach(app, ['late'])
  await waitUntil('the later one waits too', () => isWaiting(app, 4))
  const midnight = new Date(Math.ceil(app.now() / DAY) * DAY).toISOString()
  const why = '127.0.0.3 is warming up at other providers: 2 of 2 today'
  // No entry waits longer than until its sender is due a notice of the delay.
  t.ok(
    (await app.rows<{ readonly at: number }>('select next_attempt_at as at from queue')).every(
      ({ at }) => at < Date.parse(midnight),
    ),
  )
  const explained = (await app.cli('explain', late)).out
  t.match(explained, new RegExp(`waits until \\S+Z: ${why.replaceAll('.', '\\.')}; no attempt is counted`), explained)
  t.match((await app.cli('queue', 'list')).out, why)
  t.match((await app.cli('queue', 'list', '--reason', 'warming-up', '--json')).json(), { data: { length: 4 } })
  t.match((await app.cli('warmup', '--json')).json(), {
    plan: [2, 4],
    data: [
      { subject: '127.0.0.3', provider: 'other', day: 1, cap: 2, sent: 2, deferred: 0, next_cap: 4, ended: false },
    ],
  })

  await t.test('a notice of the delay that is due is sent, and the message still waits', async (t) => {
    app.advance(4 * HOUR + 60_000)
    await waitUntil(
      'all were attempted',
      async () => (await app.rows('select 1 from queue where noticed = 1')).length === 4,
    )
    t.equal(sink.messages.length, 2)
    t.match((await app.findStory(late)).recipients, [
      { attempts: [{ outcome: 'deferred', reason: 'warming-up', response: why }] },
    ])
  })

  await t.test('the next day allows more', async (t) => {
    app.advance(20 * HOUR)
    for (const id of [...ids, late]) t.match(await app.waitUntilSettled(id), { status: 'delivered' })
    t.same(countPeers(sink), { '127.0.0.3': 6 })
    await waitUntil('it is written', async () => (await app.rows('select 1 from warm_ups where sent = 4')).length === 1)
    const { out } = await app.cli('warmup')
    t.match(out, /127\.0\.0\.3 +other +2 of 2 +4 +4 +0 +no cap/)
  })
  t.same(app.errors, [])
})

t.test('mail beyond the cap goes by the route for it', async (t) => {
  const [sink, smarthost] = [await sinkFor(t), await sinkFor(t)]
  const app = await daemonWith(t, sink, {
    sources: [{ address: '127.0.0.3', warm_up: true }],
    warm_up_plan: [2],
    warm_up_route: `127.0.0.1:${smarthost.port}`,
  })
  for (const id of await sendEach(app, namesOf(6))) await app.waitUntilSettled(id)
  t.same([sink.messages.length, smarthost.messages.length], [2, 4])
  t.same(new Set([...sink.peers, ...smarthost.peers]), new Set(['127.0.0.3']))
  t.same(app.errors, [])
})

t.test('the operator ends a warm-up and begins it anew', async (t) => {
  const sink = await sinkFor(t)
  const app = await daemonWith(t, sink, {
    sources: [{ address: '127.0.0.3', warm_up: true }],
    warm_up_plan: [2, 4],
  })
  for (const id of await sendEach(app, namesOf(2))) await app.waitUntilSettled(id)
  t.equal((await app.cli('warmup', 'skip', '127.0.0.3')).status, 0)
  for (const id of await sendEach(app, namesOf(4))) await app.waitUntilSettled(id)
  t.equal(sink.messages.length, 6)
  t.equal((await app.cli('warmup', 'restart', '127.0.0.3', 'other')).status, 0)
  await sendEach(app, ['more'])
  await waitUntil(
    'it waits',
    async () => (await app.rows('select 1 from queue where waits_for is not null')).length === 1,
  )
  const { status, err } = await app.cli('warmup', 'skip', '192.0.2.1')
  t.match([status, err], [1, /192\.0\.2\.1 is not a source address of the configuration/])
  t.match((await app.cli('warmup', 'skip', '127.0.0.3', 'nobody')).err, /no provider nobody/)
  t.same(app.errors, [])
})

t.test('a new domain has caps of its own', async (t) => {
  const sink = await sinkFor(t)
  const app = await daemonWith(t, sink, { warm_up_plan: [2, 4], domain_warm_up: true })
  const added = await app.cli('domain', 'add', 'new.test', '--force', '--workspace', app.workspaceId)
  t.equal(added.status, 0, added.err)
  for (const name of namesOf(4)) await app.submitAccepted({ from: 'app@new.test', to: [`${name}@b.test`] })
  const listWaiting = () =>
    app.rows<{ readonly waits_for: string }>('select waits_for from queue where waits_for is not null')
  await waitUntil(
    'two are sent and two wait',
    async () => sink.messages.length === 2 && (await listWaiting()).length === 2,
  )
  const [row] = await listWaiting()
  t.equal(row?.waits_for, 'new.test is warming up at other providers: 2 of 2 today')
  for (const id of await sendEach(app, namesOf(4))) t.match(await app.waitUntilSettled(id), { status: 'delivered' })
  t.equal((await app.rows('select 1 from queue')).length, 2, 'mail of another domain does not wait with it')
  t.same(app.errors, [])
})
