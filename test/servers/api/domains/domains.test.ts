/** Sending domains over REST: registered, refused, counted, deleted with the mail that waits. */
import t from 'tap'
import { parseDomainName } from '../../../../src/base/mail/address.js'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { DeletedDomainRunner } from '../../../../src/records/messages/queue/deleted-domain-runner.js'
import type { ErrorBody } from '../../../../src/servers/api/http/error-answer.js'
import { countDomainCreation } from '../../../../src/workspaces/accounts/limits/hourly-limit.js'
import { parseRegistrableName } from '../../../../src/workspaces/domains/rows/registrable-name.js'
import { type TestDaemon, testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { bulkEmail, enqueueAll } from '../../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { schemaCheck } from '../../../helpers/http/answer-schemas.js'
import type { RestAnswer } from '../../../helpers/http/rest-client.js'
import { openSink } from '../../../helpers/smtp/scripted-sink.js'

interface Domain {
  readonly id: string
  readonly domain: string
  readonly status: string
  readonly forced: boolean
  readonly inbound: boolean
  readonly blocked_addresses?: readonly string[]
  readonly dns_records: readonly { readonly name: string; readonly purpose: string; readonly status: string }[]
  readonly created_at: string
  readonly verified_at: string | null
}

const HOUR = 3_600_000
const error = (answer: RestAnswer): ErrorBody['error'] => answer.json<ErrorBody>().error
const add = (app: TestDaemon, domain: string, key = app.key): Promise<RestAnswer> =>
  app.rest('POST', '/v1/domains', { key, body: { domain } })

async function idOf(app: TestDaemon, name: string, key = app.key): Promise<string> {
  const { data } = (await app.rest('GET', '/v1/domains', { key })).json<{ data: readonly Domain[] }>()
  return data.find(({ domain }) => domain === name)?.id ?? ''
}

t.test('a domain is registered with the records to publish, listed and read', async (t) => {
  const app = await testDaemon(t)
  const check = schemaCheck(app.daemon.routes)
  const made = await app.rest('POST', '/v1/domains', { body: { domain: 'News.Münster.Test.', inbound: true } })
  t.equal(made.status, 201)
  t.same(check('POST /domains', made), [])
  const domain = made.json<Domain>()
  const name = 'news.xn--mnster-3ya.test'
  t.match(domain, {
    domain: name,
    status: 'pending',
    forced: false,
    inbound: true,
    verified_at: null,
    dns_records: [
      {
        type: 'CNAME',
        name: `posthorn.${name}`,
        relative_name: 'posthorn.news',
        value: 'mail.service.test',
        purpose: 'mail_cname',
        status: 'pending',
      },
      {
        name: `dkim1._domainkey.${name}`,
        value: /^dkim1\.[0-9a-f]{20}\._domainkey\.mail\.service\.test$/,
        purpose: 'dkim1',
      },
      { purpose: 'dkim2' },
    ],
  })
  const listed = await app.rest('GET', '/v1/domains')
  t.same(check('GET /domains', listed), [])
  const { id, status, forced, inbound, dns_records, created_at, verified_at } = domain
  t.same(listed.json<{ data: readonly Domain[] }>().data.slice(1), [
    {
      ...{ id, domain: name, status, forced, inbound, dns_records, created_at, verified_at },
      ...{ object: 'domain', name, capabilities: { sending: 'enabled', receiving: 'enabled' } },
      ...{ open_tracking: true, click_tracking: true },
    },
  ])
  t.match(domain, {
    dns_zone: 'xn--mnster-3ya.test',
    mx_record: {
      type: 'MX',
      name,
      relative_name: 'news',
      value: 'mx.mail.service.test',
      priority: 10,
      status: 'pending',
    },
    tls_records: [
      { type: 'CNAME', name: `mta-sts.${name}` },
      { type: 'CNAME', name: `_mta-sts.${name}` },
      { type: 'TXT', name: `_smtp._tls.${name}`, value: /^v=TLSRPTv1; rua=mailto:tlsrpt@/ },
    ],
    dmarc_record: { type: 'TXT', name: `_dmarc.${name}`, value: /^v=DMARC1; p=none/, status: 'pending' },
    dkim_keys: [
      { selector: 'dkim1', txt: /^v=DKIM1/, signing: true },
      { selector: 'dkim2', signing: false },
    ],
    tracking: { open: null, click: null },
    blocked_addresses: [],
    rotation: null,
    checked_at: null,
    fails_at: null,
  })
  const shown = await app.rest('GET', `/v1/domains/${domain.id}`)
  t.same(check('GET /domains/:id', shown), [])
  t.same(shown.json(), domain)
  t.match(await app.submit({ from: `app@${name}` }), /^550 5\.7\.1/, 'not verified: nothing is sent from it')
  t.match((await app.rest('GET', '/v1/audit-log')).json(), {
    data: [{ action: 'domain.created', target: domain.id, details: { domain: name } }],
  })
})

t.test('receiving is configured per domain: all mail or none, and blocked addresses', async (t) => {
  const app = await testDaemon(t)
  const check = schemaCheck(app.daemon.routes)
  const id = await idOf(app, 'a.test')
  const change = async (body: object): Promise<RestAnswer> => {
    const answer = await app.rest('PATCH', `/v1/domains/${id}`, { body })
    if (answer.status === 200) t.same(check('PATCH /domains/:id', answer), [])
    return answer
  }
  const changed = async (body: object): Promise<Domain> => (await change(body)).json<Domain>()
  t.match(await changed({ inbound: true }), { id, inbound: true, blocked_addresses: [] })
  const list = ['Sold@A.Test', '"sold"', 'a+b', 'büro']
  t.match(await changed({ blocked_addresses: list }), {
    inbound: true,
    blocked_addresses: ['a+b@a.test', 'büro@a.test', 'sold@a.test'],
  })
  t.same(
    (await changed({ blocked_addresses: ['sold', 'x'], inbound: false })).blocked_addresses,
    ['sold@a.test', 'x@a.test'],
    'what is missing is open again',
  )
  const now = await changed({})
  t.match(now, { inbound: false, blocked_addresses: ['sold@a.test', 'x@a.test'] }, 'what is not named stays')
  t.same((await app.rest('GET', `/v1/domains/${id}`)).json(), now)
  const many = Array.from({ length: 1000 }, (_, n) => `n${n}`)
  t.equal((await changed({ blocked_addresses: many })).blocked_addresses?.length, 1000)
  t.match(await changed({ blocked_addresses: [] }), { blocked_addresses: [] })
  t.match(await changed({ tracking: { open: true } }), { tracking: { open: true, click: null } })
  t.match(await changed({ tracking: { click: true } }), { tracking: { open: true, click: true } })
  t.match(
    await changed({ tracking: { click: null } }),
    { tracking: { open: true, click: null } },
    'each interface keeps its default again',
  )
  t.match(await changed({ tracking: { click: true } }), { tracking: { open: true, click: true } })
  t.match(await changed({ tracking: {} }), { tracking: { open: true, click: true } }, 'what is not named stays')
  const tracked = (await app.findStory(await app.submitAccepted())).tracking
  t.same(tracked, { open: true, click: true }, 'for mail submitted by SMTP that does not say')

  t.match((await app.rest('GET', '/v1/audit-log')).json(), {
    data: [
      { action: 'domain.changed', target: id, details: { domain: 'a.test', track_clicks: true } },
      { details: { track_clicks: null } },
      { details: { track_clicks: true } },
      { details: { track_opens: true } },
      { details: { domain: 'a.test', unblocked: 1000 } },
      { details: { blocked: 1000, unblocked: ['sold', 'x'] } },
      { details: { inbound: false, blocked: ['x'], unblocked: ['a+b', 'büro'] } },
      { details: { blocked: ['sold', 'a+b', 'büro'] } },
      { details: { inbound: true } },
    ],
  })
  for (const [body, field] of [
    [{ blocked_addresses: ['ok', 'x@b.test'] }, 'blocked_addresses[1]'],
    [{ blocked_addresses: ['POSTMASTER'] }, 'blocked_addresses[0]'],
    [{ blocked_addresses: [7] }, 'blocked_addresses[0]'],
    [{ blocked_addresses: [...many, 'one more'] }, 'blocked_addresses'],
    [{ blocked_addresses: 'sold' }, 'blocked_addresses'],
    [{ inbound: 'yes' }, 'inbound'],
    [{ tracking: { open: 1 } }, 'tracking.open'],
    [{ tracking: { opens: true } }, 'tracking.opens'],
    [{ tracking: 'open' }, 'tracking'],
    [{ domain: 'c.test' }, 'domain'],
  ] as const) {
    const { message, ...wrong } = error(await change(body))
    const rule = message.slice(`${field}: `.length)
    t.match(wrong, { code: 'validation_error', details: { errors: [{ field, message: rule }] } })
  }
  const pending = (await add(app, 'new.test')).json<Domain>().id
  const early = await app.rest('PATCH', `/v1/domains/${pending}`, { body: { inbound: true } })
  t.match([early.status, error(early)], [400, { code: 'domain_not_verified', details: { domain: 'new.test' } }])
  const blockedEarly = await app.rest('PATCH', `/v1/domains/${pending}`, { body: { blocked_addresses: ['x'] } })
  t.match(blockedEarly.json(), { status: 'pending', blocked_addresses: ['x@new.test'] })
  t.same(app.errors, [])
})

t.test('names that are refused as sending domains', async (t) => {
  const app = await testDaemon(t)
  const names = [
    '',
    'localhost',
    'test.',
    '192.0.2.1',
    '1.2.3',
    '0x7f.1',
    '[192.0.2.1]',
    '2001:db8::1',
    'a b.test',
    ' c.test',
    '.c.test',
    'c..test',
    '-c.test',
    '*.test',
    'c.test/x',
    'c.test:25',
    'user@c.test',
    'https://c.test',
    `${'x'.repeat(64)}.test`,
    `${'x.'.repeat(100)}test`,
    'mail.service.test',
    'MAIL.service.test',
    'com.',
    'co.uk',
    'GitHub.io',
    '公司.cn',
    'anything.ck',
    'shop.invalid',
    'a.localhost',
    'shop.example',
    'example.com',
    'mail.Example.net',
    'hidden.onion',
    '2.0.192.in-addr.arpa',
    'home.arpa',
    'sub.mail.service.test',
    'a\u0000.test',
  ]
  for (const domain of names) {
    const answer = await add(app, domain)
    t.match(error(answer), { code: 'validation_error', details: { errors: [{ field: 'domain' }] } }, domain)
  }
  t.equal((await app.rest('GET', '/v1/domains')).json<{ data: readonly Domain[] }>().data.length, 1)
  t.same(await app.rows('select 1 from usage where kind = ?', 'domain-creations'), [], 'a refusal does not count')
})

t.test('names below public suffixes, and names used in closed networks', (t) => {
  const names = { hostname: 'mail.service.test', zone: 'mail.service.test' }
  for (const name of [
    'shop.co.uk',
    'mine.github.io',
    'www.ck',
    'a.test',
    'corp.local',
    'app.internal',
    'box.home.arpa',
    'notexample.com',
    'service.test',
    'xmail.service.test',
  ]) {
    t.equal(parseRegistrableName(`${name.toUpperCase()}.`, names), name)
  }
  t.end()
})

t.test(
  'a name that is registered already: by another workspace, by this one, or by a concurrent request',
  async (t) => {
    const app = await testDaemon(t)
    t.match(error(await add(app, 'other.test')), { code: 'domain_already_exists', status: 409 })
    t.match(error(await add(app, 'A.test.')), { code: 'conflict', status: 409 })
    const many = await Promise.all(Array.from({ length: 2 }, () => add(app, 'new.test')))
    t.same(many.map(({ status }) => status).sort(), [201, 409])
    t.equal(
      many.filter(({ status }) => status === 409).every((answer) => error(answer).code === 'conflict'),
      true,
    )
    t.equal((await add(app, 'new.test', app.otherKey)).status, 201, 'an unverified claim blocks no other workspace')
    await app.cli('domain', 'verify', 'new.test', '--force', '--workspace', app.otherWorkspaceId)
    const verify = await app.cli('domain', 'verify', 'new.test', '--force', '--workspace', app.workspaceId)
    t.match(verify, { status: 1, err: /another workspace has verified new\.test/ })
    t.same(app.errors, [])
  },
)

t.test('ten registrations in an hour; deletion gives none back, and the operator is not limited', async (t) => {
  const app = await testDaemon(t)
  // Keys take time: nine of the ten are registered without them.
  for (let n = 0; n < 9; n += 1) await countDomainCreation(app.daemon.database, app.workspaceId, app.now())
  const answers = await Promise.all([add(app, 'n0.test'), add(app, 'n1.test')])
  t.same(answers.map(({ status }) => status).sort(), [201, 429])
  const refused = error(answers.find(({ status }) => status === 429) ?? (await add(app, 'more.test')))
  t.match(refused, { code: 'rate_limit_exceeded', details: { limit: 10, remaining: 0, reset_at: /Z$/ } })
  t.equal(refused.retry_after, refused.details?.['retry_after'])

  const made = answers.find(({ status }) => status === 201)?.json<Domain>()
  t.equal((await app.rest('DELETE', `/v1/domains/${made?.id}`)).status, 200)
  t.equal((await add(app, made?.domain ?? '')).status, 429, 'deleting and registering again')
  t.match(error(await add(app, 'a.test')), { code: 'conflict' }, 'the conflict is reported before the limit')
  t.match(await app.cli('domain', 'add', 'cli.test', '--workspace', app.workspaceId), { status: 0 }, 'but the operator')
  t.same(app.errors, [])
})

t.test('deleting a domain stops sending at once and fails the queued mail that was accepted before', async (t) => {
  const sink = await openSink({ script: { rcpt: () => '450 4.2.0 later' } })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const check = schemaCheck(app.daemon.routes)
  const waiting = await app.waitUntilAttempted(await app.submitAccepted())
  const soon = new Date(app.now() + HOUR).toISOString()
  const scheduled = await app.submitAccepted({ fields: [`X-Service-Scheduled-For: ${soon}`] })
  const held = await app.waitUntilAttempted(await app.submitAccepted())
  await app.cli('queue', 'hold', '--workspace', app.workspaceId, await entryOf(app, held.id))
  const others = await app.waitUntilAttempted(await app.submitAccepted({ from: 'app@other.test', key: app.otherKey }))
  const session = await app.openSession()

  const id = await idOf(app, 'a.test')
  const answer = await app.rest('DELETE', `/v1/domains/${id}`)
  t.same([answer.status, answer.json()], [200, { object: 'domain', deleted: true, id }])
  t.same(check('DELETE /domains/:id', answer), [])
  for (const email of [waiting.id, scheduled, held.id]) {
    t.match(await app.waitUntilSettled(email), {
      status: 'failed',
      recipients: [{ status: 'failed', reason: 'domain-deleted' }],
    })
  }
  t.match(await app.findStory(others.id), { status: 'queued' }, 'mail from another domain stays')
  t.match(await session.sendCommand('MAIL FROM:<app@a.test>'), /^550 5\.7\.1/, 'in a session that is open, too')
  for (const method of ['GET', 'DELETE']) {
    t.match(error(await app.rest(method, `/v1/domains/${id}`)), { code: 'domain_not_found', details: { id } })
  }
  t.match((await app.rest('GET', '/v1/audit-log')).json(), {
    data: [{ action: 'domain.deleted', target: id, details: { domain: 'a.test' } }, { action: 'queue.held' }],
  })
  t.equal((await add(app, 'a.test', app.otherKey)).status, 201, 'others can have it')
  t.same(app.errors, [])
})

const entryOf = async (app: TestDaemon, emailId: string): Promise<string> =>
  (await app.rows<{ id: string }>('select id from queue where email_id = ?', emailId))[0]?.id ?? ''

const waiting = async ({ read }: Pick<Database, 'read'>, workspaceId: string): Promise<number> =>
  (await read<{ n: number }>('select count(*) as n from queue where workspace_id = ?', [workspaceId]))[0]?.n ?? -1

t.test('a walk over the queue ends with the daemon, after its page, and is logged', async (t) => {
  const { database } = await temporaryDatabase(t)
  const emails = Array.from({ length: 500 }, () => bulkEmail({ workspaceId: 'ws_1', to: 'x@b.test', at: 1000 }))
  await database.commit(emails.flatMap(({ writes }) => writes))
  const calls: string[] = []
  const log = { error: () => calls.push('error'), warn: () => calls.push('warn') }
  let begun = (): void => undefined
  const firstPage = new Promise<void>((resolve) => {
    begun = resolve
  })
  const commit: Database['commit'] = (writes) => {
    begun()
    return database.commit(writes)
  }
  const walks = new DeletedDomainRunner({
    ...database,
    commit,
    log,
    onWalkEnd: ({ domain }) => calls.push(`walked ${domain}`),
  })
  walks.start({ workspaceId: 'ws_1', domain: parseDomainName('a.test'), at: 2000 })
  await firstPage
  await walks.stop()
  t.equal(await waiting(database, 'ws_1'), 300)
  t.same(calls, ['warn', 'walked a.test'])
})

t.test('a walk over the queue that fails is logged and affects nothing else', async (t) => {
  const { database } = await temporaryDatabase(t)
  const calls: string[] = []
  const log = { error: () => calls.push('error'), warn: () => calls.push('warn') }
  const read: Database['read'] = () => {
    throw new Error('the disk')
  }
  const walks = new DeletedDomainRunner({ ...database, read, log, onWalkEnd: () => calls.push('walked') })
  walks.start({ workspaceId: 'ws_1', domain: parseDomainName('a.test'), at: 2000 })
  await walks.stop()
  t.same(calls, ['error', 'walked'])
})

t.test('a long queue is failed page by page, and the API answers meanwhile', async (t) => {
  const app = await testDaemon(t, { settings: { outbound: { max_connections: 1 } } })
  const far = app.now() + 24 * HOUR
  const count = 1000
  await enqueueAll(app, { workspaceId: app.workspaceId, to: 'x@b.test', at: app.now(), scheduledFor: far }, count)
  await enqueueAll(
    app,
    { workspaceId: app.otherWorkspaceId, from: 'x@other.test', to: 'x@b.test', at: app.now(), scheduledFor: far },
    10,
  )
  t.equal((await app.rest('DELETE', `/v1/domains/${await idOf(app, 'a.test')}`)).status, 200)
  let answered = 0
  while ((await waiting(app.daemon.database, app.workspaceId)) > 0) {
    t.equal((await app.rest('GET', '/v1/api-keys')).status, 200)
    answered += 1
  }
  t.ok(answered > 1, `${answered} requests were answered meanwhile`)
  t.same(await app.rows('select status, count(*) as n from emails group by status order by status'), [
    { status: 'failed', n: count },
    { status: 'scheduled', n: 10 },
  ])
  t.same(await app.rows('select workspace_id, count(*) as n from queue group by 1'), [
    { workspace_id: app.otherWorkspaceId, n: 10 },
  ])
  t.equal((await app.rows(`select 1 from events where type = 'email.failed'`)).length, count)
})
