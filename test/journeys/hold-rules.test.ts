/** Hold rules: what waits and what comes later is held, named, and released with the rule; filters and summary of the queue. */
import t from 'tap'
import { setOperatorWorkspace } from '../../src/workspaces/accounts/workspace/operator-workspace.js'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { givePassword, openBrowser } from '../helpers/http/browser-client.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

interface Listed {
  readonly id: string
  readonly recipient: string
  readonly hold_rule: string | null
  readonly status: string
}

async function list(app: TestDaemon, ...filter: readonly string[]): Promise<readonly Listed[]> {
  const { json, err, status } = await app.cli('queue', 'list', '--json', ...filter)
  if (status !== 0) throw new Error(err)
  return (json() as { data: readonly Listed[] }).data
}

async function addRule(app: TestDaemon, ...words: readonly string[]): Promise<string> {
  const { json, err, status } = await app.cli('queue', 'rules', 'add', '--json', ...words)
  if (status !== 0) throw new Error(err)
  return (json() as { id: string }).id
}

const rulesOf = async (app: TestDaemon): Promise<readonly { id: string; held: number; state: string }[]> =>
  ((await app.cli('queue', 'rules', 'list', '--json')).json() as { data: [] }).data

t.test('a rule holds what waits and what comes later, and releases only that', async (t) => {
  const sink = await openSink({
    script: { rcpt: ({ line }) => (line.includes('<late') ? '450 4.2.0 later' : '250 ok') },
  })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink, 'c.test': sink } })
  const waiting = await app.submitAccepted({ to: ['late@b.test'] })
  const byHand = await app.submitAccepted({ to: ['late-hand@b.test'] })
  for (const id of [waiting, byHand]) await app.waitUntilAttempted(id)
  const [handEntry] = await list(app, '--domain', 'b.test')
  const hand = (await list(app)).find(({ recipient }) => recipient === 'late-hand@b.test')?.id ?? ''
  t.ok(handEntry)
  t.equal((await app.cli('queue', 'hold', hand)).status, 0)

  const rule = await addRule(app, '--domain', 'B.test')
  await waitUntil('what waited is held', async () => (await list(app, '--reason', 'hold-rule')).length === 1)
  const later = await app.submitAccepted({ to: ['new@b.test'] })
  await waitUntil('what came later is held', async () => (await list(app, '--reason', 'hold-rule')).length === 2)
  t.match(await list(app, '--reason', 'hold-rule'), [
    { recipient: 'late@b.test', hold_rule: rule, status: 'held' },
    { recipient: 'new@b.test', hold_rule: rule, status: 'held' },
  ])
  const other = await app.submitAccepted({ to: ['someone@c.test'] })
  t.equal((await app.waitUntilSettled(other)).status, 'delivered', 'other mail goes out')
  t.match(await rulesOf(app), [{ id: rule, held: 2, state: 'active' }])
  t.match((await app.cli('explain', later)).out, new RegExp(`held by hold rule ${rule} \\(to b\\.test\\)`))
  t.match((await app.cli('queue', 'list')).out, new RegExp(`held by hold rule ${rule}`))
  const ruled = (await list(app, '--reason', 'hold-rule')).map(({ id }) => id)
  t.match(await app.cli('queue', 'release', ...ruled), { status: 1, out: /0 released\n.*held by a rule/ })
  t.match(await app.cli('queue', 'retry', ...ruled), { status: 1, out: /0 due now/ })
  t.equal(sink.commands.filter((line) => line.includes('<new')).length, 0, 'it was never attempted')
  t.match(await app.rest('GET', `/emails/${later}`), { status: 200 })

  t.equal((await app.cli('queue', 'rules', 'remove', rule)).status, 0)
  t.equal((await app.waitUntilSettled(later)).status, 'delivered')
  t.match(
    (await app.cli('log', later)).out,
    new RegExp(
      `rule +hold rule ${rule} \\(to b\\.test\\) holds new@b\\.test\n(.*\n)*.*rule +hold rule ${rule} .*has ended\n(.*\n)*.*attempt `,
    ),
  )
  t.notMatch((await app.cli('log', other)).out, /hold rule/)
  await waitUntil('the rule is gone', async () => (await rulesOf(app)).length === 0)
  t.match(await list(app, '--status', 'held'), [{ id: hand, hold_rule: null }], 'what the operator holds stays held')
  t.match(await app.cli('queue', 'rules', 'remove', rule), { status: 1, err: /no hold rule/ })
  t.same(
    await app.rows<{ action: string }>("select action from audit_log where action like 'hold_rule%' order by seq"),
    [{ action: 'hold_rule.added' }, { action: 'hold_rule.removed' }],
  )
  t.same(app.errors, [])
})

