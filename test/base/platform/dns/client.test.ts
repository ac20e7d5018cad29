/**
 * How queries reach DNS servers and which replies are accepted, through the real resolver.
 *
 * Runs alone: it counts the sockets of its process.
 */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import t, { type Test } from 'tap'
import {
  type DnssecResolver,
  type LookupResult,
  openResolver,
  type RecordResolver,
  type Resolver,
} from '../../../../src/base/platform/dns/resolver.js'
import { parseDnsServer } from '../../../../src/base/platform/dns/transport.js'
import { Semaphore } from '../../../../src/base/platform/semaphore.js'
import { dnsServers } from '../../../helpers/config-values.js'
import {
  type DnsRecord,
  type DnsServer,
  type DnsServerOptions,
  type DnsZone,
  dnsServer,
} from '../../../helpers/dns/dns-server.js'
import { startKnot } from '../../../helpers/programs/knot.js'
import { skipWithout } from '../../../helpers/programs/skip-without.js'
import { waitUntil } from '../../../helpers/wait-until.js'

async function start(t: Test, zone: DnsZone, options: DnsServerOptions = {}): Promise<DnsServer> {
  const server = await dnsServer(zone, options)
  t.teardown(() => server.close())
  return server
}

interface Tries {
  readonly timeout?: number
  readonly tries?: number
}

/** For answers that take long to read on a busy machine. */
const PATIENT: Tries = { timeout: 5_000 }

function resolverFor(
  servers: readonly string[],
  { timeout = 150, tries = 1 }: Tries = {},
): Resolver & RecordResolver & DnssecResolver {
  return openResolver(
    { servers: dnsServers(...servers), timeout, tries, cacheSize: 10_000 },
    () => 0,
    new AbortController().signal,
  )
}

const a = (value: string, name?: string): DnsRecord => ({ type: 'A', ttl: 60, value, ...(name && { name }) })
const alias = (value: string, name?: string): DnsRecord => ({ type: 'CNAME', ttl: 60, value, ...(name && { name }) })
const recordsAnswer = (...records: readonly string[]): object => ({ kind: 'records', records })
const failure = (detail: string): object => ({ kind: 'failure', detail })
const long: DnsRecord = { type: 'TXT', ttl: 60, strings: Array(20).fill('x'.repeat(250)) }

t.test('a reply that is too long for UDP is fetched over TCP, up to the longest message', async (t) => {
  const many = Array<DnsRecord>(12).fill(long)
  const server = await start(t, (question) => (question.includes('many') ? many : [long]))
  const resolver = resolverFor([server.address])
  t.same(await resolver.resolveRecords('b.test', 'TXT'), recordsAnswer('x'.repeat(5000)))
  t.same(await resolver.resolveRecords('many.test', 'TXT'), recordsAnswer(...Array<string>(12).fill('x'.repeat(5000))))
  t.same(server.askedOverTcp, ['TXT b.test', 'TXT many.test'])
})

t.test('a reply that fits a usual path comes over UDP alone', async (t) => {
  const server = await start(t, () => [{ type: 'TXT', ttl: 60, strings: Array(4).fill('x'.repeat(250)) }])
  t.same(await resolverFor([server.address]).resolveRecords('b.test', 'TXT'), recordsAnswer('x'.repeat(1000)))
  t.same(server.askedOverTcp, [])
})

t.test('a connection that ends or stalls within the reply is a failure', async (t) => {
  for (const cutTcp of [0, 1, 2, 900]) {
    const server = await start(t, () => [long], { cutTcp })
    t.same(await resolverFor([server.address]).resolveRecords('b.test', 'TXT'), failure('EOF'), `${cutTcp} octets`)
  }
  const stalling = await start(t, () => [long], { send: (reply, _query, from) => (from === null ? [] : [reply]) })
  t.same(await resolverFor([stalling.address]).resolveRecords('b.test', 'TXT'), failure('TIMEOUT'))
  const cut = await start(t, () => [long], { send: (reply) => [changed(reply, 2, 0x87)] })
  t.same(await resolverFor([cut.address]).resolveRecords('b.test', 'TXT'), failure('BADRESP'))
})

