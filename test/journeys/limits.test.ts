/** Limits of a workspace as its applications meet them: over SMTP, from the command line, at the REST door. */
import t from 'tap'
import { openSink } from '../helpers/scripted-sink.js'
import { say, testDaemon } from '../helpers/test-daemon.js'
import { until } from '../helpers/until.js'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

const settings = {
  limits: {
    default_plan: 'slow',
    domain_emails_per_day: 5,
    plans: { slow: { requests_per_minute: 3 }, small: { emails_per_day: 2 }, prepaid: { credits: 1 } },
  },
}

t.test('a plan of the command line counts at once: too many messages in a minute are told 451 4.7.1', async (t) => {
  const app = await testDaemon(t, { settings })
  await app.cli('workspace', 'set-plan', app.workspaceId, 'slow')
  const client = await app.session()
  await until('the plan is seen', async () => {
    await client.say('RSET')
    return (await client.say('MAIL FROM:<app@a.test>')).startsWith('451')
  })
  t.match(await client.say('MAIL FROM:<app@a.test>'), /^451 4\.7\.1 too many requests: try again in \d+ s$/)
  t.match(await say(await app.session(), {}), /^451 4\.7\.1 /, 'another session of the workspace')
  t.match(await app.submit({ key: app.otherKey, from: 'app@other.test' }), /^250 /, 'another workspace')
  app.advance(MINUTE + 1000)
  for (let n = 0; n < 3; n += 1) t.match(await say(client, {}), /^250 /)
  t.match(await say(client, {}), /^451 4\.7\.1 /)
  t.same(app.errors, [])

  const made = await app.cli('workspace', 'create', 'Third', '--email', 'o@third.test', '--json')
  const { workspace_id: id } = made.json() as { workspace_id: string }
  const plans = async (): Promise<unknown> =>
    ((await app.cli('workspace', 'list', '--json')).json() as { data: { id: string; plan: string }[] }).data.find(
      (workspace) => workspace.id === id,
    )?.plan
  t.equal(await plans(), 'slow', 'the default plan')
  t.match(await app.cli('workspace', 'set-plan', 'third', 'pro'), { status: 0, out: `${id} has the plan pro\n` })
  t.equal(await plans(), 'pro')
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
  t.equal(await plans(), 'unlimited')
})

t.test('a quota that is used up is told 452 4.7.1 at every door, until there is room', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { settings, routes: { 'b.test': sink } })
  const client = await app.session()
  t.match(await app.cli('workspace', 'set-plan', app.workspaceId, 'small'), { status: 0 })
  const sent = await app.cli('send', '--from', 'app@a.test', '--to', 'bob@b.test', '--json')
  t.match(sent.json(), { status: 'delivered' })
  t.match(await say(client, {}), /^250 /)
  const reply = '452 4.7.1 2 emails in a day: 0 left'
  t.equal(await say(client, {}), reply)
  t.equal(await say(client, {}), reply, 'the session goes on')
  t.match(await app.cli('send', '--from', 'app@a.test', '--to', 'bob@b.test'), {
    status: 1,
    err: '2 emails in a day: 0 left\n',
  })

  await app.cli('workspace', 'set-plan', app.workspaceId, 'prepaid')
  await until('the plan is seen', async () => !(await say(client, {})).startsWith('452 4.7.1 2 emails'))
  t.equal(await say(client, {}), '452 4.7.1 1 emails altogether: 0 left')

  await app.cli('workspace', 'set-plan', app.workspaceId, 'unlimited')
  await until('the plan is seen', async () => (await say(client, {})).startsWith('250'))
  await until(
    'the domain is used up',
    async () => (await say(client, {})) === '452 4.7.1 5 emails in a day from a.test: 0 left',
  )
  t.equal(app.rows('select id from emails where workspace_id = ?', app.workspaceId).length, 5)
  app.advance(DAY)
  t.match(await app.submit(), /^250 /)
  t.same(app.errors, [])
})

t.test('the requests of a day outlive a restart', async (t) => {
  const plans = { daily: { requests_per_day: 2 } }
  const app = await testDaemon(t, { settings: { limits: { plans } } })
  await app.cli('workspace', 'set-plan', app.workspaceId, 'daily')
  await until('the plan is seen', async () => (await app.submit()).startsWith('451'))
  await app.stop()
  const again = await testDaemon(t, { settings: { limits: { plans } }, folder: app.folder })
  t.match(await again.submit(), /^451 4\.7\.1 /)
  again.advance(DAY + 10 * MINUTE)
  t.match(await again.submit(), /^250 /)
})
