/** Opens and clicks through the whole daemon: requests of mail clients and scanners, and what becomes of them. */
import t, { type Test } from 'tap'
import { type TestDaemon, type TestDaemonOptions, testDaemon } from '../helpers/daemon/test-daemon.js'
import { request } from '../helpers/http/test-api.js'
import { openWire, type Wire, type WireAnswer } from '../helpers/http/wire.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'
const PIXEL = 'GIF89a'
/** Milliseconds: later than any scanner at delivery. */
const LATER = 60_000

interface Tracked {
  readonly id: string
  /** Paths, by URL. */
  readonly links: ReadonlyMap<string, string>
  readonly pixel: string
}

async function startTracking(t: Test, options: TestDaemonOptions = {}): Promise<TestDaemon> {
  const sink = await openSink()
  t.teardown(() => sink.close())
  return testDaemon(t, { ...options, routes: { 'b.test': sink } })
}

/** A delivered email with these links. */
async function sendTracked(app: TestDaemon, urls: readonly string[], more: object = {}): Promise<Tracked> {
  const html = `<body><p>Hello</p>${urls.map((url) => `<a href="${url}">link</a>`).join('')}</body>`
  const body = { from: 'App <app@a.test>', to: ['bob@b.test'], subject: 'hello', html, ...more }
  const created = await app.rest('POST', '/v1/emails', { body })
  if (created.status !== 201) throw new Error(created.text)
  const { id } = created.json<{ readonly id: string }>()
  await app.waitUntilSettled(id)
  const rows = await app.rows<{ id: string; url: string }>('select id, url from links where email_id = ?', id)
  const links = new Map(rows.map((link) => [link.url, `/v1/track/click/${link.id}`]))
  return { id, links, pixel: `/v1/track/open/${id}` }
}

function linkOf({ links }: Tracked, url: string): string {
  const path = links.get(url)
  if (path === undefined) throw new Error(`no link to ${url}`)
  return path
}

interface EventRow {
  readonly type: string
  readonly recipient: string
  readonly data: Readonly<Record<string, unknown>>
}

async function eventsOf(app: TestDaemon, id: string): Promise<readonly EventRow[]> {
  const sql = `select type, recipient, data from events where email_id = ? and type in ('email.opened', 'email.clicked')
    order by seq`
  return (await app.rows<{ type: string; recipient: string; data: string }>(sql, id)).map((row) => ({
    ...row,
    data: JSON.parse(row.data) as EventRow['data'],
  }))
}

const waitForEvents = (app: TestDaemon, id: string, count: number): Promise<readonly EventRow[]> =>
  waitUntil(`${count} events`, async () => {
    const events = await eventsOf(app, id)
    return events.length >= count && events
  })

async function connect(t: Test, app: TestDaemon): Promise<Wire> {
  const endpoint = app.daemon.api.find(({ kind }) => kind === 'tls')
  if (endpoint === undefined || endpoint.kind === 'unix') throw new Error('no HTTPS port')
  return openWire(t, { port: endpoint.port, ca: app.daemon.tls.cert })
}

async function ask(wire: Wire, line: string, ...fields: readonly string[]): Promise<WireAnswer> {
  wire.send(request(line, `User-Agent: ${BROWSER}`, ...fields))
  return wire.answer(line.startsWith('HEAD') ? 'head' : undefined)
}

/** A request of a mail client: without a key. */
async function load(app: TestDaemon, path: string, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  const answer = await app.rest('GET', path, { key: null, headers: { 'user-agent': BROWSER, ...headers } })
  return answer.status
}

interface EmailTimes {
  readonly opened_at: string | null
  readonly clicked_at: string | null
}

const recordOf = async (app: TestDaemon, id: string): Promise<EmailTimes> =>
  (await app.rest('GET', `/v1/emails/${id}`)).json<EmailTimes>()
const clicksOf = async (app: TestDaemon, id: string): Promise<unknown> =>
  (await app.rest('GET', `/v1/emails/${id}/clicks`)).json()

