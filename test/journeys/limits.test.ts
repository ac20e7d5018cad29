/** Limits of a workspace as its applications meet them: over SMTP, from the command line, over REST. */
import t from 'tap'
import { submitMessage, testDaemon } from '../helpers/daemon/test-daemon.js'
import { givePassword, openBrowser } from '../helpers/http/browser-client.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

const settings = {
  limits: {
    default_plan: 'slow',
    domain_emails_per_day: 5,
    plans: { slow: { requests_per_minute: 3 }, small: { emails_per_day: 2 }, prepaid: { credits: 1 } },
  },
}

t.test('a plan set on the command line applies at once: too many messages in a minute get 451 4.7.1', async (t) => {
  const app = await testDaemon(t, { settings })
  await app.cli('workspace', 'set-plan', app.workspaceId, 'slow')
  const client = await app.openSession()
  await waitUntil('the plan is seen', async () => {
    await client.sendCommand('RSET')
    return (await client.sendCommand('MAIL FROM:<app@a.test>')).startsWith('451')
  })
  t.match(await client.sendCommand('MAIL FROM:<app@a.test>'), /^451 4\.7\.1 too many requests: try again in \d+ s$/)
  t.match(await submitMessage(await app.openSession(), {}), /^451 4\.7\.1 /, 'another session of the workspace')
  t.match(await app.submit({ key: app.otherKey, from: 'app@other.test' }), /^250 /, 'another workspace')
  app.advance(MINUTE + 1000)
  for (let n = 0; n < 3; n += 1) t.match(await submitMessage(client, {}), /^250 /)
  t.match(await submitMessage(client, {}), /^451 4\.7\.1 /)
  const answer = await app.rest('POST', '/v1/emails', { body: {} })
  t.equal(answer.status, 429, 'the same at the REST listener')
  t.match(answer.json(), { error: { code: 'rate_limit_exceeded', details: { limit: 3, remaining: 0 } } })
  t.same(app.errors, [])

  const made = await app.cli('workspace', 'create', 'Third', '--email', 'o@third.test', '--json')
  const { workspace_id: id } = made.json() as { workspace_id: string }
  const plan = async (): Promise<unknown> =>
    (await app.rows<{ plan: string }>('select plan from workspaces where id = ?', id))[0]?.plan
  t.equal(await plan(), 'slow', 'the default plan')
  t.match(await app.cli('workspace', 'set-plan', 'third', 'pro'), { status: 0, out: `${id} has the plan pro\n` })
  t.equal(await plan(), 'pro')
  t.same((await app.cli('workspace', 'set-plan', id, 'unlimited', '--json')).json(), {
    workspace_id: id,
    plan: 'unlimited',
  })
  t.match(await app.cli('workspace', 'set-plan', id, 'gold'), {
    status: 1,
    err: /^posthorn: no such plan: gold; there are unlimited, free, pro, scale, standard, high_volume, slow, small, prepaid\n$/,
  })
  t.match(await app.cli('workspace', 'set-plan', 'ws_nobody', 'pro'), {
    status: 1,
    err: /no such workspace: ws_nobody/,
  })
  t.match(await app.cli('workspace', 'set-plan', id), { status: 2, err: /PLAN is missing/ })
  t.equal(await plan(), 'unlimited')
})

