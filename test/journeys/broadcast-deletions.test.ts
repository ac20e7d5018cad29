/** What is deleted while a broadcast depends on it, or the broadcast itself, through the whole daemon. */
import t, { type Test } from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const HOUR = 3_600_000
const COUNT = 40

interface Shown {
  readonly id: string
  readonly status: string
  readonly recipients: number
  readonly failed: number
  readonly cancelled: number
  readonly note: string | null
  readonly finished_at: string | null
}

interface Sender {
  readonly key: string
  readonly workspaceId: string
  readonly from: string
}

/** Nothing is delivered: every recipient is deferred for an hour. */
async function openApp(t: Test): Promise<{ app: TestDaemon; own: Sender; other: Sender }> {
  const sink = await openSink({ script: { rcpt: '451 4.7.1 later' } })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink }, settings: { outbound: { retry_schedule: ['1h'] } } })
  return {
    app,
    own: { key: app.key, workspaceId: app.workspaceId, from: 'news@a.test' },
    other: { key: app.otherKey, workspaceId: app.otherWorkspaceId, from: 'news@other.test' },
  }
}

async function create(app: TestDaemon, path: string, body: object, { key }: Sender): Promise<string> {
  const answer = await app.rest('POST', path, { body, key })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.json<Shown>().id
}

/** Sends a broadcast to `COUNT` contacts. */
async function send(app: TestDaemon, sender: Sender, body: object = {}): Promise<string> {
  const audience = await create(app, '/v1/audiences', { name: 'readers' }, sender)
  for (let n = 0; n < COUNT; n += 1) {
    await create(app, '/v1/contacts', { email: `r${n}@b.test`, audience_id: audience }, sender)
  }
  const draft = { name: 'May', audience_id: audience, from: sender.from, subject: 'News', text: 'Hello' }
  const id = await create(app, '/v1/broadcasts', draft, sender)
  const sent = await app.rest('POST', `/v1/broadcasts/${id}/send`, { body, key: sender.key })
  if (sent.status !== 202) throw new Error(sent.text)
  return id
}

const waitUntilDeferred = (app: TestDaemon): Promise<unknown> =>
  waitUntil('all are deferred', async () => {
    const rows = await app.rows('select 1 from queue where broadcast_id is not null and attempts = 1 and leased = 0')
    return rows.length === COUNT
  })

const show = async (app: TestDaemon, id: string): Promise<Shown> =>
  (await app.rest('GET', `/v1/broadcasts/${id}`)).json<Shown>()

const waitForStatus = (app: TestDaemon, id: string, status: string): Promise<Shown> =>
  waitUntil(`the broadcast is ${status}`, async () => {
    const shown = await show(app, id)
    return shown.status === status && shown
  })

async function deleteDomain(app: TestDaemon, name: string): Promise<number> {
  const [domain] = await app.rows<{ id: string }>('select id from domains where domain = ?', name)
  return (await app.rest('DELETE', `/v1/domains/${domain?.id}`)).status
}

t.test('the sender domain, while messages wait: they fail, and the broadcast ends', async (t) => {
  const { app, own } = await openApp(t)
  const id = await send(app, own)
  await waitUntilDeferred(app)
  t.equal(await deleteDomain(app, 'a.test'), 200)
  t.match(await waitForStatus(app, id, 'sent'), { recipients: COUNT, failed: COUNT, finished_at: /Z$/ })
  t.same(app.errors, [])
})

t.test('the sender domain, while messages are held by a pause: they fail too', async (t) => {
  const { app, own } = await openApp(t)
  const id = await send(app, own)
  await waitUntilDeferred(app)
  t.equal((await app.rest('POST', `/v1/broadcasts/${id}/pause`)).status, 200)
  await waitUntil('all are held', async () => (await app.rows('select 1 from queue where held = 2')).length === COUNT)
  t.equal(await deleteDomain(app, 'a.test'), 200)
  await waitUntil('they fail', async () => (await show(app, id)).failed === COUNT)
  t.equal((await app.rest('POST', `/v1/broadcasts/${id}/resume`)).status, 200)
  await waitForStatus(app, id, 'sent')
  t.same(app.errors, [])
})

