/** Replies to messages, octet by octet where it matters: questions, EDNS, sizes, rates, transfers. */

import { type Answer, type DecodedPacket, decode, encode, type Packet } from 'dns-packet'
import fc from 'fast-check'
import t from 'tap'
import { parseQuery } from '../../../src/servers/dns/query.js'
import { Responder } from '../../../src/servers/dns/responder.js'
import { defaultResponseRate, ResponseRateLimiter } from '../../../src/servers/dns/response-rate-limiter.js'
import type { ServiceZone } from '../../../src/workspaces/domains/zone/zone.js'
import { collect } from '../../helpers/collect.js'
import { networks } from '../../helpers/config-values.js'
import { largeKey, literalZone } from '../../helpers/dns/literal-zone.js'

interface Options {
  readonly zone?: ServiceZone
  readonly faults?: unknown[]
  readonly burst?: number
}

const client = '198.51.100.7'
const secondary = '203.0.113.5'

function responderOf({ zone = literalZone(), faults = [], burst = 1_000_000 }: Options = {}): Responder {
  return new Responder({
    zone,
    secondaries: networks('203.0.113.0/24'),
    rateLimiter: new ResponseRateLimiter({ ...defaultResponseRate, burst }),
    clock: () => 0,
    log: { error: (found: unknown) => void faults.push(found) },
  })
}

type Asked = Omit<Partial<Packet>, 'type'> & {
  readonly name?: string
  readonly type?: string
  readonly payload?: number | null
}

function query({ name = 'z.test', type = 'A', payload = 1232, ...more }: Asked): Buffer {
  const opt = { type: 'OPT', name: '.', udpPayloadSize: payload ?? 0, flags: 0, options: [] } as unknown as Answer
  return encode({
    type: 'query',
    id: 4711,
    questions: [{ name, type: type as 'A' }],
    additionals: payload === null ? [] : [opt],
    ...more,
  })
}

type Read = DecodedPacket & { readonly size: number; readonly rcode: string }

function read(message: Buffer | null | undefined): Read {
  if (message === null || message === undefined) throw new Error('no reply')
  // The types of dns-packet lack some of it.
  const packet = decode(message) as DecodedPacket & { readonly rcode: string }
  return { ...packet, size: message.length }
}

async function ask(asked: Asked, responder = responderOf()): Promise<Read> {
  return read(await responder.respondOverUdp(query(asked), client))
}

const dataOf = (records: readonly Answer[] | undefined): unknown =>
  records?.map((record) => ('data' in record ? record.data : null))

t.test('each kind of record is answered with authority', async (t) => {
  const rows: readonly (readonly [name: string, type: string, answers: readonly unknown[]])[] = [
    ['mx.z.test', 'A', ['192.0.2.1']],
    ['mx.z.test', 'AAAA', ['2001:db8::1']],
    ['z.test', 'NS', ['ns.z.test', 'ns.elsewhere.test']],
    ['z.test', 'MX', [{ preference: 10, exchange: 'mx.z.test' }]],
    ['z.test', 'CAA', [{ flags: 0, tag: 'issue', value: 'ca.test', issuerCritical: false }]],
    ['z.test', 'SOA', [{ mname: 'ns.z.test', rname: 'postmaster.z.test', serial: 7 }]],
  ]
  for (const [name, type, answers] of rows) {
    const reply = await ask({ name, type })
    t.match(reply, { id: 4711, rcode: 'NOERROR', flag_qr: true, flag_aa: true, flag_ra: false, flag_tc: false })
    t.match(dataOf(reply.answers), answers, `${name} ${type}`)
    t.ok(reply.answers?.every((record) => record.name === name))
  }
})

t.test('a text is split into strings of 255 octets', async (t) => {
  const { answers } = await ask({ name: 'dkim1.0123456789abcdef0123._domainkey.z.test', type: 'TXT' })
  const [strings] = dataOf(answers) as [Buffer[]]
  t.same(
    strings.map(({ length }) => length),
    [255, 155],
  )
  t.equal(Buffer.concat(strings).toString(), largeKey)
})