t.test('a used up quota gets 452 4.7.1 or its REST code, until there is room', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { settings, routes: { 'b.test': sink } })
  const client = await app.openSession()
  t.match(await app.cli('workspace', 'set-plan', app.workspaceId, 'small'), { status: 0 })
  const sent = await app.cli('send', '--from', 'app@a.test', '--to', 'bob@b.test', '--json')
  t.match(sent.json(), { status: 'delivered' })
  t.match(await submitMessage(client, {}), /^250 /)
  const reply = '452 4.7.1 2 emails in a day: 0 left'
  t.equal(await submitMessage(client, {}), reply)
  t.equal(await submitMessage(client, {}), reply, 'the session goes on')
  t.match(await app.cli('send', '--from', 'app@a.test', '--to', 'bob@b.test'), {
    status: 1,
    err: '2 emails in a day: 0 left\n',
  })
  const email = { from: 'app@a.test', to: 'bob@b.test', subject: 'hello', text: 'a line' }
  const refused = await app.rest('POST', '/v1/emails', { body: email })
  t.equal(refused.status, 429)
  const { error } = refused.json<{ error: { code: string; retry_after: number; details: object } }>()
  t.equal(error.code, 'daily_limit_exceeded')
  t.ok(
    error.retry_after > 82_000 && error.retry_after <= 86_400,
    'within a day, for the oldest bucket is that of an hour',
  )
  t.match(error.details, {
    quota: 'emails_per_day',
    limit: 2,
    remaining: 0,
    reset_at: /^\d{4}-.*Z$/,
    retry_after: error.retry_after,
  })

  await app.cli('workspace', 'set-plan', app.workspaceId, 'prepaid')
  await waitUntil('the plan is seen', async () => !(await submitMessage(client, {})).startsWith('452 4.7.1 2 emails'))
  t.equal(await submitMessage(client, {}), '452 4.7.1 1 emails altogether: 0 left')
  const unpaid = await app.rest('POST', '/v1/emails', { body: email })
  t.match([unpaid.status, unpaid.json()], [402, { error: { code: 'insufficient_quota', details: { remaining: 0 } } }])

  await app.cli('workspace', 'set-plan', app.workspaceId, 'unlimited')
  await waitUntil('the plan is seen', async () => (await submitMessage(client, {})).startsWith('250'))
  await waitUntil(
    'the domain is used up',
    async () => (await submitMessage(client, {})) === '452 4.7.1 5 emails in a day from a.test: 0 left',
  )
  t.equal((await app.rows('select id from emails where workspace_id = ?', app.workspaceId)).length, 5)
  app.advance(DAY)
  t.match(await app.submit(), /^250 /)
  const batch = await app.rest('POST', '/v1/emails/batch', { body: Array(5).fill(email) })
  t.match(
    [batch.status, batch.json()],
    [
      402,
      {
        error: {
          code: 'insufficient_quota',
          message: '5 emails in a day from a.test: 4 left, and this batch has 5',
          details: { domain: 'a.test', limit: 5, remaining: 4 },
        },
      },
    ],
  )
  t.equal((await app.rest('POST', '/v1/emails/batch', { body: Array(4).fill(email) })).status, 200)
  t.match(await app.submit(), /^452 4\.7\.1 5 emails in a day from a\.test: 0 left$/)
  t.same(app.errors, [])
})

t.test('the daily count of requests survives a restart', async (t) => {
  const plans = { daily: { requests_per_day: 2 } }
  const app = await testDaemon(t, { settings: { limits: { plans } } })
  await app.cli('workspace', 'set-plan', app.workspaceId, 'daily')
  await waitUntil('the plan is seen', async () => (await app.submit()).startsWith('451'))
  await app.stop()
  const again = await testDaemon(t, { settings: { limits: { plans } }, folder: app.folder })
  t.match(await again.submit(), /^451 4\.7\.1 /)
  again.advance(DAY + 10 * MINUTE)
  t.match(await again.submit(), /^250 /)
})

t.test('a session is no way round the limits of a plan: what changes something counts for the workspace', async (t) => {
  const app = await testDaemon(t, { settings })
  await givePassword(app)
  const browser = openBrowser(app)
  await browser.signIn('owner@a.test')
  await app.cli('workspace', 'set-plan', app.workspaceId, 'slow')
  for (let read = 0; read < 5; read += 1) t.equal((await browser.ask('GET', '/v1/audiences')).status, 200)
  const create = (name: string): ReturnType<typeof browser.ask> =>
    browser.ask('POST', '/v1/audiences', { body: { name } })
  const created = await create('one')
  t.same([created.status, created.headers['x-ratelimit-limit']], [201, '3'])
  t.equal((await app.rest('GET', '/v1/audiences')).status, 200, 'a key counts for the same limit')
  t.equal((await create('two')).status, 201)
  const refused = await create('three')
  t.equal(refused.status, 429)
  t.match(refused.json(), { error: { code: 'rate_limit_exceeded', details: { limit: 3, remaining: 0 } } })
  t.equal((await app.rest('GET', '/v1/audiences')).status, 429)
  t.equal((await browser.ask('GET', '/v1/audiences')).status, 200, 'pages can still be read')
  t.equal(
    (await browser.ask('PATCH', '/profile', { body: { full_name: 'Ann' } })).status,
    200,
    'and the own account used',
  )
  app.advance(MINUTE + 1000)
  t.equal((await create('four')).status, 201)
  t.same(app.errors, [])
})

