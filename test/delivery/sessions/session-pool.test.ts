import t, { type Test } from 'tap'
import { UnreachableHosts } from '../../../src/delivery/attempt/unreachable-hosts.js'
import type { SessionPool, SessionPoolSettings } from '../../../src/delivery/sessions/session-pool.js'
import { Permits } from '../../../src/delivery/sessions/session-pool-permits.js'
import { BrokenTlsHosts, mayFallBackToPlain } from '../../../src/delivery/sessions/tls-policy.js'
import type { SmtpFailure } from '../../../src/delivery/smtp/outcome.js'
import type { SmtpClientDeps } from '../../../src/delivery/smtp/smtp-client.js'
import type { Clock } from '../../../src/platform/clock.js'
import { createSelfSigned } from '../../helpers/certificates.js'
import { openSink, type ScriptedSink, type SinkAnswer, type SinkOptions } from '../../helpers/smtp/scripted-sink.js'
import { clientDeps, hostAt, never, outbound, poolOf } from '../../helpers/smtp/sink-client.js'

async function sinkFor(t: Test, options: SinkOptions = {}): Promise<ScriptedSink> {
  const sink = await openSink(options)
  t.teardown(() => sink.close())
  return sink
}

function poolFor(
  t: Test,
  settings: Partial<SessionPoolSettings> = {},
  deps?: SmtpClientDeps,
  clock?: Clock,
): SessionPool {
  const pool = poolOf(deps, settings, clock)
  t.teardown(() => pool.close())
  return pool
}

const refusedConnection: SmtpFailure = {
  kind: 'failed',
  stage: 'connect',
  failure: 'refused',
  detail: 'connection refused',
}

t.test('keeps a session for the next message to the same host', async (t) => {
  const sink = await sinkFor(t)
  const pool = poolFor(t)
  for (let round = 0; round < 5; round++) {
    t.match(await pool.send(hostAt(sink), outbound('a\r\n'), 'party', never), { sent: { kind: 'accepted' } })
  }
  t.equal(sink.connections, 1)
  t.equal(sink.messages.length, 5)
})

t.test('another address, user or kind of TLS is another session', async (t) => {
  const sink = await sinkFor(t, { extensions: ['AUTH PLAIN'] })
  const pool = poolFor(t)
  const auth = { user: 'me', pass: 'secret' }
  for (const host of [hostAt(sink), hostAt(sink, { auth }), hostAt(sink, { auth: { ...auth, pass: 'other' } })]) {
    await pool.send(host, outbound('a\r\n'), 'party', never)
  }
  t.equal(sink.connections, 3)
})

t.test('opens no more connections to a name than it may; waiters come in turn', async (t) => {
  const answers: (() => void)[] = []
  const held = (): Promise<SinkAnswer> => new Promise((resolve) => answers.push(() => resolve('250 taken')))
  const sink = await sinkFor(t, { script: { message: held } })
  const pool = poolFor(t, { connectionsPerHost: 2 })
  const order: number[] = []
  const sending = [0, 1, 2, 3, 4, 5].map(async (number) => {
    await pool.send(hostAt(sink), outbound(`${number}\r\n`), `party ${number}`, never)
    order.push(number)
  })
  for (let round = 0; round < 6; round++) {
    await sink.waitUntil(() => answers.length > round)
    answers[round]?.()
  }
  await Promise.all(sending)
  t.same(order, [0, 1, 2, 3, 4, 5])
  t.equal(sink.mostOpen, 2)
  t.equal(sink.connections, 2)
})

t.test('who waits can give up, and the others keep their turn', async (t) => {
  const permits = new Permits(1)
  const reason = new Error('stopping')
  const impatient = new AbortController()
  await permits.acquire('mx', 'party', never)
  const second = permits.acquire('mx', 'party', impatient.signal)
  const third = permits.acquire('mx', 'party', never)
  await permits.acquire('another', 'party', never)
  impatient.abort(reason)
  await t.rejects(second, reason)
  await t.rejects(permits.acquire('mx', 'party', impatient.signal), reason)
  permits.release('mx', 'party')
  await third
  t.equal(permits.inUse('mx'), 1)
  t.equal(permits.total, 2)
  permits.release('mx', 'party')
  permits.release('another', 'party')
  t.equal(permits.total, 0)
})