t.test('an open and a click of a person: answers, events, record and statistics', async (t) => {
  const app = await startTracking(t)
  const one = 'https://example.com/one?a=1&amp;b=2'
  const email = await sendTracked(app, [one, 'https://example.com/two'])
  t.same(await clicksOf(app, email.id), {
    email_id: email.id,
    clicked: false,
    first_clicked_at: null,
    total_clicks: 0,
    unique_links_clicked: 0,
    links: [],
  })
  app.advance(LATER)
  const wire = await connect(t, app)
  const opened = await ask(wire, `GET ${email.pixel}?bid=1&utm_source=client`)
  t.equal(opened.status, 200)
  t.equal(opened.headers['content-type'], 'image/gif')
  t.equal(opened.headers['cache-control'], 'no-store, no-cache, must-revalidate, proxy-revalidate')
  t.equal(opened.headers['pragma'], 'no-cache')
  t.equal(opened.headers['expires'], '0')
  t.equal(opened.headers['content-length'], '43')
  t.ok(opened.body.startsWith(PIXEL))

  const url = 'https://example.com/one?a=1&b=2'
  const clicked = await ask(wire, `GET ${linkOf(email, url)}?fbclid=x&fbclid=y&%`, 'Referer: https://mail.b.test/')
  t.equal(clicked.status, 302, 'on the same connection')
  t.equal(clicked.headers['location'], url)
  t.equal(clicked.body, '')
  const [open, click] = await waitForEvents(app, email.id, 2)
  const common = { email_id: email.id, to: 'bob@b.test', user_agent: BROWSER, ip_address: '127.0.0.1', machine: false }
  t.same(open, {
    type: 'email.opened',
    recipient: 'bob@b.test',
    data: { ...common, opened_at: open?.data['opened_at'] },
  })
  t.same(click, {
    type: 'email.clicked',
    recipient: 'bob@b.test',
    data: { ...common, link: url, url, clicked_at: click?.data['clicked_at'], referer: 'https://mail.b.test/' },
  })
  const { opened_at: openedAt, clicked_at: clickedAt } = await recordOf(app, email.id)
  t.equal(openedAt, open?.data['opened_at'])
  t.equal(clickedAt, click?.data['clicked_at'])
  t.same(await clicksOf(app, email.id), {
    email_id: email.id,
    clicked: true,
    first_clicked_at: clickedAt,
    total_clicks: 1,
    unique_links_clicked: 1,
    links: [{ url, clicks: 1, last_clicked_at: clickedAt }],
  })

  app.advance(1_000)
  t.equal(await load(app, linkOf(email, url)), 302)
  t.equal(await load(app, linkOf(email, 'https://example.com/two')), 302)
  t.equal(await load(app, email.pixel), 200)
  const all = await waitForEvents(app, email.id, 5)
  t.equal((await recordOf(app, email.id)).opened_at, openedAt, 'the first open stays')
  t.equal((await recordOf(app, email.id)).clicked_at, clickedAt, 'and the first click')
  const later = all.map(({ data }) => data['clicked_at'])
  t.match(await clicksOf(app, email.id), {
    total_clicks: 3,
    unique_links_clicked: 2,
    first_clicked_at: clickedAt,
    links: [
      { url, clicks: 2, last_clicked_at: later[2] },
      { url: 'https://example.com/two', clicks: 1, last_clicked_at: later[3] },
    ],
  })
  t.same(app.errors, [])
})