t.test('addresses of hosts that an answer names are added', async (t) => {
  t.match(dataOf((await ask({ name: 'z.test', type: 'MX' })).additionals), ['192.0.2.1', '2001:db8::1'])
  t.match(dataOf((await ask({ name: 'z.test', type: 'NS' })).additionals), ['192.0.2.1'])
})

t.test('a missing name or type is answered with the SOA record, for five minutes', async (t) => {
  const rows = [
    ['nothing.z.test', 'A', 'NXDOMAIN'],
    ['x.mx.z.test', 'A', 'NXDOMAIN'],
    ['mx.z.test', 'TXT', 'NOERROR'],
    ['mx.z.test', 'HINFO', 'NOERROR'],
    ['_domainkey.z.test', 'TXT', 'NOERROR'],
    ['0123456789abcdef0123._domainkey.z.test', 'A', 'NOERROR'],
    ['z.test', 'DS', 'NOERROR'],
  ] as const
  for (const [name, type, rcode] of rows) {
    const reply = await ask({ name, type })
    t.match(reply, { rcode, flag_aa: true, answers: { length: 0 } }, `${name} ${type}`)
    t.match(reply.authorities, [{ type: 'SOA', name: 'z.test', ttl: 300, data: { minimum: 300 } }])
  }
})

t.test('a question of type ANY gets one kind of record', async (t) => {
  const { answers } = await ask({ name: 'mx.z.test', type: 'ANY' })
  t.same(dataOf(answers), ['192.0.2.1'])
  t.match(await ask({ name: '_domainkey.z.test', type: 'ANY' }), { rcode: 'NOERROR', answers: { length: 0 } })
})

t.test('names outside the zone are refused without authority', async (t) => {
  for (const name of ['test', '.', 'example.com', 'az.test', 'z.test.evil.test']) {
    t.match(await ask({ name }), { rcode: 'REFUSED', flag_aa: false, authorities: { length: 0 } }, name)
  }
})

t.test('only class IN is known', async (t) => {
  for (const name of ['CH', 'ANY'] as const) {
    const questions = [{ name: 'z.test', type: 'TXT' as const, class: name }]
    t.match(await ask({ questions }), { rcode: 'REFUSED', flag_aa: false }, name)
  }
})

t.test('the question is echoed in its letters, and so is the name of its answers', async (t) => {
  const reply = await responderOf().respondOverUdp(query({ name: 'mX.Z.tEsT', type: 'A' }), client)
  t.match(read(reply), { questions: [{ name: 'mX.Z.tEsT' }], answers: [{ name: 'mX.Z.tEsT', data: '192.0.2.1' }] })
})

t.test('recursion is never offered; the RD bit is copied', async (t) => {
  t.match(await ask({ flags: 0x0100 }), { flag_rd: true, flag_ra: false })
  t.match(await ask({ flags: 0 }), { flag_rd: false, flag_ra: false })
})

t.test('other opcodes are not implemented', async (t) => {
  for (const opcode of [1, 2, 4, 5, 15]) {
    const reply = await responderOf().respondOverUdp(query({ flags: opcode << 11 }), client)
    t.equal(reply?.readUInt16BE(2), 0x8000 | (opcode << 11) | 4)
  }
})