t.test('no party takes all permits of a key, and another is served past its queue', async (t) => {
  const permits = new Permits(3)
  const served: string[] = []
  const ask = (party: string): Promise<void> => permits.acquire('mx', party, never).then(() => void served.push(party))
  await Promise.all([ask('big'), ask('big')])
  const third = ask('big')
  const fourth = ask('big')
  await ask('small')
  t.same(served, ['big', 'big', 'small'])
  permits.release('mx', 'small')
  const again = ask('small')
  await again
  t.same(served, ['big', 'big', 'small', 'small'], 'the permit that is kept back stays kept back')
  permits.release('mx', 'big')
  await third
  permits.release('mx', 'big')
  await fourth
  t.equal(permits.inUse('mx'), 3)
})

t.test('a session ends after so many messages', async (t) => {
  const sink = await sinkFor(t)
  const pool = poolFor(t, { messagesPerSession: 2 })
  for (let round = 0; round < 5; round++) await pool.send(hostAt(sink), outbound('a\r\n'), 'party', never)
  t.equal(sink.connections, 3)
  await sink.waitUntil(() => sink.open === 1)
  t.equal(sink.commands.filter((line) => line === 'QUIT').length, 2)
})

t.test('an idle session says QUIT after a while', async (t) => {
  const sink = await sinkFor(t)
  const pool = poolFor(t, { idleTimeout: 10 })
  await pool.send(hostAt(sink), outbound('a\r\n'), 'party', never)
  await sink.waitUntil(() => sink.open === 0)
  t.equal(sink.commands.at(-1), 'QUIT')
})

t.test('an idle session that the server ends or speaks to is dropped', async (t) => {
  for (const end of [
    (sink: ScriptedSink) => sink.hangUp(),
    (sink: ScriptedSink) => sink.broadcast('421 4.4.2 too long'),
  ]) {
    const sink = await sinkFor(t)
    const pool = poolFor(t)
    await pool.send(hostAt(sink), outbound('a\r\n'), 'party', never)
    end(sink)
    await sink.waitUntil(() => sink.open === 0)
    t.match(await pool.send(hostAt(sink), outbound('b\r\n'), 'party', never), { sent: { kind: 'accepted' } })
    t.equal(sink.connections, 2)
  }
})

t.test('a kept session that proves dead at MAIL is replaced once, unseen', async (t) => {
  for (const death of ['reset', 'drop', '421 4.4.2 timed out'] as const) {
    const sink = await sinkFor(t, { script: { mail: ({ taken }) => (taken === 1 ? death : '250 ok') } })
    const pool = poolFor(t)
    for (let round = 0; round < 2; round++) {
      t.match(await pool.send(hostAt(sink), outbound(`${round}\r\n`), 'party', never), { sent: { kind: 'accepted' } })
    }
    t.equal(sink.connections, 2)
    t.same(
      sink.messages.map(({ raw }) => raw.toString()),
      ['0\r\n', '1\r\n'],
    )
  }
})

t.test('a fresh session that fails at MAIL is not tried again, nor a kept one that fails later', async (t) => {
  const fresh = await sinkFor(t, { script: { mail: 'reset' } })
  t.match(await poolFor(t).send(hostAt(fresh), outbound('a\r\n'), 'party', never), {
    sent: { kind: 'failed', stage: 'mail' },
  })
  t.equal(fresh.connections, 1)
  const later = await sinkFor(t, { script: { message: ({ taken }) => (taken === 1 ? 'drop' : '250 ok') } })
  const pool = poolFor(t)
  await pool.send(hostAt(later), outbound('a\r\n'), 'party', never)
  t.match(await pool.send(hostAt(later), outbound('b\r\n'), 'party', never), {
    sent: { kind: 'failed', stage: 'message' },
  })
  t.equal(later.connections, 1)
})

