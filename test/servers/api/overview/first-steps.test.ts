/** The first steps of a workspace: each state is what is stored, and of this workspace alone. */
import t from 'tap'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { givePassword, openBrowser } from '../../../helpers/http/browser-client.js'
import { openSink } from '../../../helpers/smtp/scripted-sink.js'

const DAY = 86_400_000

t.test('each step is done when the workspace has what it is about', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  await givePassword(app)
  const browser = openBrowser(app)
  t.equal((await browser.signIn('owner@a.test')).status, 201)
  const read = async () => (await browser.ask('GET', '/first-steps')).json()
  const { commit } = app.daemon.database
  const setAge = (days: number) => {
    const sql = 'update workspaces set created_at = ? where id = ?'
    return commit([{ sql, parameters: [app.now() - days * DAY, app.workspaceId] }])
  }
  await setAge(13)
  t.match(await read(), {
    domain: { domain: 'a.test', status: 'verified' },
    has_key: true,
    email: null,
    is_delivered: false,
    has_webhook: false,
    has_invited: false,
    is_done: false,
  })

  const later = new Date(app.now() + DAY).toISOString()
  const email = { from: 'app@a.test', to: 'bob@b.test', subject: 'Hi', text: 'hi' }
  await app.rest('POST', '/v1/emails', { body: { ...email, scheduled_for: later } })
  t.match(await read(), { email: { status: 'scheduled', subject: 'Hi' }, is_delivered: false })
  const { id } = (await app.rest('POST', '/v1/emails', { body: email })).json<{ id: string }>()
  await app.waitUntilSettled(id)
  t.match(await read(), { email: { id, status: 'delivered' }, is_delivered: true, is_done: false })

  await app.rest('POST', '/v1/webhooks', { body: { url: 'https://8.8.8.8/', events: ['email.bounced'] } })
  t.match(await read(), { has_webhook: true, is_done: false })
  await setAge(14)
  t.match(await read(), { is_done: true, has_invited: false }, 'an older workspace does not need the optional steps')

  await commit([{ sql: `update domains set status = 'pending'`, parameters: [] }])
  t.match(await read(), { domain: { status: 'pending' }, is_done: false })
  await commit([{ sql: 'update api_keys set revoked_at = 1 where workspace_id = ?', parameters: [app.workspaceId] }])
  t.match(await read(), { has_key: false })
})

t.test('a new workspace has nothing', async (t) => {
  const app = await testDaemon(t)
  t.equal((await app.cli('workspace', 'create', 'Second', '--email', 'second@b.test')).status, 0)
  await givePassword(app, 'second@b.test')
  const [second] = await app.rows<{ id: string }>(`select id from workspaces where name = 'Second'`)
  const browser = openBrowser({ ...app, workspaceId: second?.id ?? '' })
  t.equal((await browser.signIn('second@b.test')).status, 201)
  await app.daemon.database.commit([{ sql: 'update api_keys set revoked_at = 1', parameters: [] }])
  t.same((await browser.ask('GET', '/first-steps')).json(), {
    ...{ domain: null, has_key: false, email: null, is_delivered: false },
    ...{ has_webhook: false, has_invited: false, is_done: false },
  })
})