t.test('a server without EDNS is asked once without it', async (t) => {
  const refusal = (code: number) => (reply: Buffer, query: Buffer) => {
    if (query.readUInt16BE(10) === 0) return [reply]
    const bare = Buffer.from(reply.subarray(0, 12))
    bare.writeUInt16BE(0x8000 | code, 2)
    bare.fill(0, 4)
    return [bare]
  }
  for (const code of [1, 4]) {
    const server = await start(t, () => [a('192.0.2.1')], { send: refusal(code) })
    t.same(await resolverFor([server.address]).resolveRecords('b.test', 'A'), recordsAnswer('192.0.2.1'))
    t.equal(server.queries.length, 2)
  }
  const stubborn = await start(t, () => 'FORMERR')
  t.same(await resolverFor([stubborn.address], { tries: 3 }).resolveRecords('b.test', 'A'), failure('FORMERR'))
  t.equal(stubborn.queries.length, 2)
})

function changed(message: Buffer, at: number, octet: number): Buffer {
  const copy = Buffer.from(message)
  copy[at] = octet
  return copy
}

t.test('only the reply to the very query is accepted, whatever arrives before it', async (t) => {
  const send = (reply: Buffer, query: Buffer): readonly Buffer[] => {
    const forged = changed(reply, reply.length - 1, 66)
    return [
      Buffer.alloc(0),
      Buffer.from('garbage'),
      query,
      changed(forged, 0, (forged[0] ?? 0) ^ 1),
      changed(forged, 1, (forged[1] ?? 0) ^ 0x80),
      // Not a reply, no question, two questions, another name, another type, another class.
      changed(forged, 2, 0x01),
      changed(forged, 5, 0),
      changed(forged, 5, 2),
      changed(forged, 13, 0x63),
      changed(forged, 21, 16),
      changed(forged, 23, 3),
      reply,
    ]
  }
  const server = await start(t, () => [a('192.0.2.1')], { send })
  t.same(await resolverFor([server.address]).resolveRecords('b.test', 'A'), recordsAnswer('192.0.2.1'))
})

t.test('a right reply from another address or port is not accepted', async (t) => {
  const otherSockets = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, socket: createSocket('udp4') }))
  for (const { address, socket } of otherSockets) {
    socket.bind(0, address)
    await once(socket, 'listening')
    t.teardown(() => socket.close())
  }
  const server = await start(t, () => [a('192.0.2.1')], {
    send: (reply, _query, from) => {
      for (const { socket } of otherSockets)
        socket.send(changed(reply, reply.length - 1, 66), from?.port ?? 0, '127.0.0.1')
      return []
    },
  })
  t.same(await resolverFor([server.address]).resolveRecords('b.test', 'A'), failure('TIMEOUT'))
})

t.test('a server that changes the case of the name is accepted', async (t) => {
  const send = (reply: Buffer): readonly Buffer[] => [
    Buffer.from(reply.toString('latin1').replace(/test/g, 'TEst'), 'latin1'),
  ]
  const server = await start(t, () => [alias('c.test'), a('192.0.2.1', 'c.test')], { send })
  t.same(await resolverFor([server.address]).resolveRecords('B.Test', 'A'), recordsAnswer('192.0.2.1'))
})

t.test('each query has an id and a port of its own', async (t) => {
  const ids = new Set<number>()
  const ports = new Set<number>()
  const server = await start(t, () => [a('192.0.2.1')], {
    send: (reply, query, from) => {
      ids.add(query.readUInt16BE(0))
      ports.add(from?.port ?? 0)
      return [reply]
    },
  })
  const resolver = resolverFor([server.address])
  for (let count = 0; count < 50; count += 1) await resolver.resolveRecords(`b${count}.test`, 'A')
  t.ok(ids.size > 40, `${ids.size} ids`)
  t.ok(ports.size > 40, `${ports.size} ports`)
})

