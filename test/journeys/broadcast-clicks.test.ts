/** Opens and clicks of broadcasts through the whole daemon: which links are followed, and what is recorded of them. */
import { createSecretKey, type KeyObject } from 'node:crypto'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { createClickToken } from '../../src/base/mail/click-token.js'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { sentBroadcast } from '../helpers/database/broadcast.js'
import { waitUntil } from '../helpers/wait-until.js'

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'
const SHOP = 'https://shop.example.test/?a=1&b=%20c#top'
const OTHER = 'https://shop.example.test/other'
const OWN = 'https://shop.example.test/cart?name=Bob%20M&id=42'

interface Broadcast {
  readonly id: string
  readonly emailIds: readonly string[]
}

async function store(app: TestDaemon, workspaceId: string, links: readonly string[]): Promise<Broadcast> {
  const { read, commit } = app.daemon.database
  const [at, to] = [app.now() - 120_000, ['bob@b.test', 'ann@b.test']]
  const sent = await sentBroadcast(read, { workspaceId, to, at, links, deliveredAt: at + 1_000 })
  await commit(sent.writes)
  return { id: sent.id, emailIds: sent.messages.map(({ emailId }) => emailId) }
}

async function secretOf(app: TestDaemon): Promise<KeyObject> {
  const [row] = await app.rows<{ value: string }>(`select value from service_state where key = 'return_path_secret'`)
  return createSecretKey(row?.value ?? '', 'base64')
}

type Query = Readonly<Record<string, string>>

/** The URL that a request without a key is redirected to; else the status. */
async function follow(app: TestDaemon, emailId: string, query: Query, method = 'GET'): Promise<unknown> {
  const path = `/v1/track/click/${emailId}?${new URLSearchParams(query).toString()}`
  const answer = await app.rest(method, path, { key: null, headers: { 'user-agent': BROWSER } })
  return answer.status === 302 ? answer.headers['location'] : answer.status
}

const countEvents = async (app: TestDaemon, emailId: string): Promise<number> =>
  (await app.rows(`select 1 from events where email_id = ? and type in ('email.opened', 'email.clicked')`, emailId))
    .length

const waitForEvents = (app: TestDaemon, emailId: string, count: number): Promise<true> =>
  waitUntil(`${count} events`, async () => (await countEvents(app, emailId)) >= count)

async function start(
  t: Test,
): Promise<{ app: TestDaemon; own: Broadcast; foreign: Broadcast; bob: string; ann: string }> {
  const app = await testDaemon(t)
  const own = await store(app, app.workspaceId, [SHOP, OTHER])
  const foreign = await store(app, app.otherWorkspaceId, ['https://foreign.example.test/'])
  const [bob = '', ann = ''] = own.emailIds
  return { app, own, foreign, bob, ann }
}

t.test('the links of a broadcast are followed, and no other URL', async (t) => {
  const { app, own, foreign, bob, ann } = await start(t)
  const secret = await secretOf(app)
  const [theirs = ''] = foreign.emailIds
  const tid = createClickToken(secret, bob, OWN)
  const other = tid.endsWith('a') ? 'b' : 'a'
  const rows: readonly (readonly [says: string, emailId: string, query: Query, target: unknown])[] = [
    ['a link of the broadcast', bob, { url: SHOP, bid: own.id }, SHOP],
    ['without the broadcast', bob, { url: SHOP }, SHOP],
    ['with parameters that a mail program adds', bob, { url: OTHER, bid: own.id, fbclid: 'x' }, OTHER],
    ['with a token that it does not need', bob, { url: SHOP, tid: 'x' }, SHOP],
    ['that of another recipient', ann, { url: SHOP, bid: own.id }, SHOP],
    ['a link of one recipient', bob, { url: OWN, bid: own.id, tid }, OWN],
    ['a link of one recipient, in capitals', bob, { url: OWN, tid: tid.toUpperCase() }, OWN],
    ['in the message of another recipient', ann, { url: OWN, tid }, 404],
    ['without its token', bob, { url: OWN, bid: own.id }, 404],
    ['with a forged token', bob, { url: OWN, tid: tid.slice(0, -1) + other }, 404],
    ['with the token of another URL', bob, { url: `${OWN}0`, tid }, 404],
    ['no URL', bob, { bid: own.id }, 404],
    ['an empty URL', bob, { url: '' }, 404],
    ['any other URL', bob, { url: 'https://evil.example/', bid: own.id }, 404],
    ['nearly the same', bob, { url: `${SHOP}x` }, 404],
    ['in other capitals', bob, { url: SHOP.toUpperCase() }, 404],
    ['a link of another workspace', bob, { url: 'https://foreign.example.test/' }, 404],
    ['a link of ours in their message', theirs, { url: SHOP }, 404],
    [
      'their own link',
      theirs,
      { url: 'https://foreign.example.test/', bid: foreign.id },
      'https://foreign.example.test/',
    ],
    ['with the id of another broadcast', bob, { url: SHOP, bid: foreign.id }, 404],
    ['with the id of none', bob, { url: SHOP, bid: 'x' }, 404],
    ['an email that there is not', bob.replace(/.$/, (end) => (end === '0' ? '1' : '0')), { url: SHOP }, 404],
    ['without the prefix', bob.slice(3), { url: SHOP }, 404],
  ]
  for (const [says, emailId, query, target] of rows) t.equal(await follow(app, emailId, query), target, says)
  t.equal(await follow(app, bob, { url: SHOP }, 'HEAD'), SHOP)
  t.equal(await follow(app, bob, { url: 'https://evil.example/' }, 'HEAD'), 404)
  const scheme = createClickToken(secret, bob, 'javascript:alert(1)')
  t.equal(await follow(app, bob, { url: 'javascript:alert(1)', tid: scheme }), 404, 'no URL of the web')
  t.same(app.errors, [])
})

