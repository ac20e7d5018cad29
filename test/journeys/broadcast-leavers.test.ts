/** Who leaves while a broadcast is paused gets nothing when it goes on, through the whole daemon. */
import { createSecretKey } from 'node:crypto'
import t, { type Test } from 'tap'
import { createUnsubscribeToken } from '../../src/base/mail/recipient-token.js'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { openSink, type ScriptedSink, type SinkScript } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const COUNT = 12

interface Waiting {
  readonly id: string
  readonly email_id: string
  readonly recipient: string
}

interface Shown {
  readonly finished_at: string | null
}

interface Rig {
  readonly app: TestDaemon
  readonly sink: ScriptedSink
  /** The broadcast, which is being sent to `COUNT` contacts. */
  readonly id: string
}

async function openRig(t: Test, script: SinkScript): Promise<Rig> {
  const sink = await openSink({ script })
  t.teardown(() => sink.close())
  const outbound = { retry_schedule: ['1s'], max_connections: 4 }
  const app = await testDaemon(t, { routes: { 'b.test': sink }, settings: { outbound } })
  const create = async (path: string, body: object): Promise<string> =>
    (await app.rest('POST', path, { body })).json<{ id: string }>().id
  const audienceId = await create('/v1/audiences', { name: 'readers' })
  for (let n = 0; n < COUNT; n += 1) await create('/v1/contacts', { email: `r${n}@b.test`, audience_id: audienceId })
  const draft = { name: 'May', audience_id: audienceId, from: 'news@a.test', subject: 'News', text: 'Hello' }
  const id = await create('/v1/broadcasts', draft)
  t.match(await app.rest('POST', `/v1/broadcasts/${id}/send`, { body: {} }), { status: 202 })
  return { app, sink, id }
}

async function pause({ app, id }: Rig, attempts: 0 | 1): Promise<readonly Waiting[]> {
  const sql =
    'select id, email_id, recipient from queue where held = ? and leased = 0 and (case when attempts > 0 then 1 else 0 end) = ?'
  await waitUntil('some wait', async () => (await app.rows(sql, 0, attempts)).length >= 4)
  t.match(await app.rest('POST', `/v1/broadcasts/${id}/pause`), { status: 200 })
  await waitUntil(
    'they are held',
    async () => (await app.rows('select 1 from queue where held = 0 and leased = 0')).length === 0,
  )
  return app.rows<Waiting & Record<string, unknown>>(`${sql} limit 4`, 2, attempts)
}

/** One unsubscribes, one is deleted, one is suppressed; the fourth unsubscribes and undoes it. */
async function leave({ app }: Rig, [first, second, third, fourth]: readonly Waiting[]): Promise<void> {
  if (first === undefined || second === undefined || third === undefined || fourth === undefined)
    throw new Error('fewer than four messages wait')
  const [row] = await app.rows<{ value: string }>(`select value from service_state where key = 'return_path_secret'`)
  const secret = createSecretKey(row?.value ?? '', 'base64')
  const ask = async ({ id }: Waiting, body: string): Promise<string> => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const path = `/v1/unsubscribe/${createUnsubscribeToken(secret, id)}`
    return (await app.rest('POST', path, { key: null, body, headers })).text
  }
  t.match(await ask(first, ''), /You are unsubscribed</)
  const [contact] = await app.rows<{ id: string }>('select id from contacts where email = ?', second.recipient)
  t.match(await app.rest('DELETE', `/v1/contacts/${contact?.id}`), { status: 200 })
  t.match(await app.rest('POST', '/v1/suppressions', { body: { email: third.recipient } }), { status: 201 })
  t.match(await ask(fourth, ''), /You are unsubscribed</)
  t.match(await ask(fourth, 'undo=1'), /You are subscribed</)
}

async function checkEnd(t: Test, { app, sink, id }: Rig, waiting: readonly Waiting[]): Promise<void> {
  t.match(await app.rest('POST', `/v1/broadcasts/${id}/resume`), { status: 200 })
  app.advance(2_000)
  const shown = await waitUntil('the broadcast ends', async () => {
    const found = (await app.rest('GET', `/v1/broadcasts/${id}`)).json<Shown>()
    return found.finished_at !== null && found
  })
  const counts = { recipients: COUNT, queued: 0, delivered: COUNT - 3, cancelled: 3, failed: 0, unsubscribed: 1 }
  t.match(shown, { status: 'sent', ...counts })
  const left = waiting.slice(0, 3)
  const reached = sink.messages.flatMap(({ rcptTo }) => rcptTo.map((to) => /<([^>]*)>/.exec(to)?.[1] ?? ''))
  t.equal(new Set(reached).size, COUNT - 3)
  t.equal(reached.length, COUNT - 3)
  for (const { id: recipientId, email_id: emailId, recipient } of left) {
    t.notOk(reached.includes(recipient), recipient)
    t.match((await app.rest('GET', `/v1/emails/${emailId}`)).json(), { status: 'cancelled' })
    t.match(await app.rows('select status, settled_at from recipients where id = ?', recipientId), [
      { status: 'cancelled', settled_at: Number },
    ])
  }
  t.same(await app.rows(`select 1 from events where type in ('email.failed', 'email.bounced')`), [])
  t.same(await app.rows('select 1 from queue'), [])
  t.same(app.errors, [])
}

t.test('who leaves before the first attempt gets nothing', async (t) => {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const rig = await openRig(t, { rcpt: () => opened.then(() => '250 2.1.5 ok') })
  const waiting = await pause(rig, 0)
  await leave(rig, waiting)
  open()
  await checkEnd(t, rig, waiting)
})

t.test('who leaves between two attempts gets nothing', async (t) => {
  const state = { open: false }
  const rig = await openRig(t, { rcpt: () => (state.open ? '250 2.1.5 ok' : '451 4.7.1 later') })
  const waiting = await pause(rig, 1)
  await leave(rig, waiting)
  state.open = true
  await checkEnd(t, rig, waiting)
})
