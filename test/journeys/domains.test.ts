/**
 * A sending domain from registration to verification, broken, repaired and lost, and the rotation of its keys,
 * against a real DNS server.
 */
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import t, { type Test } from 'tap'
import { announceChange } from '../../src/base/storage/db/change-acknowledgement.js'
import type { ErrorBody } from '../../src/servers/api/http/error-answer.js'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { withOwnDatabase } from '../helpers/database/daemon-database.js'
import { type MutableZone, mutableZone } from '../helpers/dns/mutable-zone.js'
import { schemaCheck } from '../helpers/http/answer-schemas.js'
import type { RestAnswer } from '../helpers/http/rest-client.js'
import { openSink, type ScriptedSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

interface Domain {
  readonly id: string
  readonly domain: string
  readonly status: string
  readonly dns_records: readonly {
    readonly name: string
    readonly value: string
    readonly purpose: string
    readonly status: string
  }[]
  readonly mx_record: { readonly status: string }
  readonly dmarc_record: { readonly status: string }
  readonly dkim_keys: readonly {
    readonly selector: string
    readonly name: string
    readonly txt: string
    readonly signing: boolean
  }[]
  readonly rotation: { readonly selector: string; readonly state: string } | null
  readonly verified_at: string | null
  readonly checked_at: string | null
  readonly fails_at: string | null
}

interface World {
  readonly app: TestDaemon
  readonly zone: MutableZone
  readonly sink: ScriptedSink
}

async function world(t: Test): Promise<World> {
  const [zone, sink] = await Promise.all([mutableZone(t), openSink()])
  t.teardown(() => sink.close())
  zone.set('mx.b.test', { A: ['127.0.0.1'] })
  zone.set('mail.service.test', {
    A: ['192.0.2.1'],
    TXT: ['v=spf1 ip4:192.0.2.1 -all'],
    MX: [[10, 'mx.mail.service.test']],
  })
  const settings = { dns: { servers: [zone.address] } }
  return { zone, sink, app: await testDaemon(t, { zone: 'dns.servers', settings, routes: { 'b.test': sink } }) }
}

const error = (answer: RestAnswer): ErrorBody['error'] => answer.json<ErrorBody>().error
const show = async (app: TestDaemon, id: string): Promise<Domain> => (await app.rest('GET', `/v1/domains/${id}`)).json()
const verify = (app: TestDaemon, id: string, key = app.key): Promise<RestAnswer> =>
  app.rest('POST', `/v1/domains/${id}/verify`, { key })
const rotate = (app: TestDaemon, id: string): Promise<RestAnswer> => app.rest('POST', `/v1/domains/${id}/rotate`)

async function add(app: TestDaemon, domain: string, key = app.key): Promise<Domain> {
  const answer = await app.rest('POST', '/v1/domains', { key, body: { domain } })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.json<Domain>()
}

/** What the customer publishes, and what the service zone holds. */
function publish(zone: MutableZone, domain: Domain, purposes = ['mail_cname', 'dkim1', 'dkim2']): void {
  for (const { name, value, purpose } of domain.dns_records) {
    if (purposes.includes(purpose)) zone.set(name, { CNAME: value })
    const key = domain.dkim_keys.find(({ selector }) => selector === purpose)
    if (key !== undefined) zone.set(value, { TXT: [key.txt] })
  }
}

/** Makes the daemon check domains that are due, as it would within a minute. */
const nudge = (app: TestDaemon): Promise<void> =>
  withOwnDatabase(app, (database) => database.commit([announceChange()]))

async function waitForDomain(
  app: TestDaemon,
  id: string,
  wait: number,
  what: (domain: Domain) => boolean,
): Promise<Domain> {
  app.advance(wait)
  await nudge(app)
  return waitUntil('it was looked at', async () => {
    const domain = await show(app, id)
    return what(domain) && domain
  })
}

const news = async (app: TestDaemon, id: string): Promise<readonly string[]> =>
  (
    await app.rows<{ type: string; data: string }>(
      `select type, data from events where type like 'domain.%' order by seq`,
    )
  )
    .filter(({ data }) => (JSON.parse(data) as { domain_id: string }).domain_id === id)
    .map(({ type }) => type)

/** Sends one message and verifies its signatures with the present DNS. */
async function signature({ app, zone, sink }: World, from: string): Promise<{ selector: string; result: string }> {
  const before = sink.messages.length
  await app.waitUntilSettled(await app.submitAccepted({ from }))
  const raw = sink.messages[before]?.raw ?? Buffer.alloc(0)
  const resolver = async (name: string): Promise<string[][]> => {
    const state = zone.get(name)
    const end = state !== null && typeof state === 'object' && 'CNAME' in state ? zone.get(state.CNAME) : state
    if (end === null || typeof end === 'string' || 'CNAME' in end)
      throw Object.assign(new Error(name), { code: 'ENOTFOUND' })
    return (end.TXT ?? []).map((text) => [text])
  }
  const { results } = await dkimVerify(raw, { resolver: resolver as never })
  const [only] = results as unknown as readonly { selector: string; status: { result: string } }[]
  return { selector: only?.selector ?? '', result: only?.status.result ?? '' }
}

t.test('from registration to verification, each answer names what is wrong and what was found', async (t) => {
  const { app, zone, sink } = await world(t)
  const check = schemaCheck(app.daemon.routes)
  const domain = await add(app, 'c.test')
  const { id } = domain
  const [, dkim1, dkim2] = domain.dns_records
  const nothing = await verify(app, id)
  t.match(error(nothing), {
    code: 'domain_verification_failed',
    status: 400,
    details: {
      domain: 'c.test',
      records: [
        { type: 'CNAME', name: 'posthorn.c.test', expected: 'mail.service.test', found: null, status: 'failed' },
        { type: 'CNAME', name: dkim1?.name, expected: dkim1?.value, found: null, status: 'failed' },
        { type: 'CNAME', name: dkim2?.name, expected: dkim2?.value, found: null, status: 'failed' },
      ],
    },
  })
  t.match(await show(app, id), {
    status: 'failed',
    verified_at: null,
    checked_at: /Z$/,
    dns_records: [{ status: 'failed' }],
  })
  t.match(await app.submit({ from: 'app@c.test' }), /^550 5\.7\.1/)
  publish(zone, domain, ['mail_cname', 'dkim1'])
  t.match(error(await verify(app, id)), {
    code: 'dkim_verification_failed',
    details: { records: { 2: { found: null } } },
  })
  publish(zone, domain)
  zone.set('posthorn.c.test', { CNAME: 'somebody.else.test' })
  t.match(error(await verify(app, id)), {
    code: 'spf_verification_failed',
    details: {
      records: [{ found: 'somebody.else.test', status: 'failed' }, { status: 'verified' }, { status: 'verified' }],
    },
  })
  zone.set('posthorn.c.test', 'SERVFAIL')
  const before = await show(app, id)
  const silent = await verify(app, id)
  t.match(error(silent), { code: 'gateway_timeout', status: 504, details: { records: [{ status: 'pending' }] } })
  t.same(await show(app, id), before, 'no answer changes nothing')
  publish(zone, domain)
  zone.set('_dmarc.c.test', { TXT: ['v=DMARC1; p=reject'] })
  const good = await verify(app, id)
  t.equal(good.status, 200)
  t.same(check('POST /domains/:id/verify', good), [])
  t.match(good.json(), {
    status: 'verified',
    verified_at: /Z$/,
    dns_records: [{ status: 'verified' }, { status: 'verified' }, { status: 'verified' }],
    dmarc_record: { status: 'verified' },
    mx_record: { status: 'pending' },
  })
  t.same(await signature({ app, zone, sink }, 'app@c.test'), { selector: 'dkim1', result: 'pass' })
  t.same(await news(app, id), ['domain.failed', 'domain.verified'])
  t.match((await app.rest('GET', '/v1/audit-log')).json(), {
    data: [
      { action: 'domain.verified', target: id, actor: /./ },
      { action: 'domain.failed', target: id },
    ],
  })
  t.equal((await app.rest('PATCH', `/v1/domains/${id}`, { body: { inbound: true } })).status, 200)
  t.match((await verify(app, id)).json(), { mx_record: { status: 'failed' } }, 'the MX gates nothing')
  zone.set('c.test', { MX: [[10, 'mx.mail.service.test']] })
  t.match((await verify(app, id)).json(), { mx_record: { status: 'verified' } })
  t.same((await show(app, id)).verified_at, good.json<Domain>().verified_at, 'verified since the first time')
  const tries = await Promise.all(Array.from({ length: 100 }, () => verify(app, id)))
  const refused = tries.find(({ status }) => status === 429) ?? (await verify(app, id))
  t.match(error(refused), { code: 'rate_limit_exceeded', details: { limit: 60 } })
  t.same(app.errors, [])
})

t.test('a broken domain has three days of grace, recovers, and is lost', async (t) => {
  const { app, zone, sink } = await world(t)
  const domain = await add(app, 'c.test')
  const { id } = domain
  publish(zone, domain)
  await waitForDomain(app, id, HOUR + 1, ({ status }) => status === 'verified')
  t.same(await news(app, id), ['domain.verified'], 'without a request')
  const asked = zone.queries.length
  await waitForDomain(app, id, HOUR, () => true)
  t.equal(zone.queries.length, asked, 'not looked at again before a day is over')

  zone.set('posthorn.c.test', null)
  const broken = await waitForDomain(app, id, DAY, ({ fails_at }) => fails_at !== null)
  t.match(broken, {
    status: 'verified',
    dns_records: [{ status: 'failed' }, { status: 'verified' }, { status: 'verified' }],
  })
  t.ok(Date.parse(broken.fails_at ?? '') - app.now() > 71 * HOUR)
  t.same(await signature({ app, zone, sink }, 'app@c.test'), { selector: 'dkim1', result: 'pass' }, 'mail goes on')
  t.match(error(await verify(app, id)), { code: 'spf_verification_failed' })
  t.match(
    await show(app, id),
    { status: 'verified', fails_at: broken.fails_at },
    'the button does not shorten the grace',
  )

  publish(zone, domain)
  await waitForDomain(app, id, HOUR, ({ fails_at }) => fails_at === null)
  zone.set('posthorn.c.test', 'SERVFAIL')
  const looks = (): number => zone.queries.filter((question) => question === 'CNAME posthorn.c.test').length
  const before = looks()
  app.advance(5 * DAY)
  await nudge(app)
  await waitUntil('it was asked', () => looks() > before)
  t.match(await show(app, id), { status: 'verified', fails_at: null }, 'silence breaks nothing')

  zone.set('posthorn.c.test', null)
  await waitForDomain(app, id, HOUR, ({ fails_at }) => fails_at !== null)
  await waitForDomain(app, id, 73 * HOUR, ({ status }) => status === 'failed')
  t.match(await app.submit({ from: 'app@c.test' }), /^550 5\.7\.1/)
  t.match(
    error(
      await app.rest('POST', '/v1/emails', { body: { from: 'app@c.test', to: 'x@b.test', subject: 's', text: 't' } }),
    ),
    {
      code: 'invalid_from_address',
    },
  )
  t.match(error(await rotate(app, id)), { code: 'domain_not_verified', status: 400 })
  publish(zone, domain)
  await waitForDomain(app, id, HOUR, ({ status }) => status === 'verified')
  t.equal((await app.submit({ from: 'app@c.test' })).slice(0, 3), '250', 'what was remembered is forgotten')
  const expectedNews = ['domain.verified', 'domain.broken', 'domain.broken', 'domain.failed', 'domain.verified']
  t.same(await news(app, id), expectedNews)
  const [warning] = await app.rows<{ data: string }>(
    `select data from events where type = 'domain.broken' order by seq`,
  )
  t.match(JSON.parse(warning?.data ?? ''), {
    domain_id: id,
    domain: 'c.test',
    broken_at: /Z$/,
    fails_at: broken.fails_at,
    records: [{ name: 'posthorn.c.test', found: null, status: 'failed' }, {}, {}],
  })
  t.same(app.errors, [])
})

t.test('signing moves to the other key and back, each after it is seen in DNS', async (t) => {
  const all = await world(t)
  const { app, zone } = all
  const domain = await add(app, 'c.test')
  const { id } = domain
  publish(zone, domain)
  await verify(app, id)
  t.same(await signature(all, 'app@c.test'), { selector: 'dkim1', result: 'pass' })
  const first = await rotate(app, id)
  t.same(schemaCheck(app.daemon.routes)('POST /domains/:id/rotate', first), [])
  t.match(first.json(), { rotation: null, dkim_keys: [{ signing: false }, { signing: true }] }, 'at once')
  t.same(await signature(all, 'app@c.test'), { selector: 'dkim2', result: 'pass' })

  const second = (await rotate(app, id)).json<Domain>()
  t.match(second, {
    rotation: { selector: 'dkim1', state: 'retiring' },
    dkim_keys: domain.dkim_keys.map(({ txt }) => ({ txt })),
  })
  t.match((await rotate(app, id)).json(), { rotation: second.rotation }, 'asking again changes nothing')
  const replaced = await waitForDomain(app, id, 8 * DAY, ({ rotation }) => rotation?.state === 'publishing')
  t.not(replaced.dkim_keys[0]?.txt, domain.dkim_keys[0]?.txt)
  t.match(replaced.dkim_keys, [{ signing: false }, { signing: true, txt: domain.dkim_keys[1]?.txt }])
  const place = domain.dns_records[1]
  if (place === undefined) throw new Error('no record')
  // Changed by hand; the zone is not up to date yet.
  zone.set(place.name, { TXT: [domain.dkim_keys[0]?.txt ?? ''] })
  const waiting = await waitForDomain(app, id, 2 * DAY, ({ dns_records: [, dkim1] }) => dkim1?.status === 'pending')
  t.match(
    waiting,
    { status: 'verified', fails_at: null, rotation: { state: 'publishing' } },
    'the customer has his time',
  )
  t.same(await signature(all, 'app@c.test'), { selector: 'dkim2', result: 'pass' })
  zone.set(place.name, { TXT: [replaced.dkim_keys[0]?.txt ?? ''] })
  const done = await waitForDomain(app, id, HOUR, ({ rotation }) => rotation === null)
  t.match(done, { dkim_keys: [{ signing: true }, { signing: false }] })
  t.same(await signature(all, 'app@c.test'), { selector: 'dkim1', result: 'pass' })
  t.match((await app.rest('GET', '/v1/audit-log')).json(), {
    data: [
      { action: 'domain.rotated', actor: 'service', target: id, details: { selector: 'dkim1' } },
      { action: 'domain.rotation_started', target: id },
      { action: 'domain.rotated', details: { selector: 'dkim2' } },
      { action: 'domain.rotation_started' },
    ],
  })
  t.same(app.errors, [])
})

t.test('if two workspaces prove a name at the same moment, one gets it', async (t) => {
  const { app, zone } = await world(t)
  const [mine, theirs] = await Promise.all([add(app, 'c.test'), add(app, 'c.test', app.otherKey)])
  publish(zone, mine)
  t.match(
    error(await verify(app, theirs.id, app.otherKey)),
    { code: 'dkim_verification_failed' },
    'a label is of one alone',
  )
  // Their keys are behind our CNAMEs: both are proved.
  for (const [at, { value }] of mine.dns_records.slice(1).entries())
    zone.set(value, { TXT: [theirs.dkim_keys[at]?.txt ?? ''] })
  const answers = await Promise.all([verify(app, mine.id), verify(app, theirs.id, app.otherKey)])
  t.same(answers.map(({ status }) => status).sort(), [200, 409])
  t.equal(answers.map((answer) => answer.status === 409 && error(answer).code).find(Boolean), 'domain_already_exists')
  t.same(await app.rows(`select count(*) as n from domains where domain = 'c.test' and status = 'verified'`), [
    { n: 1 },
  ])
  t.same(app.errors, [])
})

t.test('the command line checks DNS too, and the daemon notices', async (t) => {
  const all = await world(t)
  const { app, zone } = all
  const cli = (...words: string[]) => app.cli('domain', ...words, '--workspace', app.workspaceId)
  await cli('add', 'c.test')
  const domain = (await cli('show', 'c.test', '--json')).json() as Domain
  publish(zone, domain, ['mail_cname', 'dkim1'])
  const failed = await cli('verify', 'c.test')
  t.match(failed, {
    status: 1,
    out: /dkim2\._domainkey\.c\.test\.\n {4}expected CNAME dkim2\..*\n {4}found {4}nothing\n/,
  })
  t.match((await cli('verify', 'c.test', '--json')).json(), { status: 'failed', dns_records: [{ status: 'verified' }] })
  t.match(await cli('rotate', 'c.test'), { status: 1, err: /c\.test is not verified/ })
  publish(zone, domain)
  t.match(await cli('verify', 'c.test'), { status: 0, out: /^c\.test {2}verified\n/ })
  t.same(await signature(all, 'app@c.test'), { selector: 'dkim1', result: 'pass' })
  t.match(await cli('rotate', 'c.test'), { status: 0, out: /^Another key signs from now on/ })
  t.same(await signature(all, 'app@c.test'), { selector: 'dkim2', result: 'pass' })
  t.match(await cli('rotate', 'c.test'), { status: 0, out: /^dkim1 gets a new key after 20/ })
  const forced = await cli('rotate', 'c.test', '--force', '--json')
  t.match(forced.json(), { rotation: null, dkim_keys: [{ signing: true }, { signing: false }] })
  t.not((forced.json() as Domain).dkim_keys[0]?.txt, domain.dkim_keys[0]?.txt, 'with a new key, without a wait')
  t.match(await signature(all, 'app@c.test'), { selector: 'dkim1' })
  zone.set('posthorn.c.test', 'SERVFAIL')
  t.match(await cli('verify', 'c.test'), {
    status: 1,
    out: /\nDNS does not answer for 1 of 3 records, nothing has changed: posthorn\.c\.test\n/,
  })
  t.match(await cli('verify', 'c.test', '--force'), { status: 0, out: /^c\.test {2}verified/ })
  await cli('add', 'closed.test')
  await cli('verify', 'closed.test', '--force')
  const closed = (await cli('show', 'closed.test', '--json')).json() as Domain
  t.same(await news(app, closed.id), ['domain.verified'])
  await cli('add', 'waits.test')
  app.advance(2 * DAY)
  await nudge(app)
  const looked = (name: string): boolean => zone.queries.includes(`CNAME posthorn.${name}`)
  await waitUntil('the one that waits for its records is looked at', () => looked('waits.test'))
  t.notOk(looked('closed.test'), 'what the operator has taken as verified is not')
  t.match(await cli('verify', 'nobody.test'), { status: 1, err: /not registered/ })
  t.same(app.errors, [])
})
