/** The queue for the operator: counts by provider and reason, filters, acts on all that match, who may do it. */
import t, { type Test } from 'tap'
import { type TestDaemon, testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { givePassword, openBrowser } from '../../../helpers/http/browser-client.js'
import { openSink } from '../../../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../../../helpers/wait-until.js'

type Browser = ReturnType<typeof openBrowser>

interface World {
  readonly app: TestDaemon
  readonly browser: Browser
}

/** Two of google.com wait, greylisted and rate-limited, and one of b.test. */
async function openWorld(t: Test): Promise<World> {
  const grey = '451 4.7.1 Greylisted, try again later'
  const rate = '450 4.2.1 The user you are trying to contact is receiving mail too quickly'
  const sink = await openSink({ script: { rcpt: ({ line }) => (line.includes('fast') ? rate : grey) } })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'google.com': sink, 'b.test': sink } })
  await app.cli('workspace', 'set-operator', app.workspaceId)
  const to = ['grey@google.com', 'fast@google.com', 'other@b.test']
  await app.waitUntilAttempted(await app.submitAccepted({ to }))
  await givePassword(app)
  const browser = openBrowser(app)
  await browser.signIn('owner@a.test')
  return { app, browser }
}

async function perform({ browser }: World, body: Readonly<Record<string, string>>): Promise<unknown> {
  const { status, text } = await browser.ask('POST', '/operator/queue/work', { body })
  if (status !== 202) throw new Error(text)
  return waitUntil('the act has ended', async () => {
    const { work } = (await browser.ask('GET', '/operator/queue/work')).json<{ work: { readonly state: string } }>()
    return work.state !== 'running' && work
  })
}

const heldOf = async ({ app }: World): Promise<readonly string[]> =>
  (await app.rows<{ recipient: string }>('select recipient from queue where held <> 0 order by id')).map(
    (row) => row.recipient,
  )

t.test('providers are counted with their reasons, and an act takes both as filters', async (t) => {
  const world = await openWorld(t)
  const { browser, app } = world
  t.match((await browser.ask('GET', '/operator/queue')).json(), {
    providers: [
      {
        ...{ provider: 'google', name: 'Google', total: 2, due: 0, waiting: 2, held: 0, releasable: 0 },
        reasons: [
          { reason: 'greylisted', description: /Greylisting|greylisting/, total: 1, last_reply: /^451 4\.7\.1/ },
          { reason: 'rate-limited', total: 1, last_reply: /^450 4\.2\.1/ },
        ],
        other_reasons: 0,
      },
      { provider: 'other', name: 'No known provider', total: 1, reasons: [{ reason: 'greylisted', total: 1 }] },
    ],
  })
  t.match(await perform(world, { act: 'hold', provider: 'google', reason: 'rate-limited' }), {
    ...{ act: 'hold', provider: 'google', reason: 'rate-limited', domain: null, status: null, workspace_id: null },
    ...{ state: 'completed', changed: 1, missed: 0 },
  })
  t.same(await heldOf(world), ['fast@google.com'])
  const list = async (query: string): Promise<unknown> => {
    const answer = await browser.ask('GET', `/operator/queue/entries?${query}`)
    return answer.json<{ data: { recipient: string }[] }>().data.map(({ recipient }) => recipient)
  }
  t.same(await list('provider=google'), ['grey@google.com', 'fast@google.com'])
  t.same(await list('provider=google&reason=held'), ['fast@google.com'])
  t.same(await list('provider=other'), ['other@b.test'])
  t.same(await list('provider=microsoft'), [])
  t.match((await browser.ask('GET', '/operator/queue')).json(), {
    providers: [{ provider: 'google', waiting: 1, held: 1, releasable: 1 }, { provider: 'other' }],
  })
  await perform(world, { act: 'release', provider: 'google' })
  t.same(await heldOf(world), [])
  await perform(world, { act: 'hold', provider: 'other' })
  t.same(await heldOf(world), ['other@b.test'])
  t.same(
    await app.rows(
      "select action, actor = 'operator' as by_cli from audit_log where action like 'queue.%' order by seq",
    ),
    ['held', 'released', 'held'].map((act) => ({ action: `queue.${act}`, by_cli: 0 })),
  )
})

t.test('an entry that a rule holds names the rule, and no act but its end frees it', async (t) => {
  const world = await openWorld(t)
  const { browser } = world
  const added = await browser.ask('POST', '/operator/queue/rules', { body: { domain: 'google.com' } })
  t.equal(added.status, 201)
  const { id: rule } = added.json<{ readonly id: string }>()
  await waitUntil('both are held', async () => (await heldOf(world)).length === 2)
  const list = await browser.ask('GET', '/operator/queue/entries?provider=google')
  const { data } = list.json<{ readonly data: readonly { readonly id: string }[] }>()
  const named = { status: 'held', reason: 'hold-rule', hold_rule: rule, next_attempt_at: null }
  t.match(data, [named, named])
  t.match((await browser.ask('GET', '/operator/queue')).json(), {
    providers: [{ provider: 'google', held: 2, releasable: 0, reasons: [{ reason: 'hold-rule', total: 2 }] }, {}],
  })
  const ids = data.map(({ id }) => id)
  for (const act of ['release', 'retry']) {
    t.match(await perform(world, { act, provider: 'google' }), { state: 'completed', changed: 0, missed: 2 }, act)
    t.match((await browser.ask('POST', '/operator/queue/acts', { body: { act, ids } })).json(), { changed: [] }, act)
  }
  t.equal((await browser.ask('DELETE', `/operator/queue/rules/${rule}`)).status, 204)
  await waitUntil('both are free', async () => (await heldOf(world)).length === 0)
})

t.test(
  'a wrong filter is named, an act without one is refused, and others than the operator see nothing',
  async (t) => {
    const { app, browser } = await openWorld(t)
    const wrong = async (method: string, path: string, body?: unknown): Promise<unknown> =>
      (await browser.ask(method, path, body === undefined ? {} : { body })).json()
    t.match(await wrong('GET', '/operator/queue/entries?provider=nonsense'), {
      error: { details: { errors: [{ field: 'provider', message: /mailbox provider, such as google, or other/ }] } },
    })
    t.match(await wrong('POST', '/operator/queue/work', { act: 'hold', reason: 'nonsense' }), {
      error: { details: { errors: [{ field: 'reason', message: /such as greylisted/ }] } },
    })
    t.match(await wrong('POST', '/operator/queue/work', { act: 'hold' }), {
      error: { message: /one of domain, provider, status, reason, workspace_id is required/ },
    })
    await givePassword(app, 'owner@other.test')
    const other = openBrowser({ ...app, workspaceId: app.otherWorkspaceId })
    await other.signIn('owner@other.test')
    t.equal((await other.ask('GET', '/operator/queue')).status, 403)
    const act = { body: { act: 'hold', provider: 'google' } }
    t.equal((await other.ask('POST', '/operator/queue/work', act)).status, 403)
    t.same(await app.rows('select id from queue where held <> 0'), [])
  },
)