t.test('a message that is no question gets no reply, and a malformed one gets FORMERR', async (t) => {
  const responder = responderOf()
  const whole = query({ payload: null })
  const with16 = (at: number, value: number, message = whole): Buffer => {
    const changed = Buffer.from(message)
    changed.writeUInt16BE(value, at)
    return changed
  }
  const silent = [Buffer.alloc(0), whole.subarray(0, 11), with16(2, 0x8000)]
  for (const message of silent) t.equal(await responder.respondOverUdp(message, client), null)
  const pointer = Buffer.concat([whole.subarray(0, 12), Buffer.of(0xc0, 12, 0, 1, 0, 1)])
  const long = query({ name: Array(64).fill('abc').join('.'), payload: null })
  const broken = [
    whole.subarray(0, 12),
    whole.subarray(0, -1),
    with16(4, 0),
    with16(4, 2),
    with16(6, 1),
    with16(10, 60_000),
    pointer,
    long,
    Buffer.concat([whole, Buffer.alloc(5000)]),
    query({ payload: 512 }).subarray(0, -3),
  ]
  for (const [at, message] of broken.entries()) {
    const reply = await responder.respondOverUdp(message, client)
    t.equal((reply?.readUInt16BE(2) ?? 0) & 0x800f, 0x8001, `${at}`)
    t.equal(reply?.readUInt16BE(0), 4711)
  }
})

t.test('a dot within a label does not separate labels', async (t) => {
  const question = Buffer.from('\x09mx.z.test\x00\x00\x01\x00\x01', 'latin1')
  const incoming = parseQuery(Buffer.concat([query({ payload: null }).subarray(0, 12), question]))
  t.match(incoming, { kind: 'query', query: { name: 'mx\\046z\\046test' } })
})

t.test('EDNS is answered when the query has it', async (t) => {
  const opt = (reply: Read): unknown => reply.additionals?.find(({ type }) => type === 'OPT')
  t.match(opt(await ask({ name: 'mx.z.test' })), {
    udpPayloadSize: 1232,
    ednsVersion: 0,
    extendedRcode: 0,
    flag_do: false,
  })
  t.equal(opt(await ask({ name: 'mx.z.test', payload: null })), undefined)
  const additional = { type: 'OPT', name: '.', udpPayloadSize: 1232, options: [] }
  const secure = { ...additional, flags: 0x8000 } as unknown as Answer
  t.match(opt(await ask({ additionals: [secure] })), { flag_do: true })
  const newer = { ...additional, flags: 0, ednsVersion: 1 } as unknown as Answer
  t.match(opt(await ask({ additionals: [newer] })), { ednsVersion: 0, extendedRcode: 1 }, 'BADVERS')
  t.match(await ask({ additionals: [secure, secure] }), { rcode: 'FORMERR' }, 'two of them')
  t.match(await ask({ authorities: [secure], additionals: [] }), { rcode: 'FORMERR' }, 'in the wrong place')
})

t.test('a key of 2048 bits fits a client without EDNS', async (t) => {
  const reply = await ask({ name: 'dkim1.0123456789abcdef0123._domainkey.z.test', type: 'TXT', payload: null })
  t.match(reply, { flag_tc: false, answers: { length: 1 } })
  t.ok(reply.size <= 512)
})

t.test('a reply that does not fit is truncated to nothing, and complete over TCP', async (t) => {
  for (const payload of [null, 0, 4096, 65_535]) {
    const asked = { name: 'large.z.test', type: 'TXT', payload }
    t.match(await ask(asked), { flag_tc: true, rcode: 'NOERROR', answers: { length: 0 } }, `${payload}`)
    const [whole] = await collect(responderOf().respondOverTcp(query(asked), client))
    t.match(read(whole), { flag_tc: false, answers: { length: 1 } })
  }
})