t.test('HEAD, unknown ids, other URLs and other forms of the path', async (t) => {
  const app = await startTracking(t)
  const [first, second] = ['https://example.com/one', 'https://example.com/two']
  const email = await sendTracked(app, [first, second])
  const other = await sendTracked(app, ['https://elsewhere.example/'])
  app.advance(LATER)
  const wire = await connect(t, app)
  const head = await ask(wire, `HEAD ${email.pixel}`)
  t.same([head.status, head.headers['content-type'], head.headers['content-length']], [200, 'image/gif', '43'])
  const headOfClick = await ask(wire, `HEAD ${linkOf(email, first)}`)
  t.same([headOfClick.status, headOfClick.headers['location']], [302, first])

  const unknown = email.id.replace(/.$/, (end) => (end === '0' ? '1' : '0'))
  for (const id of [unknown, `bc-${unknown}`, 'x', '%', '%00', "'", '..%2f', 'x'.repeat(4_000), '%F0%9F%A6%8A']) {
    const answer = await ask(wire, `GET /v1/track/open/${id}`)
    t.same([answer.status, answer.headers['content-length']], [200, '43'], `the pixel of ${id.slice(0, 50)}`)
    const missing = await ask(wire, `GET /v1/track/click/${id}?url=${encodeURIComponent(first)}`)
    t.equal(missing.status, 404, `no link ${id.slice(0, 50)}`)
    t.match(missing.headers['content-type'], /^text\/html/)
    t.match(missing.headers['content-security-policy'], /default-src 'none'/)
    t.match(missing.body, '<h1>This link is not known</h1>')
  }
  const click = linkOf(email, first)
  for (const [path, location] of [
    [`${click}?url=${encodeURIComponent('https://evil.example/')}`, first],
    [`${click}?url=${encodeURIComponent('https://elsewhere.example/')}`, first],
    [`${click}?url=${encodeURIComponent(second)}&tid=1&bid=2`, second],
    [`${click}?url=`, first],
    [`/v1/track/click/${email.id}?url=${encodeURIComponent(second)}&bid=2`, second],
    [click.replace('/v1', ''), first],
    [click.replace('/v1', '/api/v1'), first],
  ] as const) {
    const answer = await ask(wire, `GET ${path}`)
    t.same([answer.status, answer.headers['location']], [302, location], path.slice(-60))
  }
  const foreign = await ask(
    wire,
    `GET /v1/track/click/${email.id}?url=${encodeURIComponent('https://elsewhere.example/')}`,
  )
  t.equal(foreign.status, 404, 'the URL of another email is no link of this one')
  t.equal((await ask(wire, `POST ${click}`, 'Content-Length: 0')).status, 405)
  const events = await waitForEvents(app, email.id, 7)
  t.same(
    events.map(({ data }) => data['url']),
    [first, first, second, first, second, first, first],
    'HEAD has made no event',
  )
  t.same(await eventsOf(app, other.id), [])
  t.equal((await recordOf(app, email.id)).opened_at, null)
  t.same(app.errors, [])
})

t.test('untracked emails, and emails that are gone', async (t) => {
  const app = await startTracking(t)
  const url = 'https://example.com/'
  const clicks = await sendTracked(app, [url], { tracking: { open: false, click: true } })
  const opens = await sendTracked(app, [url], { tracking: { open: true, click: false } })
  const gone = await sendTracked(app, [url])
  app.advance(LATER)
  t.equal(opens.links.size, 0)
  await app.daemon.database.commit([{ sql: 'delete from emails where id = ?', parameters: [gone.id] }])
  for (const { pixel } of [clicks, opens, gone]) t.equal(await load(app, pixel), 200)
  for (const email of [gone, clicks]) t.equal(await load(app, linkOf(email, url)), 302, 'a link outlives its email')
  await waitForEvents(app, clicks.id, 1)
  t.same(
    await Promise.all([clicks, opens, gone].map(async ({ id }) => (await eventsOf(app, id)).map(({ type }) => type))),
    [['email.clicked'], ['email.opened'], []],
  )
  t.same(app.errors, [])
})

t.test('machines are recorded and shown, and count for nothing', async (t) => {
  const app = await startTracking(t, { settings: { api: { trusted_proxies: ['127.0.0.1'] } } })
  const urls = [1, 2, 3, 4, 5].map((place) => `https://example.com/${place}`)
  const email = await sendTracked(app, urls)
  const from = (address: string, agent = BROWSER): Readonly<Record<string, string>> => ({
    'user-agent': agent,
    'x-forwarded-for': address,
  })
  const click = (place: number, headers: Readonly<Record<string, string>>): Promise<number> =>
    load(app, linkOf(email, `https://example.com/${place}`), headers)

  await click(1, from('192.0.2.9'))
  t.equal((await waitForEvents(app, email.id, 1))[0]?.data['machine'], true, 'at the delivery')
  app.advance(LATER)
  const gmail = 'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)'
  await load(app, email.pixel, from('192.0.2.1', gmail))
  await load(app, email.pixel, from('2a02:26f7:c640::7', 'Mozilla/5.0'))
  await click(1, from('192.0.2.1', 'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)'))
  await waitForEvents(app, email.id, 4)
  t.match(await recordOf(app, email.id), { opened_at: null, clicked_at: null })
  t.match(await clicksOf(app, email.id), { clicked: false, total_clicks: 0, links: [] })

  await click(1, from('2001:db8:1:1::5'))
  const human = (await waitForEvents(app, email.id, 5))[4]?.data
  t.match(human, { machine: false, ip_address: '2001:db8:1:1::5' }, 'an IPv6 address behind the proxy')
  app.advance(1)
  // One address of a /64 after the other: the third link of five makes it a sweep.
  await click(1, from('2001:db8:2:2::1'))
  await click(2, from('2001:db8:2:2::2'))
  await waitForEvents(app, email.id, 7)
  t.match(await clicksOf(app, email.id), { total_clicks: 3, unique_links_clicked: 2 })
  await click(3, from('2001:db8:2:2::3'))
  await click(4, from('2001:db8:2:2::3'))
  const swept = (await waitForEvents(app, email.id, 9)).slice(5)
  t.same(
    swept.map(({ data }) => data['machine']),
    [true, true, true, true],
    'the earlier clicks of the sweep too',
  )
  const clickedAt = human?.['clicked_at']
  t.match(await recordOf(app, email.id), { opened_at: null, clicked_at: clickedAt })
  t.same(await clicksOf(app, email.id), {
    email_id: email.id,
    clicked: true,
    first_clicked_at: clickedAt,
    total_clicks: 1,
    unique_links_clicked: 1,
    links: [{ url: 'https://example.com/1', clicks: 1, last_clicked_at: clickedAt }],
  })
  app.advance(11_000)
  await click(5, from('2001:db8:2:2::1'))
  t.equal((await waitForEvents(app, email.id, 10))[9]?.data['machine'], false, 'later the address is new')
  t.same(app.errors, [])
})