t.test('idle sessions make room: within a name, and in all', async (t) => {
  for (const settings of [{ connectionsPerHost: 1 }, { connections: 1 }]) {
    const one = await sinkFor(t)
    const two = await sinkFor(t)
    const pool = poolFor(t, { ...settings, idleTimeout: 600_000 })
    const other = { mx: settings.connections === undefined ? 'mx.test' : 'other.test' }
    await pool.send(hostAt(one), outbound('a\r\n'), 'party', never)
    await pool.send(hostAt(two, other), outbound('a\r\n'), 'party', never)
    await one.waitUntil(() => one.open === 0)
    t.equal(two.open, 1)
  }
})

t.test('closing ends all sessions with QUIT, and does not wait for a server that is silent', async (t) => {
  for (const quit of ['221 bye', 'hang'] as const) {
    const sink = await sinkFor(t, { script: { quit } })
    const pool = poolOf(clientDeps({ quit: 20 }))
    await Promise.all([1, 2, 3].map(() => pool.send(hostAt(sink), outbound('a\r\n'), 'party', never)))
    await pool.close()
    await sink.waitUntil(() => sink.open === 0)
    t.equal(sink.commands.filter((line) => line === 'QUIT').length, 3)
  }
})

t.test('an abort frees the connection and its place', async (t) => {
  const sink = await sinkFor(t, { script: { message: ({ connection }) => (connection === 0 ? 'hang' : '250 ok') } })
  const pool = poolFor(t, { connectionsPerHost: 1 })
  const stopping = new AbortController()
  const first = pool.send(hostAt(sink), outbound('a\r\n'), 'party', stopping.signal)
  const second = pool.send(hostAt(sink), outbound('b\r\n'), 'party', never)
  await sink.waitUntil(() => sink.commands.includes('DATA'))
  const reason = new Error('stopping')
  stopping.abort(reason)
  await t.rejects(first, reason)
  t.match(await second, { sent: { kind: 'accepted' } })
})

t.test('a host that cannot be reached is not called again for a while', async (t) => {
  const dead = await openSink()
  const { port } = dead
  await dead.close()
  let now = 0
  const pool = poolFor(t, {}, clientDeps(), () => now)
  const call = async (terms = {}) => pool.send(hostAt({ port }), outbound('a\r\n'), 'party', never, terms)
  const down = { kind: 'outage', why: `mx.test [127.0.0.1]:${port} (connection refused)` }
  t.match(await call(), { sent: refusedConnection })
  t.match(await call(), { ...down, until: 30_000 })
  t.match(await call({ insists: true }), { sent: refusedConnection }, 'called all the same')
  now = 30_000
  t.match(await call(), { sent: refusedConnection })
  now = 60_000
  t.match(await call(), { ...down, until: 90_000 }, 'longer the second time')
  now = 90_000
  const alive = await openSink({ port })
  t.teardown(() => alive.close())
  t.match(await call(), { sent: { kind: 'accepted' } })
})

t.test('unreachable: waits grow to five minutes, and a success forgets them', async (t) => {
  const hosts = new UnreachableHosts()
  const host = hostAt({ port: 25 })
  const waits: number[] = []
  let now = 0
  for (let round = 0; round < 6; round++) {
    hosts.recordResult(host, refusedConnection, now)
    hosts.recordResult(host, refusedConnection, now)
    const begun = now
    while (hosts.findOutage(host, now) !== null) now += 1_000
    waits.push(now - begun)
  }
  t.same(waits, [30_000, 60_000, 120_000, 240_000, 300_000, 300_000])
  hosts.recordResult(host, null, now)
  hosts.recordResult(host, refusedConnection, now)
  t.equal(hosts.findOutage(host, now + 30_000), null)
})