t.test('equal replies to one network are limited, whatever source address is forged', async (t) => {
  const responder = responderOf({ burst: 2 })
  const outcome = async (asked: Asked, from: string): Promise<string> => {
    const reply = await responder.respondOverUdp(query(asked), from)
    return reply === null ? 'nothing' : read(reply).flag_tc ? 'cut' : 'whole'
  }
  const outcomes = async (asked: (at: number) => Asked, from: (at: number) => string): Promise<string> =>
    (await Promise.all([0, 1, 2, 3, 4, 5].map((at) => outcome(asked(at), from(at))))).join(' ')
  const limited = 'whole whole nothing cut nothing cut'
  t.equal(
    await outcomes(
      () => ({ name: 'mx.z.test' }),
      (at) => `198.51.100.${at}`,
    ),
    limited,
    'a network',
  )
  t.equal(
    await outcomes(
      () => ({ name: 'mx.z.test' }),
      (at) => `2001:db8:0:0${at}::1`,
    ),
    limited,
    'a network of IPv6',
  )
  t.equal(
    await outcomes(
      (at) => ({ name: `x${at}.z.test` }),
      () => '192.0.2.1',
    ),
    limited,
    'names that are not there',
  )
  t.equal(
    await outcomes(
      (at) => ({ name: `x${at}.test` }),
      () => '192.0.2.1',
    ),
    limited,
    'names of others',
  )
  const free = 'whole whole whole whole whole whole'
  t.equal(
    await outcomes(
      () => ({ name: 'mx.z.test' }),
      (at) => `192.0.${at}.1`,
    ),
    free,
    'other networks',
  )
  t.equal(
    await outcomes(
      () => ({ name: 'mx.z.test' }),
      () => '127.0.0.1',
    ),
    free,
    'this machine',
  )
})

t.test('the rate limit refills with time, and is bounded in memory', async (t) => {
  const rate = new ResponseRateLimiter({ perSecond: 10, burst: 2, maxKeys: 3 })
  const judge = (now: number, from = '192.0.2.1'): string => rate.check(from, 'a', now)
  t.same([judge(0), judge(0), judge(0)], ['send', 'send', 'drop'])
  t.same([judge(100), judge(100)], ['send', 'drop'], 'a tenth of a second is one answer')
  t.equal(judge(50), 'truncate', 'a clock that was set back gives nothing')
  for (let n = 0; n < 100; n += 1) judge(100, `192.0.${n}.1`)
  t.equal(rate.countBuckets(), 3)
})

t.test('the zone is transferred to secondaries only, between two SOA records', async (t) => {
  const responder = responderOf()
  const types = async (from: string, asked: Asked): Promise<string> =>
    (await collect(responder.respondOverTcp(query(asked), from)))
      .map(read)
      .map(({ rcode, answers = [] }) => `${rcode} ${answers.map(({ type }) => type).join(' ')}`)
      .join(' / ')
  const all = 'NOERROR SOA NS NS CAA MX A AAAA A TXT TXT SOA'
  t.equal(await types(secondary, { type: 'AXFR' }), all)
  t.equal(await types(`::ffff:${secondary}`, { type: 'AXFR' }), all)
  for (const [from, name] of [
    [client, 'z.test'],
    [secondary, 'mx.z.test'],
    [secondary, 'other.test'],
  ] as const) {
    t.equal(await types(from, { type: 'AXFR', name }), 'REFUSED ', `${from} ${name}`)
  }
  t.match(read(await responder.respondOverUdp(query({ type: 'AXFR' }), secondary)), { rcode: 'NOTIMP' })
})

const sinceSerial = (serial: number): Asked => {
  const data = { mname: 'a', rname: 'b', serial, refresh: 0, retry: 0, expire: 0, minimum: 0 }
  return { type: 'IXFR', authorities: [{ type: 'SOA', name: 'z.test', data }] }
}

t.test('an incremental transfer is the complete zone, or the SOA record if the secondary is up to date', async (t) => {
  const responder = responderOf()
  const count = async (serial: number): Promise<unknown> =>
    read((await collect(responder.respondOverTcp(query(sinceSerial(serial)), secondary)))[0]).answers?.length
  t.equal(await count(6), 11)
  t.equal(await count(7), 1)
  t.equal(await count(8), 1, 'it knows more than we do')
  t.equal(await count(0xffff_fff0), 11, 'a serial goes round')
  t.match(read(await responder.respondOverUdp(query(sinceSerial(6)), secondary)).answers, [{ type: 'SOA' }])
  t.match(read(await responder.respondOverUdp(query(sinceSerial(6)), client)), { rcode: 'REFUSED' })
})