t.test('the workspaces of one owner send the quota of one plan, and at most thirty are made in an hour', async (t) => {
  const app = await testDaemon(t, { settings: { limits: { plans: { small: { emails_per_month: 3 } } } } })
  await app.cli('workspace', 'set-plan', app.workspaceId, 'small')
  const make = (): ReturnType<typeof app.rest> => app.rest('POST', '/v1/workspaces', { body: { name: 'More' } })
  const ids: string[] = []
  for (let n = 0; n < 30; n += 1) {
    const made = await make()
    t.equal(made.status, 201)
    ids.push(made.json<{ data: { id: string } }>().data.id)
  }
  t.match(await make(), { status: 429 }, 'and not one more in the hour, with a key of which workspace so ever')
  t.equal((await app.rows("select 1 from workspaces where plan <> 'small'")).length, 1, 'that of another owner alone')
  const senders: string[] = []
  for (const [n, id] of ids.slice(0, 2).entries()) {
    const key = await app.rest('POST', '/v1/api-keys', { body: { name: 'k', workspace_id: id } })
    senders.push(key.json<{ key: string }>().key)
    await app.cli('domain', 'add', `more${n}.test`, '--workspace', id, '--force')
  }
  const send = async (n: number): Promise<number> => {
    const body = { from: `a@more${n}.test`, to: ['x@b.test'], subject: 's', text: 't' }
    return (await app.rest('POST', '/v1/emails', { key: senders[n] ?? '', body })).status
  }
  const sent: number[] = []
  for (const n of [0, 1, 0, 1]) sent.push(await send(n))
  t.same(sent, [201, 201, 201, 429])
  t.match(await app.submit({}), /^452 4\.7\.1 3 emails in 30 days: 0 left/, 'over SMTP, in the first workspace')
  t.match((await app.rest('GET', '/v1/usage')).json(), { plan: 'small', usage: { emails_sent: 3, emails_limit: 3 } })

  t.equal((await app.rest('DELETE', `/v1/workspaces/${ids[0]}`)).status, 200)
  t.equal(await send(1), 429, 'nothing is gained by deleting one')
  t.same(app.errors, [])
})

t.test('a default plan that a reload changes is that of the next workspace', async (t) => {
  const app = await testDaemon(t, {})
  const make = async (): Promise<unknown> => {
    const { data } = (await app.rest('POST', '/v1/workspaces', { body: { name: 'More' } })).json<{
      data: { id: string }
    }>()
    return (await app.rows<{ plan: string }>('select plan from workspaces where id = ?', data.id))[0]?.plan
  }
  t.equal(await make(), 'unlimited')
  const { limits } = app.config
  const { applied } = await app.daemon.reload({ ...app.config, limits: { ...limits, default_plan: 'free' } })
  t.same(applied, ['limits.default_plan'])
  t.equal(await make(), 'free')
  t.same(app.errors, [])
})

t.test('who makes workspaces is a setting', async (t) => {
  const app = await testDaemon(t, { settings: { limits: { create_workspaces: 'operator' } } })
  await app.cli('workspace', 'set-operator', app.otherWorkspaceId)
  const make = (key: string) => app.rest('POST', '/v1/workspaces', { key, body: { name: 'More' } })
  const refused = await make(app.key)
  t.equal(refused.status, 403)
  t.match(refused.json(), { error: { code: 'insufficient_permissions', message: /create_workspaces = "operator"/ } })
  t.equal((await make(app.otherKey)).status, 201, 'the owner of the workspace of the operator')
  t.same(app.errors, [])
})