t.test('by sender, pattern, workspace and until; a restart keeps them', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const bySender = await addRule(app, '--sender', 'App@a.test', '--until', '2h')
  const byPattern = await addRule(app, '--pattern', 'x-*@B.test', '--workspace', app.otherWorkspaceId)
  const one = await app.submitAccepted({ to: ['one@b.test'] })
  const two = await app.submitAccepted({ from: 'app@other.test', key: app.otherKey, to: ['X-two@b.test'] })
  const free = await app.submitAccepted({ from: 'app@other.test', key: app.otherKey, to: ['three@b.test'] })
  t.equal((await app.waitUntilSettled(free)).status, 'delivered')
  await waitUntil('both are held', async () => (await list(app, '--status', 'held')).length === 2)
  t.match(await list(app), [{ hold_rule: bySender }, { hold_rule: byPattern }])
  t.equal((await list(app, '--sender', 'other.test')).length, 1)
  t.equal((await list(app, '--sender', 'app@a.test', '--older-than', '1h')).length, 0)
  await app.stop()

  const again = await testDaemon(t, { routes: { 'b.test': sink }, folder: app.folder })
  const more = await again.submitAccepted({ key: app.key, to: ['four@b.test'] })
  await waitUntil('held after the restart', async () => (await list(again, '--status', 'held')).length === 3)
  again.advance(2 * 3_600_000 + 1_000)
  for (const id of [one, more]) t.equal((await again.waitUntilSettled(id)).status, 'delivered', 'its time is over')
  t.match(await list(again), [{ hold_rule: byPattern }])
  t.equal((await again.findStory(two)).status, 'queued')
  t.same(again.errors, [])
})

t.test('a rule that is wrong is refused, with what is allowed', async (t) => {
  const app = await testDaemon(t)
  const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
    [[], 2, /name the mail: --domain, --sender, --pattern, --workspace/],
    [['--domain', 'not a domain'], 1, /not a domain name: not a domain/],
    [['--sender', 'a@'], 1, /not a mail address/],
    [['--pattern', '*'], 1, /not a pattern; allowed: an address/],
    [['--pattern', 'a*b*c*d*e*f*g*h*i*j'], 1, /at most 8 times/],
    [['--workspace', 'ws_none'], 1, /no such workspace/],
    [['--domain', 'b.test', '--until', 'tomorrow'], 2, /--until: found "tomorrow", allowed: a moment/],
    [['--domain', 'b.test', '--until', '2020-01-01T00:00:00Z'], 2, /allowed: a moment in the future/],
  ]
  for (const [words, status, err] of cases) {
    t.match(await app.cli('queue', 'rules', 'add', ...words), { status, err }, words.join(' '))
  }
  t.match(await app.cli('queue', 'list', '--reason', 'because'), {
    status: 2,
    err: /--reason: found "because", allowed: held/,
  })
  t.match(await app.cli('queue', 'list', '--provider', 'gogle'), { status: 2, err: /allowed: google, microsoft/ })
  t.match(await app.cli('queue', 'list', '--older-than', 'long'), { status: 2, err: /a duration such as/ })
})