t.test('a query that one server does not answer goes to the next, which then is asked first', async (t) => {
  for (const wrong of ['silence', 'SERVFAIL', 'REFUSED', 'FORMERR', { referral: true }] as const) {
    const [first, second] = [await start(t, () => wrong), await start(t, () => [a('192.0.2.1')])]
    const resolver = resolverFor([first.address, second.address], { tries: 3 })
    t.same(await resolver.resolveRecords('b.test', 'A'), recordsAnswer('192.0.2.1'), JSON.stringify(wrong))
    const before = first.queries.length
    t.same(await resolver.resolveRecords('c.test', 'A'), recordsAnswer('192.0.2.1'), JSON.stringify(wrong))
    t.equal(first.queries.length, before)
  }
})

t.test('a malformed reply and an absent server lead to the next server, too', async (t) => {
  const gone = await dnsServer(() => [])
  gone.close()
  const broken = await start(t, () => [a('192.0.2.9')], { send: (reply) => [reply.subarray(0, reply.length - 3)] })
  const good = await start(t, () => [a('192.0.2.1')])
  const servers = [gone.address, broken.address, good.address]
  t.same(await resolverFor(servers, { tries: 3 }).resolveRecords('b.test', 'A'), recordsAnswer('192.0.2.1'))
  t.same(await resolverFor([gone.address]).resolveRecords('b.test', 'A'), failure('CONNREFUSED'))
  t.same(await resolverFor([broken.address]).resolveRecords('b.test', 'A'), failure('BADRESP'))
})

t.test('NXDOMAIN is believed at once', async (t) => {
  const [first, second] = [await start(t, () => 'NXDOMAIN'), await start(t, () => [a('192.0.2.1')])]
  t.same(await resolverFor([first.address, second.address], { tries: 3 }).resolveRecords('b.test', 'A'), {
    kind: 'no-domain',
  })
  t.same(second.queries, [])
})

t.test('silence is met with every allowed try, an error with one', async (t) => {
  const [silent, failing] = [await start(t, () => 'silence'), await start(t, () => 'SERVFAIL')]
  t.same(
    await resolverFor([silent.address], { timeout: 20, tries: 3 }).resolveRecords('b.test', 'A'),
    failure('TIMEOUT'),
  )
  t.equal(silent.queries.length, 3)
  t.same(await resolverFor([failing.address], { tries: 3 }).resolveRecords('b.test', 'A'), failure('SERVFAIL'))
  t.equal(failing.queries.length, 1)
})

t.test('a chain of aliases is followed within a reply and beyond it', async (t) => {
  const zone: Readonly<Record<string, readonly DnsRecord[]>> = {
    'A one.test': [a('192.0.2.1', 'three.test'), alias('three.test', 'two.test'), alias('two.test')],
    'A far.test': [alias('farther.test')],
    'A farther.test': [alias('end.test')],
    'A end.test': [a('192.0.2.2')],
    'A stray.test': [a('192.0.2.66', 'other.test')],
  }
  const server = await start(t, (question) => zone[question] ?? [])
  const resolver = resolverFor([server.address])
  t.same(await resolver.resolveRecords('one.test', 'A'), recordsAnswer('192.0.2.1'))
  t.same(await resolver.resolveRecords('far.test', 'A'), recordsAnswer('192.0.2.2'))
  t.same(await resolver.resolveRecords('stray.test', 'A'), { kind: 'no-data' })
  t.same(await resolver.resolveRecords('far.test', 'CNAME'), { kind: 'no-data' })
  t.same(server.queries.slice(1, 4), ['A far.test', 'A farther.test', 'A end.test'])
})

