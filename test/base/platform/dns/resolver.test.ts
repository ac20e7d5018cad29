import t, { type Test } from 'tap'
import type { Clock } from '../../../../src/base/platform/clock.js'
import {
  openResolver,
  type RecordResolver,
  type Resolver,
  type ResolverSettings,
} from '../../../../src/base/platform/dns/resolver.js'
import { dnsServers } from '../../../helpers/config-values.js'
import {
  type DnsAnswer,
  type DnsRecord,
  type DnsServer,
  type DnsZone,
  dnsServer,
} from '../../../helpers/dns/dns-server.js'

interface Fixture {
  readonly server: DnsServer
  readonly resolver: Resolver & RecordResolver
  readonly abort: () => void
}

interface Changes extends Partial<ResolverSettings> {
  readonly clock?: Clock
}

async function open(t: Test, zone: DnsZone, { clock = () => 0, ...changes }: Changes = {}): Promise<Fixture> {
  const server = await dnsServer(zone)
  t.teardown(() => server.close())
  const stop = new AbortController()
  const settings = { servers: dnsServers(server.address), timeout: 150, tries: 1, cacheSize: 100, ...changes }
  return { server, resolver: openResolver(settings, clock, stop.signal), abort: () => stop.abort() }
}

const a = (value: string, ttl = 300): DnsRecord => ({ type: 'A', ttl, value })

t.test('MX records come with preference and host', async (t) => {
  const { resolver } = await open(t, () => [
    { type: 'MX', ttl: 300, preference: 10, value: 'MX1.b.test' },
    { type: 'MX', ttl: 300, preference: 5, value: 'mx2.b.test' },
  ])
  const found = await resolver.resolveMx('b.test')
  t.equal(found.kind, 'records')
  t.same(found.kind === 'records' && found.records.toSorted((x, y) => x.preference - y.preference), [
    { preference: 5, exchange: 'mx2.b.test' },
    { preference: 10, exchange: 'mx1.b.test' },
  ])
})

t.test('a null MX is an empty exchange', async (t) => {
  const { resolver } = await open(t, () => [{ type: 'MX', ttl: 300, preference: 0, value: '.' }])
  t.same(await resolver.resolveMx('b.test'), { kind: 'records', records: [{ preference: 0, exchange: '' }] })
})

t.test('addresses are those of both families, through a CNAME too', async (t) => {
  const { resolver } = await open(t, (question) =>
    question.startsWith('AAAA')
      ? [{ type: 'AAAA', ttl: 300, value: '2001:db8:0:0:0:0:0:1' }]
      : [
          { type: 'CNAME', ttl: 300, value: 'real.test' },
          { type: 'A', ttl: 300, value: '192.0.2.1', name: 'real.test' },
        ],
  )
  t.same(await resolver.resolveAddresses('B.test.'), { kind: 'records', records: ['192.0.2.1', '2001:db8::1'] })
})

t.test('one address family is enough, whatever happens to the other', async (t) => {
  for (const other of ['SERVFAIL', [], 'silence'] as const) {
    const { resolver } = await open(t, (question) => (question.startsWith('A ') ? [a('192.0.2.1')] : other))
    t.same(await resolver.resolveAddresses('b.test'), { kind: 'records', records: ['192.0.2.1'] }, String(other))
  }
})

t.test('records of one type come as text, the strings of one TXT record joined', async (t) => {
  const zone: Readonly<Record<string, DnsRecord>> = {
    'TXT b.test': { type: 'TXT', ttl: 300, strings: ['v=spf1 ', '-all'] },
    'PTR 1.2.0.192.in-addr.arpa': { type: 'PTR', ttl: 300, value: 'Mail.B.test.' },
    'CNAME www.b.test': { type: 'CNAME', ttl: 300, value: 'b.test' },
    'A b.test': a('192.0.2.1'),
    'AAAA b.test': { type: 'AAAA', ttl: 300, value: '2001:db8:0:0:0:0:0:1' },
  }
  const { resolver } = await open(t, (question) => {
    const found = zone[question]
    return found === undefined ? 'NXDOMAIN' : [found]
  })
  const one = (record: string): object => ({ kind: 'records', records: [record] })
  t.same(await resolver.resolveRecords('B.test.', 'TXT'), one('v=spf1 -all'))
  t.same(await resolver.resolveRecords('1.2.0.192.in-addr.arpa', 'PTR'), one('mail.b.test'))
  t.same(await resolver.resolveRecords('www.b.test', 'CNAME'), one('b.test'))
  t.same(await resolver.resolveRecords('b.test', 'A'), one('192.0.2.1'))
  t.same(await resolver.resolveRecords('b.test', 'AAAA'), one('2001:db8::1'))
  t.same(await resolver.resolveRecords('gone.test', 'TXT'), { kind: 'no-domain' })
})

