/** The search over everything: each kind by what names it, a few of each, and nothing of other workspaces. */
import t from 'tap'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { givePassword, openBrowser } from '../../../helpers/http/browser-client.js'
import { openSink } from '../../../helpers/smtp/scripted-sink.js'

interface Found {
  readonly data: readonly {
    readonly kind: string
    readonly items: readonly { readonly id: string; readonly title: string }[]
    readonly has_more: boolean
  }[]
  readonly notes: readonly string[]
}

const sink = await openSink()
t.teardown(() => sink.close())
const app = await testDaemon(t, { routes: { 'b.test': sink } })
await givePassword(app)
const browser = openBrowser(app)
await browser.signIn('owner@a.test')

async function search(text: string): Promise<Found> {
  const answer = await browser.ask('GET', `/search?${new URLSearchParams({ text })}`)
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json<Found>()
}

const send = async (to: string, subject: string, key = app.key, from = 'app@a.test'): Promise<string> => {
  const body = { from, to, subject, text: 'x' }
  const { id } = (await app.rest('POST', '/v1/emails', { key, body })).json<{ readonly id: string }>()
  await app.waitUntilSettled(id)
  return id
}

const invoice = await send('bob@b.test', 'Invoice 4711')
const other = await send('eve@b.test', 'Hello')
const theirs = await send('bob@b.test', 'Invoice 4712 of others', app.otherKey, 'app@other.test')
for (let n = 0; n < 7; n += 1) {
  const body = { email: `many${n}@b.test`, first_name: n === 0 ? 'Grace' : null, last_name: n === 0 ? 'Hopper' : null }
  await app.rest('POST', '/v1/contacts', { body })
}
await app.rest('POST', '/v1/contacts', { key: app.otherKey, body: { email: 'many-of-others@b.test' } })
await app.rest('POST', '/v1/suppressions', { body: { email: 'bob@b.test', reason: 'manual' } })

t.test('emails are found by address, subject, id and Message-ID', async (t) => {
  const [row] = await app.rows<{ message_id: string }>('select message_id from emails where id = ?', invoice)
  for (const text of [
    'Invoice 4711',
    'voice 47',
    invoice,
    `<${row?.message_id ?? ''}>`,
    row?.message_id ?? '',
    'BOB@b.test',
    'bob@',
  ]) {
    const emails = (await search(text)).data.find(({ kind }) => kind === 'emails')
    t.match(
      emails,
      { items: [{ id: invoice, title: 'Invoice 4711', status: 'delivered', note: 'to bob@b.test' }] },
      text,
    )
    t.equal(emails?.items.length, 1, text)
  }
  t.match((await search('eve@b.test')).data, [{ kind: 'emails', items: [{ id: other }] }])
})

t.test('contacts, domains and suppressed addresses are found, five of each', async (t) => {
  const many = (await search('many')).data.find(({ kind }) => kind === 'contacts')
  t.equal(many?.items.length, 5)
  t.equal(many?.has_more, true)
  t.match((await search('grace hop')).data, [
    { kind: 'contacts', items: [{ title: 'many0@b.test', note: 'Grace Hopper' }] },
  ])
  t.match((await search('a.tes')).data.at(-1), { kind: 'domains', items: [{ title: 'a.test', status: 'verified' }] })
  t.match((await search('bob@b.t')).data.at(-1), {
    kind: 'suppressions',
    items: [{ title: 'bob@b.test', status: 'manual' }],
  })
  t.same(await search('nothing has this'), { data: [], notes: [] })
})

const create = async (path: string, body: object, key = app.key): Promise<string> => {
  const answer = await app.rest('POST', path, { key, body })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.json<{ readonly id: string }>().id
}

t.test('broadcasts, audiences, templates, keys and webhooks are found by name', async (t) => {
  const audience_id = await create('/v1/audiences', { name: 'Zebra readers', description: 'of the zoo' })
  const content = { from: 'News <news@a.test>', subject: 'Stripes', html: '<p>x</p>' }
  const broadcast = await create('/v1/broadcasts', { name: 'Zebra news', audience_id, ...content })
  const template = await create('/v1/templates', { name: 'Zebra', alias: 'stripes', subject: 's', html: 'x' })
  await create('/v1/api-keys', { name: 'zebra shop', scopes: ['send'] })
  const webhook = await create('/v1/webhooks', { url: 'https://zebra.example/', events: ['email.sent'] })
  await create('/v1/audiences', { name: 'Zebra of others' }, app.otherKey)
  const { data } = await search('ZEBRA')
  t.match(data, [
    { kind: 'broadcasts', items: [{ id: broadcast, title: 'Zebra news', note: 'Stripes', status: 'draft' }] },
    { kind: 'audiences', items: [{ id: audience_id, title: 'Zebra readers' }] },
    { kind: 'templates', items: [{ id: template, title: 'Zebra', note: 'stripes' }] },
    { kind: 'keys', items: [{ title: 'zebra shop' }] },
    { kind: 'webhooks', items: [{ id: webhook, title: 'https://zebra.example/', status: 'enabled' }] },
  ])
  t.same(
    data.map(({ items, has_more: more }) => [items.length, more]),
    Array.from({ length: 5 }, () => [1, false]),
  )
  t.match((await search('stripes')).data, [{ kind: 'broadcasts' }, { kind: 'templates' }])
  t.match((await search(template)).data, [{ kind: 'templates', items: [{ id: template }] }])
})

t.test('other workspaces are in no answer', async (t) => {
  for (const text of [theirs, '4712', 'of others', 'many-of', 'other.test', 'app@other.test']) {
    t.same((await search(text)).data, [], text)
  }
  const foreign = await browser.ask('GET', '/search?text=bob', { headers: { 'x-workspace-id': app.otherWorkspaceId } })
  t.equal(foreign.status, 403)
  t.equal((await openBrowser(app).ask('GET', '/search?text=bob')).status, 401)
})

t.test('texts that are too short or too long are refused', async (t) => {
  for (const text of ['', 'a', ' a ', 'a'.repeat(321), 'a\nb']) {
    t.equal((await browser.ask('GET', `/search?${new URLSearchParams({ text })}`)).status, 400, JSON.stringify(text))
  }
})