t.test('the end of a chain decides for the name: without the record, or not there', async (t) => {
  const soa = { ttl: 60, minimum: 60 }
  const server = await start(t, (question) =>
    question.includes('bare')
      ? { answers: [alias('end.test')], soa }
      : { answers: [alias('end.test')], code: 'NXDOMAIN', soa },
  )
  const resolver = resolverFor([server.address])
  t.same(await resolver.resolveRecords('bare.test', 'A'), { kind: 'no-data' })
  t.same(await resolver.resolveRecords('gone.test', 'A'), { kind: 'no-domain' })
  t.equal(server.queries.length, 2)
})

t.test('chains that are circular or endless are failures', async (t) => {
  let count = 0
  const server = await start(t, (question) => {
    if (question.includes('loop')) return [alias('b.test'), alias('loop.test', 'b.test')]
    if (question.includes('turn')) return [alias(question === 'A turn1.test' ? 'turn2.test' : 'turn1.test')]
    count += 1
    return [alias(`next${count}.test`)]
  })
  const resolver = resolverFor([server.address])
  t.same(await resolver.resolveRecords('loop.test', 'A'), failure('CNAMELOOP'))
  t.same(await resolver.resolveRecords('turn1.test', 'A'), failure('CNAMECHAIN'))
  t.same(await resolver.resolveRecords('b.test', 'A'), failure('CNAMECHAIN'))
  t.equal(count, 9)
})

t.test('queries beyond the concurrency limit are all answered, and leave no socket', async (t) => {
  const sockets = (): number => process.getActiveResourcesInfo().filter((kind) => /UDP|TCP|Timeout/.test(kind)).length
  const server = await start(t, () => [a('192.0.2.1')])
  const resolver = resolverFor([server.address], { timeout: 5_000, tries: 3 })
  const before = sockets()
  const names = Array.from({ length: 1500 }, (_, at) => `b${at}.test`)
  const answers = await Promise.all(names.map((name) => resolver.resolveRecords(name, 'A')))
  t.equal(answers.filter(({ kind }) => kind === 'records').length, 1500)
  await waitUntil('nothing is left', () => sockets() <= before)
})

t.test('stopping ends running and waiting queries', async (t) => {
  const sockets = (): number => process.getActiveResourcesInfo().filter((kind) => /UDP|TCPSocket/.test(kind)).length
  const server = await start(t, () => 'silence')
  const before = sockets()
  const stop = new AbortController()
  const settings = { servers: dnsServers(server.address), timeout: 60_000, tries: 1, cacheSize: 10_000 }
  const resolver = openResolver(settings, () => 0, stop.signal)
  const asked = Array.from({ length: 700 }, (_, at) => resolver.resolveRecords(`b${at}.test`, 'A'))
  while (server.queries.length === 0) await new Promise((resolve) => setImmediate(resolve))
  stop.abort()
  for (const answer of await Promise.all(asked)) t.same(answer, failure('CANCELLED'))
  await waitUntil('nothing is left', () => sockets() <= before)
})

const withoutIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))
  ? false
  : 'no IPv6 here'

t.test('a server may have an IPv6 address with a port', { skip: withoutIpv6 }, async (t) => {
  const socket = createSocket('udp6')
  socket.on('message', (query, { port, address }) => socket.send(changed(changed(query, 2, 0x85), 3, 3), port, address))
  socket.bind(0, '::1')
  await once(socket, 'listening')
  t.teardown(() => socket.close())
  t.same(await resolverFor([`[::1]:${socket.address().port}`]).resolveRecords('b.test', 'A'), { kind: 'no-domain' })
})

t.test('a resolver on loopback proves answers with its AD bit, except that of Docker', async (t) => {
  for (const [address, isAuthentic] of [
    ['127.0.0.1', true],
    ['127.0.0.53', true],
    ['127.0.0.11', false],
  ] as const) {
    const socket = createSocket('udp4')
    // NXDOMAIN with the AD bit.
    socket.on('message', (query, from) =>
      socket.send(changed(changed(query, 2, 0x81), 3, 0xa3), from.port, from.address),
    )
    socket.bind(0, address)
    await once(socket, 'listening')
    t.teardown(() => socket.close())
    const resolver = resolverFor([`${address}:${socket.address().port}`], PATIENT)
    t.match(await resolver.judgeRecords('b.test', 'A'), { lookup: { kind: 'no-domain' }, isAuthentic }, address)
  }
})

