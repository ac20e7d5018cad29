/**
 * Hosts that go down and come back. Only a connection that was tried counts as an attempt: entries that wait for a
 * remembered outage wait until it ends, uncounted.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { submitMessage, type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { openSink, type SinkAnswer } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const second = 1_000
/** More than two sweeps of the queue. */
const SOME_LOOKS = 1_200

interface Row {
  readonly id: string
  readonly attempts: number
  readonly enqueued_at: number
  readonly next_attempt_at: number
  readonly waits_for: string | null
}

const listQueued = (app: TestDaemon, where: string): Promise<Row[]> =>
  app.rows<Row>(`select id, attempts, enqueued_at, next_attempt_at, waits_for from queue where ${where} order by id`)

async function closedPort(): Promise<number> {
  const sink = await openSink()
  const { port } = sink
  await sink.close()
  return port
}

t.test('mail that soon expires, for a host that was down for a second', async (t) => {
  const port = await closedPort()
  const resetting = await openSink({ script: { banner: 'reset' } })
  const backup = await openSink()
  t.teardown(() => Promise.all([resetting.close(), backup.close()]))
  const app = await testDaemon(t, {
    routes: { 'b.test': { port }, 'r.test': resetting },
    zone: {
      'two.test': {
        mx: [
          [10, 'down.two.test'],
          [20, 'up.two.test'],
        ],
      },
      'down.two.test': { addresses: ['127.0.0.9'] },
      'up.two.test': { addresses: ['127.0.0.1'] },
    },
    settings: { outbound: { retry_schedule: ['1s'], expire_after: '15s', port: backup.port } },
  })

  await t.test('it gets a real last attempt at its deadline, and none is counted before', async (t) => {
    const id = await app.submitAccepted({ to: ['x@b.test'] })
    await app.waitUntilAttempted(id)
    const sink = await openSink({ port })
    t.teardown(() => sink.close())
    app.advance(2 * second)
    const [row] = await waitUntil('it waits for the host', async () => {
      const rows = await listQueued(app, `domain = 'b.test' and waits_for is not null`)
      return rows.length > 0 && rows
    })
    const why = `mx.b.test [127.0.0.1]:${port} (connection refused)`
    t.match(row, { attempts: 1, waits_for: why })
    t.equal(row?.next_attempt_at, (row?.enqueued_at ?? 0) + 15 * second, 'no later than its deadline')
    t.equal(sink.connections, 0)
    const next = new Date(row?.next_attempt_at ?? 0).toISOString()
    t.match((await app.findStory(id)).recipients, [
      { attempts: [{ number: 1 }], next_attempt_at: next, waits_for: why },
    ])
    t.equal((await app.findStory(id)).recipients[0]?.attempts.length, 1)
    const shown = await app.rest('GET', `/v1/emails/${id}`)
    t.match(shown.json(), { recipients: [{ attempts: 1, next_attempt_at: next }] })
    for (const asked of [id, row?.id ?? '']) {
      const { out } = await app.cli('explain', asked)
      t.ok(out.includes(`waits for ${why}, which is not called before ${next}; no attempt is counted`), out)
    }
    t.match((await app.cli('queue', 'show', row?.id ?? '', '--json')).json(), { attempts: 1, waits_for: why })
    t.ok((await app.cli('queue', 'list')).out.includes(`waits for ${why}`))
    app.advance(13 * second)
    t.match(await app.waitUntilSettled(id), { status: 'delivered', recipients: [{ attempts: [{}, { number: 2 }] }] })
    t.equal(sink.connections, 1)
    t.same(await listQueued(app, '1 = 1'), [])
  })

  await t.test('a reset in place of a greeting is remembered, and expires after a second one', async (t) => {
    const id = await app.submitAccepted({ to: ['x@r.test'] })
    await app.waitUntilAttempted(id)
    for (let round = 0; round < 10; round += 1) {
      app.advance(second)
      await waitUntil('it waits', async () => (await listQueued(app, `next_attempt_at <= ${app.now()}`)).length === 0)
    }
    t.match(await listQueued(app, '1 = 1'), [
      { attempts: 1, waits_for: /^mx\.r\.test \[127\.0\.0\.1\]:\d+ \(connection (reset|closed)\)$/ },
    ])
    t.equal(resetting.connections, 1)
    app.advance(6 * second)
    const { status, recipients } = await app.waitUntilSettled(id)
    t.equal(status, 'failed')
    t.match(recipients, [{ reason: 'expired', attempts: [{ outcome: 'deferred' }, { number: 2, outcome: 'failed' }] }])
    t.equal(recipients[0]?.attempts.length, resetting.connections, 'each attempt in the record was one on the wire')
  })

  await t.test('if one of two hosts is down, the other is tried at once', async (t) => {
    for (const name of ['one', 'two']) {
      const id = await app.submitAccepted({ to: [`${name}@two.test`] })
      const { status, recipients } = await app.waitUntilSettled(id)
      t.match({ status, recipients }, { status: 'delivered', recipients: [{ mx: 'up.two.test', attempts: [{}] }] })
      t.equal(recipients[0]?.transcript?.includes('not connected to down.two.test'), name === 'one', name)
    }
    t.equal(backup.messages.length, 2)
  })
  t.same(app.errors, [])
})

