/** Events through Mailgun's own client library: all kinds, every filter, pages in both directions. */
import type { MailgunMessageData } from 'mailgun.js/definitions'
import t from 'tap'
import { failsWith, openMailgun } from '../../../helpers/http/mailgun-client.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const rcpt = ({ line }: { readonly line: string }): string => {
  if (line.includes('<bounce')) return '550 5.1.1 no such user'
  return line.includes('<defer') ? '450 4.2.0 try again later' : '250 2.1.5 Ok'
}
const { app, sink, host, client } = await openMailgun(t, { rcpt })
// The library warns that Mailgun has a newer interface for this.
console.warn = () => undefined

interface Item {
  readonly id: string
  readonly event: string
  readonly timestamp: number
  readonly recipient: string
  readonly severity?: string
  readonly reason?: string
  readonly tags: readonly string[]
  readonly 'user-variables': Readonly<Record<string, string>>
  readonly 'delivery-status'?: Readonly<Record<string, unknown>>
  readonly message: { readonly headers: Readonly<Record<string, string>> }
}

interface Page {
  readonly items: readonly Item[]
  readonly pages: Readonly<
    Record<'next' | 'previous' | 'first' | 'last', { readonly page: string; readonly url: string }>
  >
}

async function get(query: Readonly<Record<string, unknown>> = {}, domain = 'a.test'): Promise<Page> {
  return (await client.events.get(domain, query as never)) as unknown as Page
}

async function send(data: Readonly<Record<string, unknown>>): Promise<string> {
  const email = { from: 'app@a.test', subject: 'a', text: 'a', ...data } as MailgunMessageData
  return (await client.messages.create('a.test', email)).id ?? ''
}

/** Waits until there are so many events. */
async function waitFor(count: number, query: Readonly<Record<string, unknown>>): Promise<readonly Item[]> {
  return waitUntil(`${count} events of ${JSON.stringify(query)}`, async () => {
    const { items } = await get(query)
    return items.length >= count && items
  })
}

t.test('what happens to mail comes back with its variables and tags', async (t) => {
  for (const [email, reason] of [
    ['bounced', 'hard_bounce'],
    ['left', 'unsubscribe'],
    ['angry', 'spam_complaint'],
  ]) {
    await app.rest('POST', '/v1/suppressions', { body: { email: `${email}@b.test`, reason } })
  }
  const names = ['bob', 'bounce', 'defer', 'bounced', 'left', 'angry']
  const id = await send({
    to: names.map((name) => `${name}@b.test`),
    'recipient-variables': '{}',
    'v:email-id': '17',
    'o:tag': ['news', 'spring'],
  })
  const items = await waitFor(9, { event: 'accepted OR delivered OR failed' })
  const seen = items.map(({ event, severity = '', reason = '', recipient, ...more }) => {
    return [recipient, event, severity, reason, more['delivery-status']?.['code'] ?? ''].join(' ').trim()
  })
  t.same(
    seen.sort(),
    [
      'angry@b.test failed permanent suppress-complaint 607',
      'bob@b.test accepted',
      'bob@b.test delivered   250',
      'bounce@b.test accepted',
      'bounce@b.test failed permanent bounce 550',
      'bounced@b.test failed permanent suppress-bounce 605',
      'defer@b.test accepted',
      'defer@b.test failed temporary generic 450',
      'left@b.test failed permanent suppress-unsubscribe 606',
    ].sort(),
  )
  for (const item of items) {
    t.match(item, { id: /^evt_/, tags: ['news', 'spring'], 'user-variables': { 'email-id': '17' } })
    t.match(item.message.headers, {
      'message-id': id.slice(1, -1),
      from: 'app@a.test',
      to: item.recipient,
      subject: 'a',
    })
  }
  const bounce = items.find(({ recipient, event }) => recipient === 'bounce@b.test' && event === 'failed')
  t.match(bounce?.['delivery-status'], { 'enhanced-code': '5.1.1', message: /no such user/, 'attempt-no': 1 })
})

t.test('every filter', async (t) => {
  const count = async (query: Readonly<Record<string, unknown>>): Promise<number> => (await get(query)).items.length
  t.same(
    await Promise.all(['failed', 'Delivered or ACCEPTED', 'stored', 'opened'].map((event) => count({ event }))),
    [5, 4, 0, 0],
  )
  t.same(await Promise.all(['temporary', 'permanent'].map((severity) => count({ severity }))), [1, 4])
  t.equal(await count({ recipient: 'BOB@b.test' }), 2)
  const tags = ['news', 'new', 'x OR spring', 'news AND spring', 'news AND x', '"news"']
  t.same(await Promise.all(tags.map((one) => count({ tags: one }))), [9, 0, 9, 9, 0, 9])
  const own = await send({ to: 'pia@b.test' })
  await waitFor(2, { 'message-id': own })
  t.equal(await count({ 'message-id': own.slice(1, -1), event: 'accepted' }), 1)
  const [first] = (await get({ ascending: 'yes' })).items
  t.equal(await count({ 'message-id': first?.message.headers['message-id'] }), 9, 'the emails of a request')
  t.equal(await count({ 'message-id': 'none@a.test' }), 0)
  const begin = first?.timestamp ?? 0
  t.equal(await count({ begin: begin + 3_600 }), 0)
  t.equal(await count({ begin, end: begin + 3_600, ascending: 'yes' }), 11)
  t.equal(await count({ begin: new Date(begin * 1_000 - 1_000).toUTCString() }), 11)
  t.equal(await count({ end: begin - 1 }), 0)
})

