/** A broadcast through the whole daemon: made over REST, sent to a sink, paused, resumed, cancelled, restarted. */
import t, { type Test } from 'tap'
import { type TestDaemon, type TestDaemonOptions, testDaemon } from '../helpers/daemon/test-daemon.js'
import { fileForm } from '../helpers/http/multipart.js'
import { openSink, type ScriptedSink, type SinkScript } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

interface Shown {
  readonly id: string
  readonly status: string
  readonly recipients: number
  readonly delivered: number
  readonly bounced: number
  readonly finished_at: string | null
  readonly waits_until: string | null
  readonly note: string | null
}

const routesTo = (sink: ScriptedSink): Record<string, ScriptedSink> =>
  Object.fromEntries(['b0.test', 'b1.test', 'b2.test', 'c.test'].map((domain) => [domain, sink]))

async function openRig(t: Test, script: SinkScript = {}, options: TestDaemonOptions = {}) {
  const sink = await openSink({ script })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { ...options, routes: routesTo(sink) })
  return { app, sink }
}

/** An audience of `count` contacts; returns its id. */
async function createAudience(app: TestDaemon, count: number): Promise<string> {
  const made = await app.rest('POST', '/v1/audiences', { body: { name: 'readers' } })
  const { id } = made.json<{ id: string }>()
  const lines = Array.from({ length: count }, (_, n) => `r${n}@b${n % 3}.test,Reader ${n}`)
  const file = fileForm(['email,first_name', ...lines, ''].join('\n'))
  const imported = await app.rest('POST', `/v1/audiences/${id}/import`, file)
  if (imported.status >= 300) throw new Error(imported.text)
  await waitUntil('the audience is there', async () => (await app.rows('select 1 from contacts')).length === count)
  return id
}

async function send(app: TestDaemon, audienceId: string, body: object = {}): Promise<string> {
  const draft = { name: 'May', audience_id: audienceId, from: 'News <news@a.test>', subject: 'For {{first_name}}' }
  const made = await app.rest('POST', '/v1/broadcasts', { body: { ...draft, text: 'Hello {{first_name|you}}' } })
  const { id } = made.json<{ id: string }>()
  const sent = await app.rest('POST', `/v1/broadcasts/${id}/send`, { body })
  if (sent.status !== 202) throw new Error(JSON.stringify(sent.json()))
  return id
}

const show = async (app: TestDaemon, id: string): Promise<Shown> =>
  (await app.rest('GET', `/v1/broadcasts/${id}`)).json<Shown>()

const act = async (app: TestDaemon, id: string, what: 'pause' | 'resume' | 'cancel'): Promise<number> =>
  (await app.rest('POST', `/v1/broadcasts/${id}/${what}`)).status

const finished = (app: TestDaemon, id: string): Promise<Shown> =>
  waitUntil('the broadcast is finished', async () => {
    const shown = await show(app, id)
    return shown.finished_at !== null && shown
  })

const recipientsOf = (sink: ScriptedSink): string[] =>
  sink.messages.flatMap(({ rcptTo }) => rcptTo.map((to) => /<([^>]*)>/.exec(to)?.[1] ?? '')).sort()

t.test('everyone gets a message of their own; who bounces is suppressed', async (t) => {
  const script: SinkScript = { rcpt: ({ line }) => (/<r1?7@/.test(line) ? '550 5.1.1 no such user' : '250 2.1.5 ok') }
  const { app, sink } = await openRig(t, script)
  const audienceId = await createAudience(app, 240)
  await app.rest('POST', '/v1/suppressions', { body: { email: 'r5@b2.test', reason: 'manual' } })
  const id = await send(app, audienceId)
  const shown = await finished(app, id)
  t.match(shown, { status: 'sent', recipients: 239, delivered: 237, bounced: 2, note: null })
  const reached = recipientsOf(sink)
  t.equal(reached.length, 237)
  t.equal(new Set(reached).size, 237)
  t.notOk(reached.includes('r5@b2.test'))
  const [message] = sink.messages.filter(({ rcptTo }) => rcptTo.some((to) => to.includes('<r3@b0.test>')))
  t.match(message?.raw.toString(), /^Subject: For Reader 3\r$/m)
  t.match(message?.raw.toString(), /^DKIM-Signature: /m)
  t.match(message?.raw.toString(), /^Message-ID: <bc-[0-9a-f-]{36}@mail\.service\.test>\r$/im)
  const suppressed = await app.rows<{ email: string }>(
    `select email from suppressions where reason = 'hard_bounce' order by 1`,
  )
  t.same(
    suppressed.map(({ email }) => email),
    ['r17@b2.test', 'r7@b1.test'],
  )
  t.same(app.errors, [])
})