t.test('the queue by provider and reason', async (t) => {
  const sink = await openSink({ script: { rcpt: () => '450 4.7.1 Greylisted, try again later' } })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink, 'gmail.com': sink } })
  for (const to of ['one@b.test', 'two@b.test']) await app.waitUntilAttempted(await app.submitAccepted({ to: [to] }))
  await app.submitAccepted({
    to: ['three@gmail.com'],
    fields: [`X-Service-Scheduled-For: ${new Date(app.now() + 3_600_000).toISOString()}`],
  })
  const { json } = await app.cli('queue', 'summary', '--json')
  t.match(json(), {
    total: 3,
    groups: [
      { provider: null, domain: 'b.test', reason: 'greylisted', count: 2, last_reply: /^450 4\.7\.1 Greylisted/ },
      { provider: 'google', domain: null, reason: 'scheduled', count: 1, last_reply: null },
    ],
  })
  t.match(
    (await app.cli('queue', 'summary')).out,
    /b\.test +greylisted +2 .*\ngoogle +scheduled +1 .*\n3 in the queue/s,
  )
  t.equal((await list(app, '--provider', 'google')).length, 1)
  t.equal((await list(app, '--provider', 'other')).length, 2)
  t.match(await app.cli('queue', 'hold', '--reason', 'greylisted'), { status: 0, out: '2 held\n' })
  t.match(await app.cli('queue', 'delete', '--provider', 'google', '--older-than', '1h'), {
    status: 0,
    out: '0 deleted\n',
  })
})

t.test('the operator adds, lists and ends rules in the dashboard', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  await givePassword(app)
  const browser = openBrowser(app)
  await browser.signIn('owner@a.test')
  const path = '/operator/queue/rules'
  t.match(await browser.ask('POST', path, { body: { domain: 'b.test' } }), { status: 403 }, 'not yet the operator')
  await app.daemon.database.commit([setOperatorWorkspace(app.workspaceId)])
  const wrong: readonly (readonly [object, number, RegExp])[] = [
    [{}, 400, /a domain, a sender, a pattern or a workspace_id is required/],
    [{ pattern: '*' }, 400, /allowed: an address with \* for any characters/],
    [{ sender: 'a@' }, 400, /allowed: an address or a domain/],
    [{ domain: 'b.test', until: 'soon' }, 400, /allowed: a moment such as/],
    [{ domain: 'b.test', until: '2020-01-01T00:00:00Z' }, 400, /ends in the future/],
    [{ workspace_id: 'ws_none' }, 404, /no such workspace: ws_none/],
  ]
  for (const [body, status, text] of wrong)
    t.match(await browser.ask('POST', path, { body }), { status, text }, text.source)
  const foreign = await browser.ask('POST', path, { body: { sender: 'App@Bücher.test' } })
  t.match(foreign.json(), { sender: 'app@xn--bcher-kva.test' }, 'as messages have it')
  t.equal((await browser.ask('DELETE', `${path}/${foreign.json<{ id: string }>().id}`)).status, 204)
  await waitUntil('it is gone', async () => (await rulesOf(app)).length === 0)
  const added = await browser.ask('POST', path, { body: { domain: 'B.test', sender: 'App@a.test' } })
  t.match(added, { status: 201 })
  const { id } = added.json<{ id: string }>()
  const email = await app.submitAccepted()
  await waitUntil('it is held', async () => (await rulesOf(app))[0]?.held === 1)
  t.match((await browser.ask('GET', path)).json(), {
    data: [
      { id, description: 'to b.test, from app@a.test', domain: 'b.test', workspace_id: null, held: 1, state: 'active' },
    ],
  })
  const ends = await Promise.all([1, 2].map(() => browser.ask('DELETE', `${path}/${id}`)))
  t.same(ends.map(({ status }) => status).sort(), [204, 404], 'two at the same moment')
  t.equal((await app.waitUntilSettled(email)).status, 'delivered')
  t.equal((await browser.ask('DELETE', `${path}/${id}`)).status, 404)
  t.same(app.errors, [])
})
