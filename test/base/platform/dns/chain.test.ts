/** What a validating server says about its answers: with a server that sets the bit, and with Unbound. */
import t, { type Test } from 'tap'
import { readDnsReply } from '../../../../src/base/platform/dns/message.js'
import { readTlsa } from '../../../../src/base/platform/dns/records.js'
import { type DnssecResolver, openResolver, type Resolver } from '../../../../src/base/platform/dns/resolver.js'
import { dnsServers } from '../../../helpers/config-values.js'
import { type DnsAnswer, dnsServer } from '../../../helpers/dns/dns-server.js'
import { skipWithout } from '../../../helpers/programs/skip-without.js'
import { startValidatingDns } from '../../../helpers/programs/validating-dns.js'

const AD_BIT = 0x20

function resolverFor(t: Test, address: string): Resolver & DnssecResolver {
  const ended = new AbortController()
  t.teardown(() => ended.abort())
  const settings = { servers: dnsServers(address), timeout: 5_000, tries: 1, cacheSize: 100 }
  return openResolver(settings, () => 0, ended.signal)
}

/** Answers whose question begins with a word of `signed` have the bit. */
async function open(
  t: Test,
  zone: Readonly<Record<string, DnsAnswer>>,
  signed: readonly string[],
): Promise<Resolver & DnssecResolver> {
  let asked = ''
  const server = await dnsServer(
    (question) => {
      asked = question
      return zone[question] ?? []
    },
    {
      send: (reply, query) => {
        t.ok((query.readUInt8(3) & AD_BIT) !== 0, 'the bit is asked for')
        if (signed.includes(asked)) reply.writeUInt8(reply.readUInt8(3) | AD_BIT, 3)
        return [reply]
      },
    },
  )
  t.teardown(() => server.close())
  return resolverFor(t, server.address)
}

t.test('an answer is authentic if the server says so', async (t) => {
  const zone = {
    'A safe.test': [{ type: 'A', ttl: 60, value: '192.0.2.1' }],
    'A open.test': [{ type: 'A', ttl: 60, value: '192.0.2.2' }],
    'A broken.test': 'SERVFAIL',
  } as const
  const resolver = await open(t, zone, ['A safe.test', 'TXT safe.test', 'A broken.test'])
  const lookup = { kind: 'records', records: ['192.0.2.1'] }
  t.match(await resolver.judgeRecords('safe.test', 'A'), { lookup, isAuthentic: true, alias: null })
  t.match(await resolver.judgeRecords('SAFE.test.', 'TXT'), { lookup: { kind: 'no-data' }, isAuthentic: true })
  t.match(await resolver.judgeRecords('open.test', 'A'), { isAuthentic: false })
  t.match(await resolver.judgeRecords('broken.test', 'A'), { lookup: { kind: 'failure' }, isAuthentic: false })
  t.same(await resolver.resolveAddresses('safe.test'), lookup, 'the same answer, without it')
})

t.test('every reply on the way through CNAME records must say so', async (t) => {
  const zone = {
    'A alias.test': [{ type: 'CNAME', ttl: 60, value: 'real.test' }],
    'A away.test': [{ type: 'CNAME', ttl: 60, value: 'real.test' }],
    'A real.test': [{ type: 'A', ttl: 60, value: '192.0.2.1' }],
  } as const
  const resolver = await open(t, zone, ['A alias.test', 'A real.test'])
  t.match(await resolver.judgeRecords('alias.test', 'A'), { isAuthentic: true, alias: 'real.test' })
  t.match(await resolver.judgeRecords('away.test', 'A'), { isAuthentic: false, alias: 'real.test' })
})

t.test('TLSA records are read, and none that is cut off', async (t) => {
  const read = (data: Buffer): string =>
    readTlsa(data, { owner: '', type: 52, class: 1, ttl: 0, start: 0, end: data.length })
  t.equal(read(Buffer.of(3, 1, 1, 0xab, 0xcd)), '3 1 1 abcd')
  t.equal(read(Buffer.of(255, 0, 2)), '255 0 2 ')
  for (const length of [0, 1, 2]) t.throws(() => read(Buffer.alloc(length)), RangeError)
  t.equal(readDnsReply(Buffer.alloc(12))?.isAuthenticData, false)
})

const skip = skipWithout('knotd') || skipWithout('unbound')

t.test('Unbound: signed, unsigned and bogus zones', { skip }, async (t) => {
  const records = (zone: string): readonly string[] => [
    `${zone}. MX 10 mx.${zone}.`,
    `mx.${zone}. A 127.0.0.9`,
    `_25._tcp.mx.${zone}. TLSA 3 1 1 ${'AB'.repeat(32)}`,
  ]
  const address = await startValidatingDns(t, {
    signed: { 'safe.test': records('safe.test') },
    unsigned: { 'open.test': records('open.test') },
    bogus: { 'bogus.test': records('bogus.test') },
  })
  const resolver = resolverFor(t, address)
  for (const [zone, isAuthentic] of [
    ['safe.test', true],
    ['open.test', false],
  ] as const) {
    t.match(await resolver.judgeMx(zone), { lookup: { kind: 'records' }, isAuthentic }, zone)
    t.match(await resolver.judgeRecords(`mx.${zone}`, 'A'), { isAuthentic })
    t.match(await resolver.judgeRecords(`_25._tcp.mx.${zone}`, 'TLSA'), {
      lookup: { records: [`3 1 1 ${'ab'.repeat(32)}`] },
      isAuthentic,
    })
    t.match(await resolver.judgeRecords(`none.${zone}`, 'TLSA'), { lookup: { kind: 'no-domain' }, isAuthentic })
  }
  t.match(await resolver.judgeMx('bogus.test'), { lookup: { kind: 'failure', detail: 'SERVFAIL' } })
})