t.test('a server that is no address is refused at once', async (t) => {
  for (const server of ['dns.test', '127.0.0.1:99999', '127.0.0.1:0', '127.0.0.1:', '[127.0.0.1]:53', '::1:53:', ''])
    t.equal(parseDnsServer(server), null, server)
})

t.test('queries without a reply do not block others', async (t) => {
  const server = await start(t, (question) => (question.includes('dead') ? 'silence' : [a('192.0.2.1')]))
  const stop = new AbortController()
  const settings = { servers: dnsServers(server.address), timeout: 60_000, tries: 1, cacheSize: 10_000 }
  const resolver = openResolver(settings, () => 0, stop.signal)
  const dead = Array.from({ length: 250 }, (_, at) => resolver.resolveRecords(`dead${at}.test`, 'A'))
  t.same(await resolver.resolveRecords('b.test', 'A'), recordsAnswer('192.0.2.1'))
  stop.abort()
  t.equal((await Promise.all(dead)).length, 250)
})

t.test('waiting queries are admitted in order, for a limited time and up to a limit', async (t) => {
  const line = new Semaphore(1, 2)
  t.equal(await line.acquire(1), true)
  const [late, next, many] = [line.acquire(1), line.acquire(60_000), line.acquire(60_000)]
  t.equal(await many, false)
  t.equal(await late, false)
  line.release()
  t.equal(await next, true)
  const last = line.acquire(60_000)
  line.close()
  t.equal(await last, false)
  t.equal(await line.acquire(1), false)
})