t.test('unreachable: a server that answers is not', async (t) => {
  const host = hostAt({ port: 25 })
  const table: readonly [SmtpFailure, boolean][] = [
    [refusedConnection, true],
    [{ ...refusedConnection, failure: 'timeout' }, true],
    [{ ...refusedConnection, failure: 'tls' }, false],
    [{ ...refusedConnection, stage: 'banner', failure: 'timeout' }, true],
    [{ ...refusedConnection, stage: 'banner', failure: 'closed' }, true],
    [{ ...refusedConnection, stage: 'banner', failure: 'reset' }, true],
    [{ ...refusedConnection, stage: 'banner', failure: 'protocol' }, false],
    [{ ...refusedConnection, stage: 'ehlo', failure: 'reset' }, false],
    [{ ...refusedConnection, stage: 'mail', failure: 'timeout' }, false],
    [{ kind: 'refused', stage: 'banner', reply: { code: 554, enhanced: null, text: '' } }, false],
  ]
  for (const [trouble, unreachable] of table) {
    const hosts = new UnreachableHosts()
    hosts.recordResult(host, trouble, 0)
    t.equal(hosts.findOutage(host, 1) !== null, unreachable, JSON.stringify(trouble))
  }
})

t.test('unreachable: what is known of all hosts of a destination', async (t) => {
  const hosts = new UnreachableHosts()
  const [one, two] = [hostAt({ port: 1 }, { mx: 'one.test' }), hostAt({ port: 2 }, { mx: 'two.test' })]
  hosts.recordResult(one, refusedConnection, 0)
  t.same(hosts.checkReachability([], 0), { kind: 'open' })
  t.same(hosts.checkReachability([one, two], 1_000), { kind: 'open' }, 'the other is called')
  hosts.recordResult(two, refusedConnection, 1_000)
  const why = 'one.test [127.0.0.1]:1 (connection refused)'
  t.same(
    hosts.checkReachability([two, one], 2_000),
    { kind: 'outage', until: 30_000, why },
    'until the first of them is called',
  )
  t.same(hosts.checkReachability([one, two], 30_000), { kind: 'probe' })
  hosts.recordResult(one, refusedConnection, 30_500)
  t.match(hosts.checkReachability([one, two], 30_600), { kind: 'outage', until: 31_000 })
  hosts.recordResult(one, null, 30_700)
  t.same(hosts.checkReachability([one, two], 30_700), { kind: 'open' })
  t.match(hosts.checkReachability([two], 30_700), { kind: 'outage' })
  hosts.expireAll(30_700)
  t.same(hosts.checkReachability([two], 30_700), { kind: 'probe' }, 'the operator has changed something')
  t.same(hosts.checkReachability([two], 30_700 + 599_999), { kind: 'probe' })
  t.same(hosts.checkReachability([two], 30_700 + 600_000), { kind: 'open' }, 'forgotten in the end')
  hosts.recordResult(two, refusedConnection, 700_000)
  t.match(hosts.checkReachability([two], 700_000), { until: 730_000 }, 'and begins anew')
  t.same(hosts.checkReachability([two], 400_000), { kind: 'open' }, 'a clock that was set back prolongs nothing')
})

t.test('a host that holds a session with us is no outage when it takes no second one', async (t) => {
  const sink = await sinkFor(t, {
    script: {
      banner: ({ connection }) => (connection === 0 ? '220 hello' : 'reset'),
      message: ({ connection }) => (connection === 0 ? taken : '250 ok'),
    },
  })
  let take: (answer: SinkAnswer) => void = () => undefined
  const taken = new Promise<SinkAnswer>((resolve) => {
    take = resolve
  })
  const pool = poolFor(t)
  const first = pool.send(hostAt(sink), outbound('a\r\n'), 'party', never)
  await sink.waitUntil(() => sink.commands.includes('DATA'))
  for (let round = 0; round < 2; round++) {
    t.match(await pool.send(hostAt(sink), outbound('b\r\n'), 'party', never), { sent: { kind: 'failed' } })
  }
  take('250 taken')
  t.match(await first, { sent: { kind: 'accepted' } })
  t.match(await pool.send(hostAt(sink), outbound('c\r\n'), 'party', never), { sent: { kind: 'accepted' } })
})

