import t, { type Test } from 'tap'
import type { Clock } from '../../../../src/base/platform/clock.js'
import type { SessionOpener } from '../../../../src/outbound/delivery/sessions/session-opener.js'
import { BrokenTlsHosts, mayFallBackToPlain } from '../../../../src/outbound/delivery/sessions/session-opener.js'
import { SessionPool } from '../../../../src/outbound/delivery/sessions/session-pool.js'
import type { SmtpFailure } from '../../../../src/outbound/delivery/smtp/send-result.js'
import type { SmtpClientDeps } from '../../../../src/outbound/delivery/smtp/smtp-client.js'
import { createSelfSigned } from '../../../helpers/certificates.js'
import { createFreePace } from '../../../helpers/free-pace.js'
import { openSink, type ScriptedSink, type SinkAnswer, type SinkOptions } from '../../../helpers/smtp/scripted-sink.js'
import {
  clientDeps,
  hostAt,
  manyConnections,
  never,
  outbound,
  type PoolSettings,
  poolOf,
} from '../../../helpers/smtp/sink-client.js'

async function sinkFor(t: Test, options: SinkOptions = {}): Promise<ScriptedSink> {
  const sink = await openSink(options)
  t.teardown(() => sink.close())
  return sink
}

function poolFor(t: Test, settings: PoolSettings = {}, deps?: SmtpClientDeps, clock?: Clock): SessionPool {
  const pool = poolOf(deps, settings, clock)
  t.teardown(() => pool.close())
  return pool
}

t.test('keeps a session for the next message to the same host', async (t) => {
  const sink = await sinkFor(t)
  const pool = poolFor(t)
  for (let round = 0; round < 5; round++) {
    t.match(await pool.send(hostAt(sink), outbound('a\r\n'), never), { sent: { kind: 'accepted' } })
  }
  t.equal(sink.connections, 1)
  t.equal(sink.messages.length, 5)
})

t.test('each of our addresses keeps its sessions', async (t) => {
  const sink = await sinkFor(t)
  const pool = poolFor(t, { max_connections_per_host: 1 })
  for (let round = 0; round < 3; round++) {
    for (const source of ['127.0.0.2', '127.0.0.3'])
      t.match(await pool.send(hostAt(sink, { source }), outbound('a\r\n'), never), { sent: { kind: 'accepted' } })
  }
  t.equal(sink.connections, 2)
})

t.test('another address, user or kind of TLS is another session', async (t) => {
  const sink = await sinkFor(t, { extensions: ['AUTH PLAIN'] })
  const pool = poolFor(t)
  const auth = { user: 'me', pass: 'secret' }
  for (const host of [hostAt(sink), hostAt(sink, { auth }), hostAt(sink, { auth: { ...auth, pass: 'other' } })]) {
    await pool.send(host, outbound('a\r\n'), never)
  }
  t.equal(sink.connections, 3)
})

t.test('a session ends after so many messages', async (t) => {
  const sink = await sinkFor(t)
  const pool = poolFor(t, { messagesPerSession: 2 })
  for (let round = 0; round < 5; round++) await pool.send(hostAt(sink), outbound('a\r\n'), never)
  t.equal(sink.connections, 3)
  await sink.waitUntil(() => sink.open === 1)
  t.equal(sink.commands.filter((line) => line === 'QUIT').length, 2)
})

t.test('an idle session says QUIT after a while', async (t) => {
  const sink = await sinkFor(t)
  const pool = poolFor(t, { idleTimeout: 10 })
  await pool.send(hostAt(sink), outbound('a\r\n'), never)
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
    await pool.send(hostAt(sink), outbound('a\r\n'), never)
    end(sink)
    await sink.waitUntil(() => sink.open === 0)
    t.match(await pool.send(hostAt(sink), outbound('b\r\n'), never), { sent: { kind: 'accepted' } })
    t.equal(sink.connections, 2)
  }
})