/** A small generator of its own, so that a failure can be reproduced. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return Math.floor((state / 0x8000_0000) * below)
  }
}

const kinds = ['records', 'no-data', 'no-domain', 'failure']

t.test('whatever a server sends, every query ends in an answer or a failure', async (t) => {
  const next = numbers(7)
  const octets = (size: number): Buffer => Buffer.from(Array.from({ length: size }, () => next(256)))
  const mutated = (reply: Buffer): Buffer => {
    const copy = Buffer.from(reply)
    for (let count = next(6); count >= 0; count -= 1) copy[2 + next(copy.length - 2)] = next(256)
    return next(4) === 0 ? copy.subarray(0, next(copy.length)) : copy
  }
  const behind = (reply: Buffer, query: Buffer): Buffer =>
    Buffer.concat([reply.subarray(0, query.length - 11), octets(60)])
  const send = (reply: Buffer, query: Buffer): readonly Buffer[] =>
    [[octets(next(80))], [mutated(reply)], [mutated(reply), reply], [behind(reply, query)]][next(4)] ?? []
  const records: readonly DnsRecord[] = [
    alias('c.test'),
    a('192.0.2.1', 'c.test'),
    { type: 'MX', ttl: 60, preference: 1, value: 'mx.test', name: 'c.test' },
    { type: 'TXT', ttl: 60, strings: ['v=spf1', ' -all'], name: 'c.test' },
    { type: 'PTR', ttl: 60, value: 'b.test', name: 'c.test' },
    { type: 'AAAA', ttl: 60, value: '2001:db8:0:0:0:0:0:1', name: 'c.test' },
  ]
  const server = await start(t, () => ({ answers: records, soa: { ttl: 60, minimum: 60 } }), { send })
  const resolver = resolverFor([server.address], { timeout: 200 })
  const types = ['A', 'AAAA', 'TXT', 'PTR', 'CNAME'] as const
  const found: LookupResult<unknown>[] = []
  for (let round = 0; round < 6; round += 1) {
    const names = Array.from({ length: 20 }, (_, at) => `b${round}x${at}.test`)
    const asked = names.flatMap((name) => [
      resolver.resolveMx(name),
      ...types.map((type) => resolver.resolveRecords(name, type)),
    ])
    found.push(...(await Promise.all(asked)))
  }
  t.same(
    found.map(({ kind }) => kind).filter((kind) => !kinds.includes(kind)),
    [],
  )
  t.ok(found.some(({ kind }) => kind === 'records') && found.some(({ kind }) => kind === 'failure'))
})

t.test('circular compression pointers, and more records than mail needs, are failures', async (t) => {
  const circles = (reply: Buffer): readonly Buffer[] => {
    const at = reply.length
    const circling = Buffer.concat([reply, Buffer.of(0xc0, at, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 1, 2, 3, 4)])
    circling.writeUInt16BE(1, 6)
    return [circling]
  }
  const circling = await start(t, () => [], { send: circles })
  t.same(await resolverFor([circling.address], PATIENT).resolveRecords('b.test', 'A'), failure('BADRESP'))
  const many = await start(t, () => Array<DnsRecord>(2000).fill(a('192.0.2.1')))
  t.same(await resolverFor([many.address], PATIENT).resolveRecords('b.test', 'A'), failure('BADRESP'))
  const announcing = await start(t, () => [], { send: (reply) => [changed(changed(reply, 6, 255), 7, 255)] })
  t.same(await resolverFor([announcing.address], PATIENT).resolveRecords('b.test', 'A'), failure('BADRESP'))
})

t.test('replies of Knot are read', { skip: skipWithout('knotd') }, async (t) => {
  const records = [
    'b.test. 300 MX 10 mx.b.test.',
    'mx.b.test. A 192.0.2.1',
    'mx.b.test. AAAA 2001:db8::1',
    'www.b.test. CNAME mx.b.test.',
    'b.test. TXT "v=spf1 " "-all"',
    `long.b.test. TXT ${Array(20)
      .fill(`"${'x'.repeat(250)}"`)
      .join(' ')}`,
    '1.2.0.192.in-addr.arpa. PTR Mx.B.test.',
    'odd.b.test. MX 10 Mail\\:one\\032two.b.test.',
    'mail\\:one\\032two.b.test. A 192.0.2.7',
    'a\\.b\\255.b.test. A 192.0.2.8',
  ]
  const knot = await startKnot(t, records, ['broken.test'])
  const resolver = resolverFor([knot.address], { timeout: 5000 })
  t.same(await resolver.resolveMx('B.test.'), { kind: 'records', records: [{ preference: 10, exchange: 'mx.b.test' }] })
  t.same(await resolver.resolveAddresses('www.b.test'), recordsAnswer('192.0.2.1', '2001:db8::1'))
  t.same(await resolver.resolveRecords('b.test', 'TXT'), recordsAnswer('v=spf1 -all'))
  t.same(await resolver.resolveRecords('long.b.test', 'TXT'), recordsAnswer('x'.repeat(5000)))
  t.same(await resolver.resolveRecords('1.2.0.192.in-addr.arpa', 'PTR'), recordsAnswer('mx.b.test'))
  t.same(await resolver.resolveRecords('www.b.test', 'CNAME'), recordsAnswer('mx.b.test'))
  t.same(await resolver.resolveRecords('mx.b.test', 'TXT'), { kind: 'no-data' })
  const odd = 'mail\\058one\\032two.b.test'
  t.same(await resolver.resolveMx('odd.b.test'), { kind: 'records', records: [{ preference: 10, exchange: odd }] })
  for (const name of [odd, 'Mail:one two.b.test'])
    t.same(await resolver.resolveRecords(name, 'A'), recordsAnswer('192.0.2.7'), name)
  t.same(await resolver.resolveRecords('a\\046b\\255.b.test', 'A'), recordsAnswer('192.0.2.8'))
  t.same(
    await resolver.resolveRecords('a.b\\255.b.test', 'A'),
    { kind: 'no-domain' },
    'a dot within a label is no dot between them',
  )
  t.same(await resolver.resolveMx('gone.test'), { kind: 'no-domain' })
  t.same(await resolver.resolveMx('x.broken.test'), failure('SERVFAIL'))
})