t.test('a large zone is sent in several valid messages', async (t) => {
  const zone = literalZone()
  const many = Array.from({ length: 200 }, (_, n) => ({
    name: `n${n}.z.test`,
    ttl: 1,
    data: { type: 'TXT', text: largeKey } as const,
  }))
  const large: ServiceZone = {
    ...zone,
    async *readPages() {
      yield many
    },
  }
  const messages = await collect(responderOf({ zone: large }).respondOverTcp(query({ type: 'AXFR' }), secondary))
  t.ok(messages.length > 4)
  t.ok(messages.every(({ length }) => length < 17_000))
  const answers = messages.map(read).flatMap((message) => message.answers ?? [])
  t.same(
    answers.map(({ name }) => name),
    ['z.test', ...many.map(({ name }) => name), 'z.test'],
  )
})

t.test('a transfer during which the zone changes is aborted, and nothing is logged', async (t) => {
  let serial = 7
  const faults: unknown[] = []
  const responder = responderOf({ zone: literalZone(() => serial), faults })
  const messages = responder.respondOverTcp(query({ type: 'AXFR' }), secondary)
  const walk = async (): Promise<void> => {
    for await (const _ of messages) serial += 1
  }
  serial = 8
  await t.resolves(walk(), 'a change before it begins')
  const changing = responderOf({ zone: literalZone(() => (serial += 1)), faults })
  await t.rejects(collect(changing.respondOverTcp(query({ type: 'AXFR' }), secondary)), /has changed/)
  t.same(faults, [])
})

t.test('an internal error is SERVFAIL, and logged at intervals', async (t) => {
  const faults: unknown[] = []
  const findRecords = async (): Promise<never> => {
    throw new Error('the disk is gone')
  }
  const responder = responderOf({ zone: { ...literalZone(), findRecords }, faults })
  for (let count = 0; count < 3; count += 1)
    t.match(await ask({ name: 'z.test' }, responder), { rcode: 'SERVFAIL', flag_aa: false })
  t.equal(faults.length, 1)
})

t.test('no message makes the responder throw, and every reply can be parsed', async () => {
  const responder = responderOf({ burst: Number.MAX_SAFE_INTEGER })
  const good = [
    query({ name: 'mx.z.test' }),
    query({ name: 'z.test', type: 'MX' }),
    query(sinceSerial(3)),
    query({ name: 'dkim1.0123456789abcdef0123._domainkey.z.test', type: 'TXT' }),
  ]
  const damaged = fc
    .tuple(fc.constantFrom(...good), fc.array(fc.tuple(fc.nat(200), fc.nat(255)), { maxLength: 6 }), fc.nat(200))
    .map(([message, changes, cut]) => {
      const changed = Buffer.from(message)
      for (const [at, octet] of changes) if (at < changed.length) changed[at] = octet
      return changed.subarray(0, Math.max(0, changed.length - (cut > 150 ? cut - 150 : 0)))
    })
  const any = fc.oneof(
    damaged,
    fc.uint8Array({ maxLength: 600 }).map((octets) => Buffer.from(octets)),
  )
  await fc.assert(
    fc.asyncProperty(any, async (message) => {
      const replies = [
        await responder.respondOverUdp(message, client),
        ...(await collect(responder.respondOverTcp(message, secondary))),
      ]
      for (const reply of replies) {
        if (reply === null) continue
        if (reply.length > 17_000) return false
        // dns-packet does not fully decode labels that are not UTF-8; counts and sizes it does.
        decode(reply)
        if (reply.readUInt16BE(0) !== message.readUInt16BE(0) || (reply.readUInt8(2) & 0x80) === 0) return false
      }
      return true
    }),
  )
})