t.test('a kept session that fails at MAIL is replaced once', async (t) => {
  for (const end of ['reset', 'drop', '421 4.4.2 timed out'] as const) {
    const sink = await sinkFor(t, { script: { mail: ({ taken }) => (taken === 1 ? end : '250 ok') } })
    const pool = poolFor(t)
    for (let round = 0; round < 2; round++) {
      t.match(await pool.send(hostAt(sink), outbound(`${round}\r\n`), never), { sent: { kind: 'accepted' } })
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
  t.match(await poolFor(t).send(hostAt(fresh), outbound('a\r\n'), never), {
    sent: { kind: 'failed', stage: 'mail' },
  })
  t.equal(fresh.connections, 1)
  const later = await sinkFor(t, { script: { message: ({ taken }) => (taken === 1 ? 'drop' : '250 ok') } })
  const pool = poolFor(t)
  await pool.send(hostAt(later), outbound('a\r\n'), never)
  t.match(await pool.send(hostAt(later), outbound('b\r\n'), never), {
    sent: { kind: 'failed', stage: 'message' },
  })
  t.equal(later.connections, 1)
})

t.test('idle sessions make room: within a name, and in all', async (t) => {
  for (const settings of [{ max_connections_per_host: 1 }, { max_connections: 1 }]) {
    const one = await sinkFor(t)
    const two = await sinkFor(t)
    const pool = poolFor(t, { ...settings, idleTimeout: 600_000 })
    const other = { mx: settings.max_connections === undefined ? 'mx.test' : 'other.test' }
    await pool.send(hostAt(one), outbound('a\r\n'), never)
    await pool.send(hostAt(two, other), outbound('a\r\n'), never)
    await one.waitUntil(() => one.open === 0)
    t.equal(two.open, 1)
  }
})

t.test('closing ends all sessions with QUIT, and does not wait for a server that is silent', async (t) => {
  for (const quit of ['221 bye', 'hang'] as const) {
    const sink = await sinkFor(t, { script: { quit } })
    const pool = poolOf(clientDeps({ quit: 20 }))
    await Promise.all([1, 2, 3].map(() => pool.send(hostAt(sink), outbound('a\r\n'), never)))
    await pool.close()
    await sink.waitUntil(() => sink.open === 0)
    t.equal(sink.commands.filter((line) => line === 'QUIT').length, 3)
  }
})

t.test('an abort ends the session of its message alone', async (t) => {
  const sink = await sinkFor(t, { script: { message: ({ connection }) => (connection === 0 ? 'hang' : '250 ok') } })
  const pool = poolFor(t)
  const stopping = new AbortController()
  const first = pool.send(hostAt(sink), outbound('a\r\n'), stopping.signal)
  await sink.waitUntil(() => sink.commands.includes('DATA'))
  const reason = new Error('stopping')
  stopping.abort(reason)
  await t.rejects(first, reason)
  await t.rejects(pool.send(hostAt(sink), outbound('a\r\n'), stopping.signal), reason)
  t.match(await pool.send(hostAt(sink), outbound('b\r\n'), never), { sent: { kind: 'accepted' } })
  t.equal(sink.connections, 2)
})

t.test('a host that cannot be reached is not called again for a while', async (t) => {
  const dead = await openSink()
  const { port } = dead
  await dead.close()
  let now = 0
  const pool = poolFor(t, {}, clientDeps(), () => now)
  const call = async (ignoreOutages = false) => pool.send(hostAt({ port }), outbound('a\r\n'), never, ignoreOutages)
  const down = { kind: 'outage', why: `mx.test [127.0.0.1]:${port} (connection refused)` }
  t.match(await call(), { sent: { kind: 'failed', stage: 'connect', failure: 'refused' } })
  t.match(await call(), { ...down, until: 30_000 })
  t.match(await call(true), { sent: { kind: 'failed', stage: 'connect', failure: 'refused' } }, 'called all the same')
  now = 30_000
  t.match(await call(), { sent: { kind: 'failed', stage: 'connect', failure: 'refused' } })
  now = 60_000
  t.match(await call(), { ...down, until: 90_000 }, 'longer the second time')
  now = 90_000
  const alive = await openSink({ port })
  t.teardown(() => alive.close())
  t.match(await call(), { sent: { kind: 'accepted' } })
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
  const first = pool.send(hostAt(sink), outbound('a\r\n'), never)
  await sink.waitUntil(() => sink.commands.includes('DATA'))
  for (let round = 0; round < 2; round++) {
    t.match(await pool.send(hostAt(sink), outbound('b\r\n'), never), { sent: { kind: 'failed' } })
  }
  take('250 taken')
  t.match(await first, { sent: { kind: 'accepted' } })
  t.match(await pool.send(hostAt(sink), outbound('c\r\n'), never), { sent: { kind: 'accepted' } })
})

t.test('a refusal because of IPv6 is no matter of pace', async (t) => {
  const pace = createFreePace()
  const shut = (text: string): Pick<SessionOpener, 'open'> => {
    const failure = { kind: 'refused', stage: 'banner', reply: { code: 554, enhanced: '5.7.1', text } } as const
    return {
      open: async () => ({ kind: 'shut', failure, tls: null, transcript: '', tlsFailure: null, localAddress: null }),
    }
  }
  const host = hostAt({ port: 25 }, { address: '2001:db8::1' })
  for (const [text, isPaused] of [
    ['your IPv6 address has no PTR record', false],
    ['your address is blocked', true],
  ] as const) {
    const pool = new SessionPool(shut(text), () => manyConnections, { of: () => pace })
    const exchange = await pool.send(host, outbound('a\r\n'), never)
    t.equal('retryAt' in exchange, isPaused, text)
    t.equal(pace.state.pause !== null, isPaused)
  }
})

t.test('a host whose TLS is broken gets plain text for an hour', async (t) => {
  const certificate = await createSelfSigned(['mx.test'])
  const refusal: SinkOptions = { certificate, script: { starttls: '454 4.7.0 not now' } }
  for (const options of [{ broken: 'garbage' }, { broken: 'tls1.0', certificate }, refusal] as const) {
    const sink = await sinkFor(t, options)
    let now = 0
    const pool = poolFor(t, { messagesPerSession: 1 }, clientDeps(), () => now)
    const tries = () => sink.commands.filter((line) => line === 'STARTTLS').length
    t.match(await pool.send(hostAt(sink), outbound('a\r\n'), never), { sent: { kind: 'accepted' }, tls: null })
    await pool.send(hostAt(sink), outbound('b\r\n'), never)
    t.equal(tries(), 1)
    now = 3_600_000
    t.match(await pool.send(hostAt(sink), outbound('c\r\n'), never), { sent: { kind: 'accepted' } })
    t.equal(tries(), 2)
    t.equal(sink.messages.length, 3)
  }
})

t.test('there is no fallback to plain text with credentials, required TLS or a protocol violation', async (t) => {
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