t.test('the clock of a message begins with its place at the host', async (t) => {
  const sink = await sinkFor(t, { script: { message: ({ taken }) => (taken === 0 ? held : '250 ok') } })
  let release: (answer: SinkAnswer) => void = () => undefined
  const held = new Promise<SinkAnswer>((resolve) => {
    release = resolve
  })
  const pool = poolFor(t, { connectionsPerHost: 1 })
  const begun: string[] = []
  const send = (name: string) =>
    pool.send(hostAt(sink), outbound(`${name}\r\n`), 'party', never, {
      begin: () => {
        begun.push(name)
        return never
      },
    })
  const both = [send('one'), send('two')]
  await sink.waitUntil(() => sink.commands.includes('DATA'))
  t.same(begun, ['one'])
  release('250 taken')
  await Promise.all(both)
  t.same(begun, ['one', 'two'])
})

t.test('unreachable: memory is bounded', async (t) => {
  const hosts = new UnreachableHosts()
  for (let port = 0; port <= 10_000; port++) hosts.recordResult(hostAt({ port }), refusedConnection, 0)
  t.equal(hosts.findOutage(hostAt({ port: 0 }), 1), null)
  t.ok(hosts.findOutage(hostAt({ port: 1 }), 1))
})

t.test('a host whose TLS is broken gets plain text for an hour', async (t) => {
  const certificate = await createSelfSigned(['mx.test'])
  const refusal: SinkOptions = { certificate, script: { starttls: '454 4.7.0 not now' } }
  for (const options of [{ broken: 'garbage' }, { broken: 'tls1.0', certificate }, refusal] as const) {
    const sink = await sinkFor(t, options)
    let now = 0
    const pool = poolFor(t, { messagesPerSession: 1 }, clientDeps(), () => now)
    const tries = () => sink.commands.filter((line) => line === 'STARTTLS').length
    t.match(await pool.send(hostAt(sink), outbound('a\r\n'), 'party', never), { sent: { kind: 'accepted' }, tls: null })
    await pool.send(hostAt(sink), outbound('b\r\n'), 'party', never)
    t.equal(tries(), 1)
    now = 3_600_000
    t.match(await pool.send(hostAt(sink), outbound('c\r\n'), 'party', never), { sent: { kind: 'accepted' } })
    t.equal(tries(), 2)
    t.equal(sink.messages.length, 3)
  }
})

t.test('plain text is never the way out where credentials, TLS by rule or an attack are at stake', async (t) => {
  const host = hostAt({ port: 25 })
  const auth = { user: 'me', pass: 'secret' }
  const broken: SmtpFailure = { kind: 'failed', stage: 'starttls', failure: 'tls', detail: 'handshake' }
  t.equal(mayFallBackToPlain(host, broken), true)
  t.equal(mayFallBackToPlain(host, { ...broken, failure: 'timeout' }), true)
  t.equal(mayFallBackToPlain(host, { ...broken, stage: 'ehlo' }), true, 'an alert may come late')
  t.equal(mayFallBackToPlain(host, { ...broken, failure: 'protocol' }), false)
  t.equal(mayFallBackToPlain(host, { ...broken, stage: 'ehlo', failure: 'closed' }), false)
  t.equal(mayFallBackToPlain({ ...host, auth }, broken), false)
  t.equal(mayFallBackToPlain({ ...host, tls: 'implicit' }, broken), false)
  const memory = new BrokenTlsHosts()
  memory.remember(host, 0)
  t.equal(memory.encryptionFor(host, 1), 'none')
  t.equal(memory.encryptionFor({ ...host, auth }, 1), 'offered')
  t.equal(memory.encryptionFor({ ...host, address: '127.0.0.2' }, 1), 'offered')
  for (let port = 1000; port < 11_000; port++) memory.remember({ ...host, port }, 0)
  t.equal(memory.encryptionFor(host, 1), 'offered', 'memory is bounded')
})