t.test('pause, resume and cancel act on what waits, and mail of the workspace goes on meanwhile', async (t) => {
  const state = { open: false }
  const script: SinkScript = {
    rcpt: ({ line }) => (line.includes('@b') && !state.open ? '451 4.7.1 later' : '250 2.1.5 ok'),
  }
  const { app, sink } = await openRig(t, script, { settings: { outbound: { retry_schedule: ['1s'] } } })
  const audienceId = await createAudience(app, 300)
  const id = await send(app, audienceId)
  await waitUntil(
    'some were deferred',
    async () => (await app.rows('select 1 from queue where attempts > 0')).length > 20,
  )
  t.equal(await act(app, id, 'pause'), 200)
  await waitUntil('all are held', async () => (await app.rows('select 1 from queue where held = 0')).length === 0)
  const { out } = await app.cli('queue', 'list', '--status', 'held')
  t.match(out, /300 in the queue|\d+ in the queue/)
  t.notMatch(out, /queued|deferred/)
  t.match(out, /waits for its broadcast, which is paused/)
  const [held] = await app.rows<{ id: string }>('select id from queue limit 1')
  t.match(await app.cli('explain', held?.id ?? ''), { out: /waits for its broadcast, which is paused$/m })
  t.match(await app.cli('queue', 'release', held?.id ?? ''), { status: 1, out: /not changed, .*of a paused broadcast/ })
  const commands = sink.commands.filter((line) => line.startsWith('RCPT')).length
  const mail = await app.submitAccepted({ to: ['bob@c.test'] })
  await app.waitUntilSettled(mail)
  const later = sink.commands.filter((line) => line.startsWith('RCPT')).length
  t.equal(later - commands, 1, 'nothing of the broadcast was attempted')
  t.match(
    await app.cli(
      'queue',
      'retry',
      ...(await app.rows<{ id: string }>('select id from queue limit 1')).map((row) => row.id),
    ),
    {
      status: 1,
    },
  )
  state.open = true
  t.equal(await act(app, id, 'resume'), 200)
  app.advance(2_000)
  const shown = await finished(app, id)
  t.match(shown, { status: 'sent', recipients: 300, delivered: 300 })
  t.equal(new Set(recipientsOf(sink)).size, 301)

  state.open = false
  const second = await send(app, audienceId)
  await waitUntil(
    'some were deferred',
    async () => (await app.rows('select 1 from queue where attempts > 0')).length > 20,
  )
  t.equal(await act(app, second, 'cancel'), 200)
  t.match(await finished(app, second), { status: 'cancelled', delivered: 0 })
  t.same(await app.rows('select * from queue'), [])
  const states = await app.rows<{ status: string }>('select distinct status from emails where broadcast_id = ?', second)
  t.same(states, [{ status: 'cancelled' }])
  t.same(app.errors, [])
})

t.test('a restart in the middle goes on: each contact once', async (t) => {
  // Long enough for every attempt under way: one that is cut off may arrive twice.
  const { app, sink } = await openRig(t, {}, { stopTimeouts: { listeners: 100, delivery: 20_000 } })
  const audienceId = await createAudience(app, 300)
  const id = await send(app, audienceId)
  await waitUntil('some have arrived', () => sink.messages.length > 50)
  await app.stop()
  t.ok(app.errors.length === 0)
  const again = await testDaemon(t, { folder: app.folder, routes: routesTo(sink) })
  const row = await waitUntil('it is finished', async () => {
    const [found] = await again.rows<Record<string, unknown>>('select * from broadcasts where id = ?', id)
    return found?.['finished_at'] !== null && found
  })
  t.match(row, { status: 'sent' })
  t.equal(recipientsOf(sink).length, 300)
  t.equal(new Set(recipientsOf(sink)).size, 300)
  t.match(await again.rows('select * from broadcast_counts'), [{ recipients: 300, delivered: 300 }])
  t.same(again.errors, [])
})

t.test('a broadcast goes on while an older one to the same domains is paused', async (t) => {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const { app } = await openRig(t, { rcpt: () => opened.then(() => '250 2.1.5 ok') })
  const audienceId = await createAudience(app, 1_500)
  const paused = await send(app, audienceId)
  await waitUntil('its messages fill the queue', async () => (await app.rows('select 1 from queue')).length > 1_400)
  await act(app, paused, 'pause')
  open()
  const id = await send(app, audienceId)
  t.match(await finished(app, id), { status: 'sent', recipients: 1_500, delivered: 1_500 })
  t.match(await show(app, paused), { status: 'paused' })
  await act(app, paused, 'resume')
  t.match(await finished(app, paused), { status: 'sent', recipients: 1_500, delivered: 1_500 })
})