t.test('TXT records are cached for their time to live, apart from other types', async (t) => {
  let now = 0
  const { resolver, server } = await open(t, () => [{ type: 'TXT', ttl: 5, strings: ['x'] }], { clock: () => now })
  await resolver.resolveRecords('b.test', 'TXT')
  now = 4_999
  await resolver.resolveRecords('b.test', 'TXT')
  t.same(server.queries, ['TXT b.test'])
  await resolver.resolveRecords('b.test', 'PTR')
  now = 5_000
  await resolver.resolveRecords('b.test', 'TXT')
  t.same(server.queries, ['TXT b.test', 'PTR b.test', 'TXT b.test'])
})

t.test('until when an answer may be kept is known as long as it is cached', async (t) => {
  let now = 1000
  const { resolver } = await open(
    t,
    (question) => (question === 'TXT none.test' ? [{ type: 'TXT', ttl: 0, strings: ['x'] }] : [a('192.0.2.1', 5)]),
    { clock: () => now },
  )
  t.equal(resolver.freshUntil?.('b.test', 'A'), 0, 'not asked')
  const asked = resolver.resolveRecords('b.test', 'A')
  t.equal(resolver.freshUntil?.('b.test', 'A'), 0, 'not answered')
  await asked
  t.equal(resolver.freshUntil?.('B.test.', 'A'), 6000)
  t.equal(resolver.freshUntil?.('b.test', 'MX'), 0)
  now = 6000
  t.equal(resolver.freshUntil?.('b.test', 'A'), 0, 'expired')
  await resolver.resolveRecords('none.test', 'TXT')
  t.equal(resolver.freshUntil?.('none.test', 'TXT'), 0, 'no time to live')
})

t.test('after the clock was set back, answers of the time ahead are asked for again', async (t) => {
  let now = 86_400_000
  const { resolver, server } = await open(t, () => [{ type: 'TXT', ttl: 5, strings: ['x'] }], { clock: () => now })
  await resolver.resolveRecords('b.test', 'TXT')
  now = 0
  await resolver.resolveRecords('b.test', 'TXT')
  now = 4_999
  await resolver.resolveRecords('b.test', 'TXT')
  t.same(server.queries, ['TXT b.test', 'TXT b.test'])
})

t.test('a missing name, a missing record and a missing reply differ', async (t) => {
  const outcomes = {
    'gone.test': ['NXDOMAIN', { kind: 'no-domain' }],
    'bare.test': [[], { kind: 'no-data' }],
    'broken.test': ['SERVFAIL', { kind: 'failure', detail: 'SERVFAIL' }],
    'refused.test': ['REFUSED', { kind: 'failure', detail: 'REFUSED' }],
    'silent.test': ['silence', { kind: 'failure', detail: 'TIMEOUT' }],
  } as const
  const { resolver } = await open(t, (question) => outcomes[question.split(' ')[1] as keyof typeof outcomes][0])
  for (const [name, [, outcome]] of Object.entries(outcomes)) {
    t.same(await resolver.resolveMx(name), outcome, `MX ${name}`)
    t.same(await resolver.resolveAddresses(name), outcome, `addresses of ${name}`)
  }
})

t.test('an empty answer for one family is no proof that there is none', async (t) => {
  const { resolver } = await open(t, (question) => (question.startsWith('A ') ? [] : 'SERVFAIL'))
  t.match(await resolver.resolveAddresses('b.test'), { kind: 'failure' })
})

