/** Scheduled messages, also across restarts. */
import t from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const hour = 3_600_000

const later = (app: TestDaemon, ahead: number): string => new Date(app.now() + ahead).toISOString()

t.test('a scheduled message waits for its time, also over a restart', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const routes = { 'b.test': sink }
  const first = await testDaemon(t, { routes })
  const at = later(first, 2 * hour)
  const fields = [`X-Service-Scheduled-For: ${at}`]
  const id = await first.submitAccepted({ to: ['bob@b.test', 'carol@b.test'], fields })
  const held = await first.submitAccepted({ fields })
  t.match(await first.findStory(id), {
    status: 'scheduled',
    scheduled_for: at,
    recipients: [
      { status: 'scheduled', next_attempt_at: at },
      { status: 'scheduled', next_attempt_at: at },
    ],
  })
  t.match((await first.cli('queue', 'list', '--json')).json(), { data: [{ status: 'scheduled' }, {}, {}] })
  t.equal((await first.waitUntilSettled(await first.submitAccepted())).status, 'delivered', 'others do not wait')
  await first.stop()

  const app = await testDaemon(t, { routes, folder: first.folder, ahead: hour })
  const [entry] = await app.rows<{ id: string }>('select id from queue where email_id = ?', held)
  t.equal((await app.cli('queue', 'hold', entry?.id ?? '')).status, 0)
  t.equal((await app.waitUntilSettled(await app.submitAccepted())).status, 'delivered')
  t.equal((await app.findStory(id)).status, 'scheduled', 'an hour before its time')
  t.equal(sink.messages.length, 2)
  app.advance(hour)
  t.match(await app.waitUntilSettled(id), {
    status: 'delivered',
    recipients: [{ status: 'delivered' }, { status: 'delivered' }],
  })
  t.equal(sink.messages.length, 4)
  t.match(await app.findStory(held), { status: 'scheduled', recipients: [{ held: true }] })
  t.equal((await app.cli('queue', 'release', entry?.id ?? '')).status, 0)
  t.equal((await app.waitUntilSettled(held)).status, 'delivered')
  t.same([...first.errors, ...app.errors], [])
})

t.test('its age counts from its scheduled time', async (t) => {
  const sink = await openSink({ script: { rcpt: '450 4.2.0 later' } })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, {
    routes: { 'b.test': sink },
    settings: { outbound: { retry_schedule: ['1h'], expire_after: '3h' } },
  })
  const id = await app.submitAccepted({ fields: [`X-Service-Scheduled-For: ${later(app, 48 * hour)}`] })
  app.advance(48 * hour + 1000)
  t.equal((await app.waitUntilAttempted(id)).status, 'queued', 'the first attempt does not expire it')
})

t.test('a time in the past means now', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const id = await app.submitAccepted({ fields: [`X-Service-Scheduled-For: ${later(app, -hour)}`] })
  t.match(await app.waitUntilSettled(id), { status: 'delivered', scheduled_for: null })
})

t.test('the operator retries a scheduled message at once, or deletes it', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const fields = [`X-Service-Scheduled-For: ${later(app, hour)}`]
  const [now, never] = [await app.submitAccepted({ fields }), await app.submitAccepted({ fields })]
  const entryOf = async (id: string): Promise<string> =>
    (await app.rows<{ id: string }>('select id from queue where email_id = ?', id))[0]?.id ?? ''
  t.equal((await app.cli('queue', 'retry', await entryOf(now))).status, 0)
  t.equal((await app.waitUntilSettled(now)).status, 'delivered')
  t.equal((await app.cli('queue', 'delete', await entryOf(never))).status, 0)
  t.match(await app.findStory(never), { status: 'failed', recipients: [{ status: 'failed', reason: 'operator' }] })
})

t.test('stopping releases a hanging attempt, which does not count', async (t) => {
  const sink = await openSink({ script: { rcpt: 'hang' } })
  t.teardown(() => sink.close())
  const first = await testDaemon(t, { routes: { 'b.test': sink } })
  const id = await first.submitAccepted()
  await sink.waitUntil(() => sink.commands.some((line) => line.startsWith('RCPT')))
  const row = async (app: TestDaemon): Promise<unknown> =>
    (await app.rows('select attempts, leased from queue where email_id = ?', id))[0]
  t.same(await row(first), { attempts: 1, leased: 1 }, 'counted before the dial')
  t.match((await first.cli('queue', 'list', '--json')).json(), { data: [{ status: 'sending' }] })
  t.equal((await first.cli('queue', 'delete', '--domain', 'b.test')).status, 1, 'what is on the wire is left alone')
  await first.stop()

  const good = await openSink()
  t.teardown(() => good.close())
  const list = (await first.cli('queue', 'list', '--json')).json()
  t.match(list, { data: [{ email_id: id, status: 'queued', attempts: 0 }] }, 'without a daemon')
  const app = await testDaemon(t, { folder: first.folder, routes: { 'b.test': good } })
  t.match(await app.waitUntilSettled(id), { status: 'delivered', recipients: [{ attempts: [{ number: 1 }] }] })
  t.same([...first.errors, ...app.errors], [])
})

t.test('an attempt that a crash cut off is made again', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const first = await testDaemon(t, { zone: { 'b.test': 'failure' } })
  const ids = [await first.submitAccepted(), await first.submitAccepted()]
  for (const id of ids) await first.waitUntilAttempted(id)
  const { commit } = first.daemon.database
  const parameters = [first.now() + 15 * 60_000]
  const sql = 'update queue set leased = 1, next_attempt_at = ?, attempts ='
  await commit([
    { sql: `${sql} 1 where email_id = '${ids[0]}'`, parameters },
    { sql: `${sql} 3 where email_id = '${ids[1]}'`, parameters },
  ])
  await first.stop()

  const app = await testDaemon(t, { folder: first.folder, routes: { 'b.test': sink } })
  t.equal((await app.waitUntilSettled(ids[0] ?? '')).status, 'delivered', 'a first attempt at once')
  t.equal((await app.findStory(ids[1] ?? '')).status, 'queued', 'a later one after a pause')
  app.advance(2 * 60_000)
  await waitUntil('the other', async () => (await app.findStory(ids[1] ?? '')).status === 'delivered')
})