t.test('pages have every event once, in both directions', async (t) => {
  const all = (await get({ ascending: 'yes', limit: 300 })).items.map(({ id }) => id)
  t.same(
    (await get({ limit: 300 })).items.map(({ id }) => id),
    all.toReversed(),
  )
  let last: Page | undefined
  for (const query of [{}, { tags: 'news' }, { ascending: 'yes' }]) {
    const whole = (await get({ ...query, limit: 300 })).items.map(({ id }) => id)
    const found: string[] = []
    let page = await get({ ...query, limit: 2 })
    const first = page
    while (page.items.length > 0) {
      found.push(...page.items.map(({ id }) => id))
      // Programs give the query again with each page.
      page = await get({ ...query, limit: 2, page: page.pages.next.page })
    }
    t.same(found, whole)
    const back = await get({ page: page.pages.previous.page })
    t.same(
      back.items.map(({ id }) => id),
      whole.slice(-3, -1),
      'the page before',
    )
    t.same(
      (await get({ page: first.pages.last.page })).items.map(({ id }) => id),
      whole.slice(-2),
      'the last page',
    )
    t.same((await get({ page: back.pages.first.page })).items, first.items, 'the first page')
    last = page
  }
  await send({ to: 'late@b.test', 'o:tag': 'news' })
  const later = await waitUntil('the page after the last has what is new', async () => {
    const { items } = await get({ page: last?.pages.next.page })
    return items.length > 0 && items
  })
  t.match(later[0], { recipient: 'late@b.test' })
  t.match(new URL((await get()).pages.next.url).pathname, /^\/v3\/a\.test\/events\/[\w-]+$/)
})

t.test('opens and clicks of people and of programs', async (t) => {
  const html = '<p><a href="https://c.test/a">a</a></p>'
  await send({ to: 'open@b.test', html, 'o:tracking': 'yes', 'v:email-id': '18' })
  const mail = await waitUntil('the mail', () => sink.messages.find(({ rcptTo }) => rcptTo[0]?.startsWith('<open@')))
  const text = mail.raw.toString().replaceAll('=\r\n', '').replaceAll('=3D', '=')
  await waitFor(1, { event: 'delivered', recipient: 'open@b.test' })
  // Later than any scanner at delivery.
  app.advance(60_000)
  for (const [, path = ''] of text.matchAll(/"https:\/\/[^/"]+(\/[^"]*track\/[^"]+)"/g)) {
    await app.rest('GET', path, {
      key: null,
      headers: { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/130.0' },
    })
  }
  const items = await waitFor(2, { event: 'opened OR clicked' })
  t.same(items.map(({ event }) => event).sort(), ['clicked', 'opened'])
  for (const item of items) t.match(item, { recipient: 'open@b.test', 'user-variables': { 'email-id': '18' } })
  t.match(
    items.find(({ event }) => event === 'clicked'),
    {
      url: 'https://c.test/a',
      'client-info': { 'user-agent': /Firefox/, 'client-type': 'unknown' },
    },
  )
})

t.test('events are those of the workspace', async (t) => {
  const headers = { authorization: `Basic ${Buffer.from(`api:${app.otherKey}`).toString('base64')}` }
  const domain = { domain: 'z.test' }
  const made = await app.rest('POST', '/v1/domains', { body: domain, key: app.otherKey })
  t.equal(made.status, 201)
  const token = (await get({ limit: 1, ascending: 'yes' })).pages.first.page
  for (const path of ['events', `events/${token}`, 'events?recipient=bob%40b.test']) {
    const answer = await fetch(`http://${host}/v3/z.test/${path}`, { headers })
    t.match([answer.status, await answer.json()], [200, { items: [] }])
    const foreign = await fetch(`http://${host}/v3/a.test/${path}`, { headers })
    t.match([foreign.status, await foreign.json()], [404, { message: 'Domain not found: a.test' }])
  }
})

t.test('a wrong query is refused', async (t) => {
  for (const [query, details] of [
    [{ limit: 301 }, /^limit: must be a whole number from 1 to 300/],
    [{ begin: 'soon' }, /^begin: allowed: seconds/],
    [{ subject: 'a' }, /^subject: /],
    [{ severity: 'high' }, /^severity: /],
    [{ page: 'abc' }, /^page: allowed: the last part of a URL/],
    [{ page: Buffer.from('{"query":{"limit":"0"},"seq":1,"isBack":false}').toString('base64url') }, /^limit: /],
  ] as const) {
    await failsWith(t, get(query), { status: 400, details }, JSON.stringify(query))
  }
})