t.test('the sender domain, before the broadcast starts: it is paused with a note', async (t) => {
  const { app, own } = await openApp(t)
  const id = await send(app, own, { scheduled_for: new Date(app.now() + HOUR).toISOString() })
  t.equal(await deleteDomain(app, 'a.test'), 200)
  app.advance(HOUR)
  const paused = await waitForStatus(app, id, 'paused')
  t.match(paused, { recipients: 0, note: 'a.test is not a verified domain of this workspace' })
  t.equal((await app.rest('DELETE', `/v1/broadcasts/${id}`)).status, 409)
  t.equal((await app.rest('POST', `/v1/broadcasts/${id}/cancel`)).status, 200)
  t.match(await waitUntil('it ends', async () => (await show(app, id)).finished_at !== null && show(app, id)), {
    status: 'cancelled',
  })
  t.equal((await app.rest('DELETE', `/v1/broadcasts/${id}`)).status, 200)
  t.same(app.errors, [])
})

t.test('the workspace, while messages wait: nothing of it is left, and other broadcasts go on', async (t) => {
  const { app, own, other } = await openApp(t)
  const gone = await send(app, other)
  await waitUntilDeferred(app)
  t.equal((await app.rest('DELETE', `/v1/workspaces/${other.workspaceId}`, { key: other.key })).status, 200)
  const tables = [
    'broadcasts',
    'broadcast_frames',
    'broadcast_messages',
    'broadcast_counts',
    'queue',
    'emails',
    'contacts',
  ]
  const isErased = async (): Promise<boolean> => {
    const rows = await Promise.all(tables.map((table) => app.rows(`select 1 from ${table}`)))
    return rows.flat().length === 0
  }
  await waitUntil('it is erased', isErased)
  t.equal((await app.rest('GET', `/v1/broadcasts/${gone}`)).status, 404)
  await send(app, own)
  await waitUntilDeferred(app)
  t.same(app.errors, [])
})

t.test('the broadcast: once it is cancelled, and its emails stay', async (t) => {
  const { app, own } = await openApp(t)
  const id = await send(app, own)
  await waitUntilDeferred(app)
  t.equal((await app.rest('DELETE', `/v1/broadcasts/${id}`)).status, 409)
  t.equal((await app.rest('POST', `/v1/broadcasts/${id}/cancel`)).status, 200)
  await waitUntil('it can be deleted', async () => {
    const { status } = await app.rest('DELETE', `/v1/broadcasts/${id}`)
    return status === 200
  })
  t.equal((await app.rest('GET', `/v1/broadcasts/${id}`)).status, 404)
  const list = await app.rest('GET', `/v1/emails?broadcast_id=${id}&status=cancelled&page=1&per_page=1`)
  const { data, meta } = list.json<{ data: readonly { readonly id: string }[]; meta: { total: number } }>()
  t.equal(meta.total, COUNT)
  const [email] = data
  t.match((await app.rest('GET', `/v1/emails/${email?.id}`)).json(), { status: 'cancelled', text: /Hello/ })
  t.same(await app.rows('select 1 from queue'), [])
  t.same(app.errors, [])
})

t.test('the audience, once all contacts were looked at: its contacts get nothing more', async (t) => {
  const { app, own } = await openApp(t)
  const id = await send(app, own)
  await waitUntilDeferred(app)
  await waitUntil(
    'all were looked at',
    async () => (await app.rows('select 1 from broadcasts where expanded = 1')).length === 1,
  )
  const [broadcast] = await app.rows<{ audience_id: string }>('select audience_id from broadcasts where id = ?', id)
  t.equal((await app.rest('DELETE', `/v1/audiences/${broadcast?.audience_id}`)).status, 200)
  t.match(await show(app, id), { status: 'sending', recipients: COUNT })
  t.equal((await app.rows('select 1 from queue where broadcast_id = ?', id)).length, COUNT)
  app.advance(2 * HOUR)
  t.match(await waitForStatus(app, id, 'sent'), { recipients: COUNT, cancelled: COUNT, failed: 0 })
  t.same(await app.rows('select 1 from attempts where number > 1'), [])
  t.same(app.errors, [])
})