t.test('a name that no query can hold does not exist', async (t) => {
  const { resolver, server } = await open(t, () => 'SERVFAIL')
  const long = `${'x'.repeat(63)}.`.repeat(4)
  for (const name of [`${'x'.repeat(64)}.test`, long, 'b..test', '.b.test', 'b.test..', `${'\\001'.repeat(64)}.test`]) {
    t.same(await resolver.resolveMx(name), { kind: 'no-domain' }, name)
    t.same(await resolver.resolveRecords(name, 'TXT'), { kind: 'no-domain' }, name)
  }
  t.same(server.queries, [])
})

t.test('localhost is known without a query', async (t) => {
  const { resolver, server } = await open(t, () => 'NXDOMAIN')
  t.same(await resolver.resolveAddresses('localhost'), { kind: 'records', records: ['127.0.0.1', '::1'] })
  t.same(server.queries, [])
})

t.test('records are cached for the shortest of their times to live', async (t) => {
  let now = 0
  const zone: DnsZone = (question) => (question.startsWith('A ') ? [a('192.0.2.1', 30), a('192.0.2.2', 600)] : [])
  const { resolver, server } = await open(t, zone, { clock: () => now })
  const asks = async (): Promise<number> => {
    await resolver.resolveAddresses('b.test')
    return server.queries.filter((question) => question === 'A b.test').length
  }
  t.equal(await asks(), 1)
  now = 29_999
  t.equal(await asks(), 1)
  now = 30_000
  t.equal(await asks(), 2)
})

/** How long the answer to one question is cached, in seconds, as the queries that reach the server show. */
async function measureCacheTime(t: Test, answer: DnsAnswer): Promise<number> {
  let now = 0
  const { resolver, server } = await open(t, () => answer, { clock: () => now })
  await resolver.resolveMx('b.test')
  while (server.queries.length === 1) {
    now += 500
    await resolver.resolveMx('b.test')
  }
  return now / 1000
}

t.test('each kind of answer has its own cache time', async (t) => {
  const mx = (ttl: number): DnsRecord => ({ type: 'MX', ttl, preference: 1, value: 'mx.test' })
  const alias = (ttl: number): DnsRecord => ({ type: 'CNAME', ttl, value: 'c.test' })
  const atEnd = (ttl: number): DnsRecord => ({ ...mx(ttl), name: 'c.test' })
  const times: readonly (readonly [what: string, seconds: number, answer: DnsAnswer])[] = [
    ['records by the shortest', 30, [mx(300), mx(30)]],
    ['records no longer than an hour', 3600, [mx(86_400)]],
    ['a time to live of 0 not at all', 0.5, [mx(0)]],
    ['a time with the highest bit not at all', 0.5, [mx(0x8000_0001)]],
    ['a chain by its shortest', 20, [alias(20), atEnd(300)]],
    ['the end of a chain by itself', 25, [alias(200), atEnd(25)]],
    ['no such record, by the zone', 40, { soa: { ttl: 300, minimum: 40 } }],
    ['no such name, by the zone', 50, { code: 'NXDOMAIN', soa: { ttl: 50, minimum: 300 } }],
    ['none of a chain by its shortest', 15, { answers: [alias(15)], soa: { ttl: 300, minimum: 300 } }],
    ['none no longer than an hour', 3600, { soa: { ttl: 86_400, minimum: 86_400 } }],
    ['none not at all', 0.5, { soa: { ttl: 300, minimum: 0 } }],
    ['no such record, for seconds if there is no SOA', 5, []],
    ['no such name, for seconds if there is no SOA', 5, 'NXDOMAIN'],
    ['a failure for ten seconds', 10, 'SERVFAIL'],
  ]
  for (const [what, seconds, answer] of times) t.equal(await measureCacheTime(t, answer), seconds, what)
})

t.test('concurrent equal questions of an uncached kind still share one query', async (t) => {
  const { resolver, server } = await open(t, () => [a('192.0.2.1', 0)])
  await Promise.all([1, 2, 3].map(() => resolver.resolveRecords('b.test', 'A')))
  await resolver.resolveRecords('b.test', 'A')
  t.same(server.queries, ['A b.test', 'A b.test'])
})