t.test('one of many entries that wait for a host finds out that it is back, then the rest goes', async (t) => {
  const answers: ((answer: SinkAnswer) => void)[] = []
  const greeting = (): Promise<SinkAnswer> => new Promise((resolve) => answers.push(resolve))
  const sink = await openSink({
    script: { banner: ({ connection }) => (connection === 0 ? 'reset' : connection < 3 ? greeting() : '220 hello') },
  })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const first = await app.submitAccepted({ to: ['first@b.test'] })
  await app.waitUntilAttempted(first)

  const client = await app.openSession()
  for (let n = 0; n < 60; n += 1) t.match(await submitMessage(client, { to: [`r${n}@b.test`] }), /^250/)
  const others = await app.submitAccepted({ key: app.otherKey, from: 'app@other.test', to: ['next@b.test'] })
  const waiting = `recipient <> 'first@b.test'`
  const allWait = (): Promise<true> =>
    waitUntil(
      'all wait',
      async () => (await listQueued(app, `${waiting} and leased = 0 and next_attempt_at > ${app.now()}`)).length === 61,
    )
  await allWait()
  const [until30] = await listQueued(app, waiting)
  t.ok(
    (await listQueued(app, waiting)).every(
      ({ attempts, next_attempt_at }) => attempts === 0 && next_attempt_at === until30?.next_attempt_at,
    ),
  )
  t.equal(sink.connections, 1)
  t.match((await app.findStory(others)).recipients, [{ status: 'queued', attempts: [], waits_for: /^mx\.b\.test / }])

  app.advance(30 * second)
  await sink.waitUntil(() => answers.length === 1)
  await sleep(SOME_LOOKS)
  t.equal(sink.connections, 2, 'one finds out')
  answers[0]?.('reset')
  await waitUntil(
    'all but the one that found out wait again',
    async () =>
      (
        await listQueued(
          app,
          `${waiting} and leased = 0 and attempts = 0 and next_attempt_at > ${app.now() + 50 * second}`,
        )
      ).length === 60,
  )
  t.equal(sink.connections, 2)

  app.advance(60 * second)
  await sink.waitUntil(() => answers.length === 2)
  await sleep(SOME_LOOKS)
  t.equal(sink.connections, 3)
  answers[1]?.('220 hello')
  const { recipients } = await app.waitUntilSettled(others)
  t.match(recipients, [{ status: 'delivered', attempts: [{ number: 1 }] }])
  await waitUntil(
    'only what found out waits, for its next attempt',
    async () => (await listQueued(app, '1 = 1')).length === 2,
  )
  t.equal(
    (await app.rows('select * from attempts')).length,
    sink.messages.length + 2,
    'two attempts failed, and both were made',
  )
  t.same(app.errors, [])
})

t.test('a retry by the operator is attempted, whatever outage is remembered', async (t) => {
  const port = await closedPort()
  const app = await testDaemon(t, { routes: { 'b.test': { port } } })
  const id = await app.submitAccepted({ to: ['x@b.test'] })
  await app.waitUntilAttempted(id)
  const later = await app.submitAccepted({ to: ['y@b.test'] })
  await waitUntil('it waits', async () => (await app.findStory(later)).recipients[0]?.waits_for)
  const sink = await openSink({ port })
  t.teardown(() => sink.close())
  t.match(await app.cli('queue', 'retry', '--domain', 'b.test'), { status: 0, out: /2 due now/ })
  t.match(await app.waitUntilSettled(id), { status: 'delivered' })
  t.match(await app.waitUntilSettled(later), { status: 'delivered', recipients: [{ attempts: [{ number: 1 }] }] })
})