t.test('whatever the query is, it leads to a link of the broadcast or nowhere', async (t) => {
  const { app, own, bob } = await start(t)
  const value = fc.oneof(
    fc.constantFrom(SHOP, OTHER, 'https://evil.example/', '//evil.example', `${SHOP}@evil.example`, own.id, ''),
    fc.webUrl({ withFragments: true, withQueryParameters: true }),
    fc.string({ unit: 'binary', maxLength: 30 }),
  )
  const pair = fc.tuple(fc.constantFrom('url', 'url', 'tid', 'bid', 'Url', 'url[]'), value)
  await fc.assert(
    fc.asyncProperty(fc.array(pair, { maxLength: 5 }), fc.boolean(), async (pairs, isPlain) => {
      const text = ([name, given]: readonly [string, string]): string =>
        `${name}=${isPlain ? given.replace(/[^!-~]|[#&+%]/g, '') : encodeURIComponent(Buffer.from(given).toString())}`
      const answer = await app.rest('GET', `/v1/track/click/${bob}?${pairs.map(text).join('&')}`, { key: null })
      const allowed = answer.status === 404 || [SHOP, OTHER].includes(String(answer.headers['location']))
      if (!allowed) throw new Error(`${answer.status} ${answer.headers['location']}`)
    }),
    { numRuns: 300 },
  )
  t.same(app.errors, [])
})

t.test('the first open and the first click of each recipient are recorded', async (t) => {
  const { app, own, bob, ann } = await start(t)
  const load = (id: string, more = ''): Promise<{ readonly status: number }> =>
    app.rest('GET', `/v1/track/open/${id}${more}`, { key: null, headers: { 'user-agent': BROWSER } })
  t.equal(await follow(app, bob, { url: SHOP }, 'HEAD'), SHOP)
  for (const round of [1, 2]) {
    t.equal((await load(bob, `?bid=${own.id}`)).status, 200)
    t.equal(await follow(app, bob, { url: round === 1 ? SHOP : OTHER, bid: own.id }), round === 1 ? SHOP : OTHER)
    await waitForEvents(app, bob, 2)
    app.advance(60_000)
  }
  await load(ann)
  await waitForEvents(app, ann, 1)
  t.equal(await countEvents(app, bob), 2)
  t.match(
    await app.rows(
      'select recipients, unique_opens, unique_clicks from broadcast_counts where broadcast_id = ?',
      own.id,
    ),
    [{ recipients: 2, unique_opens: 2, unique_clicks: 1 }],
  )

  await t.test('the interface shows them', async (t) => {
    const email = (await app.rest('GET', `/v1/emails/${bob}`)).json<{ readonly [name: string]: string | null }>()
    t.match(email, { id: bob, opened_at: /Z$/, clicked_at: /Z$/ })
    t.same((await app.rest('GET', `/v1/emails/${bob}/clicks`)).json(), {
      ...{ email_id: bob, clicked: true, first_clicked_at: email['clicked_at'] },
      ...{ total_clicks: 1, unique_links_clicked: 1 },
      links: [{ url: SHOP, clicks: 1, last_clicked_at: email['clicked_at'] }],
    })
    t.same((await app.rest('GET', `/v1/emails/${ann}/clicks`)).json(), {
      ...{ email_id: ann, clicked: false, first_clicked_at: null, total_clicks: 0, unique_links_clicked: 0, links: [] },
    })
    const ofEmail = (await app.rest('GET', `/v1/emails/${bob}/events`)).json<{ readonly data: readonly object[] }>()
    t.match(ofEmail.data, [
      { type: 'email.clicked', email_id: bob, recipient: 'bob@b.test', data: { url: SHOP, machine: false } },
      { type: 'email.opened', email_id: bob, recipient: 'bob@b.test', data: { machine: false } },
      { type: 'email.queued', email_id: bob },
    ])
    t.same((await app.rest('GET', `/v1/events?email_id=${bob}`)).json(), ofEmail)
    t.match((await app.rest('GET', `/v1/emails/${bob}/raw`)).text, `Message-ID: <${bob}@mail.service.test>`)
  })

  await t.test('and to no other workspace', async (t) => {
    const key = app.otherKey
    for (const path of [`/v1/emails/${bob}`, `/v1/emails/${bob}/clicks`, `/v1/emails/${bob}/events`]) {
      t.match((await app.rest('GET', path, { key })).json(), { error: { code: 'email_not_found' } })
    }
    t.match((await app.rest('GET', `/v1/events?email_id=${bob}`, { key })).json(), { data: [] })
  })

  await t.test('a link outlives its email', async (t) => {
    for (const table of ['emails where id', 'events where email_id'])
      await app.daemon.database.commit([{ sql: `delete from ${table} = ?`, parameters: [bob] }])
    t.equal(await follow(app, bob, { url: SHOP }), SHOP)
    await app.daemon.database.commit([{ sql: 'delete from broadcast_messages where email_id = ?', parameters: [bob] }])
    t.equal(await follow(app, bob, { url: SHOP }), 404)
    t.equal(await countEvents(app, bob), 0)
  })
  t.same(app.errors, [])
})