t.test('an answer that is longer than any that mail needs is not cached', async (t) => {
  const strings = Array<string>(4).fill('x'.repeat(250))
  const txt: DnsRecord = { type: 'TXT', ttl: 300, strings }
  const { resolver, server } = await open(t, (question) =>
    Array<DnsRecord>(question.includes('long') ? 4 : 3).fill(txt),
  )
  for (const name of ['long.test', 'long.test', 'b.test', 'b.test']) {
    t.match(await resolver.resolveRecords(name, 'TXT'), { kind: 'records' })
  }
  t.same(server.queries, ['TXT long.test', 'TXT long.test', 'TXT b.test'])
})

t.test('the octets of TXT records are characters', async (t) => {
  const { resolver } = await open(t, () => [{ type: 'TXT', ttl: 300, strings: ['\xc3', '\xa9\xff\0', ''] }])
  t.same(await resolver.resolveRecords('b.test', 'TXT'), { kind: 'records', records: ['\xc3\xa9\xff\0'] })
})

t.test('a name in a record is shown with host name characters only, and queried octet by octet', async (t) => {
  const value = 'A b"\r\n(c)\\;d@e.test'
  const { resolver, server } = await open(t, (question) =>
    question.startsWith('MX')
      ? [{ type: 'MX', ttl: 300, preference: 1, value }]
      : [{ type: question.startsWith('PTR') ? 'PTR' : 'CNAME', ttl: 300, value }],
  )
  const shown = 'a\\032b\\034\\013\\010\\040c\\041\\092\\059d\\064e.test'
  t.same(await resolver.resolveRecords('b.test', 'PTR'), { kind: 'records', records: [shown] })
  t.same(await resolver.resolveMx('b.test'), { kind: 'records', records: [{ preference: 1, exchange: shown }] })
  await resolver.resolveRecords('b.test', 'A')
  t.equal(server.queries.at(-1), `A ${value.toLowerCase()}`, 'a CNAME leads there')
  t.same(await resolver.resolveRecords(shown, 'PTR'), { kind: 'records', records: [shown] })
  t.equal(server.queries.at(-1), `PTR ${value.toLowerCase()}`)
})

t.test('IPv6 addresses have their short form', async (t) => {
  const forms = { '2001:db8:0:0:1:0:0:1': '2001:db8::1:0:0:1', '0:0:0:0:0:ffff:c000:201': '::ffff:192.0.2.1' }
  for (const [value, short] of Object.entries(forms)) {
    const { resolver } = await open(t, () => [{ type: 'AAAA', ttl: 300, value }])
    t.same(await resolver.resolveRecords('b.test', 'AAAA'), { kind: 'records', records: [short] })
  }
})

t.test('concurrent equal questions share one query', async (t) => {
  const { resolver, server } = await open(t, () => [{ type: 'MX', ttl: 0, preference: 1, value: 'mx.test' }])
  await Promise.all(['b.test', 'B.test', 'b.test.'].map((name) => resolver.resolveMx(name)))
  t.same(server.queries, ['MX b.test'])
})

t.test('a full cache drops its oldest name', async (t) => {
  const { resolver, server } = await open(t, () => 'NXDOMAIN', { cacheSize: 2 })
  for (const name of ['a.test', 'b.test', 'c.test', 'c.test', 'b.test', 'a.test']) await resolver.resolveMx(name)
  t.same(server.queries, ['MX a.test', 'MX b.test', 'MX c.test', 'MX a.test'])
})

t.test('stopping ends running questions and refuses further ones', async (t) => {
  const { resolver, server, abort } = await open(t, () => 'silence', { timeout: 60_000 })
  const waiting = resolver.resolveMx('b.test')
  while (server.queries.length === 0) await new Promise((resolve) => setImmediate(resolve))
  abort()
  t.same(await waiting, { kind: 'failure', detail: 'CANCELLED' })
  t.same(await resolver.resolveMx('c.test'), { kind: 'failure', detail: 'CANCELLED' })
  t.equal(server.queries.length, 1)
})