t.test('a sweep that held the only clicks leaves no click', async (t) => {
  const app = await startTracking(t)
  const urls = [1, 2, 3, 4].map((place) => `https://example.com/${place}`)
  const email = await sendTracked(app, urls)
  app.advance(LATER)
  for (const url of urls.slice(0, 2)) await load(app, linkOf(email, url))
  await waitForEvents(app, email.id, 2)
  t.not((await recordOf(app, email.id)).clicked_at, null)
  for (const url of urls.slice(2)) await load(app, linkOf(email, url))
  await waitForEvents(app, email.id, 4)
  t.equal((await recordOf(app, email.id)).clicked_at, null)
  t.match(await clicksOf(app, email.id), { clicked: false, first_clicked_at: null, total_clicks: 0, links: [] })
  t.same(app.errors, [])
})

t.test('a flood on one pixel is answered and not stored, and no rate limit of clients counts it', async (t) => {
  const app = await startTracking(t, { level: 'info' })
  const email = await sendTracked(app, ['https://example.com/'])
  app.advance(LATER)
  const answers = await Promise.all(Array.from({ length: 8 }, () => flood(t, app, email.pixel, 160)))
  t.same(new Set(answers.flat()), new Set([200]))
  const [click] = email.links.values()
  t.equal(await load(app, click ?? ''), 302)
  const isClick = (event: EventRow): boolean => event.type === 'email.clicked'
  const events = await waitUntil('the click', async () => {
    const found = await eventsOf(app, email.id)
    return found.some(isClick) && found
  })
  t.equal(events.filter((event) => !isClick(event)).length, 1_000, 'the burst of one email')
  const wrong = await app.rest('GET', '/v1/usage', { key: null })
  t.equal(wrong.status, 401, 'its address has room for requests without a key')
  await app.stop()
  const warnings = app.lines.filter((line) => line.includes('were left out: there are too many'))
  const leftOut = warnings.reduce((sum, line) => sum + (JSON.parse(line) as { left_out: number }).left_out, 0)
  t.equal(leftOut, 280)
  t.same(app.errors, [])
})

async function flood(t: Test, app: TestDaemon, path: string, count: number): Promise<readonly number[]> {
  const wire = await connect(t, app)
  const statuses: number[] = []
  for (let sent = 0; sent < count; sent += 1) statuses.push((await ask(wire, `GET ${path}`)).status)
  return statuses
}

t.test('what was answered is recorded when the daemon stops', async (t) => {
  const app = await startTracking(t)
  const email = await sendTracked(app, ['https://example.com/'])
  app.advance(LATER)
  await Promise.all([...email.links.values(), email.pixel].map((path) => load(app, path)))
  await app.stop()
  const again = await testDaemon(t, { folder: app.folder })
  t.same((await eventsOf(again, email.id)).map(({ type }) => type).sort(), ['email.clicked', 'email.opened'])
  t.not((await recordOf(again, email.id)).clicked_at, null)
})
