/** Answers from DNS, questions to the service zone, and names. */
import { encode } from 'dns-packet'
import { buildQuery, isReplyTo, readDnsReply } from '../../../../src/base/platform/dns/message.js'
import { encodeName, isQueryable, readName, toCanonicalName } from '../../../../src/base/platform/dns/name.js'
import { Responder } from '../../../../src/servers/dns/responder.js'
import { defaultResponseRate, ResponseRateLimiter } from '../../../../src/servers/dns/response-rate-limiter.js'
import { networks } from '../../config-values.js'
import { literalZone } from '../../dns/literal-zone.js'
import { check, checkEqual, type FuzzTarget } from '../target.js'

const words = [
  '\xc0\x0c',
  '\0',
  '\x01a',
  '\x3f',
  '\xff\xff',
  '\0\x01\0\x01',
  '\0\x10\0\x01',
  '\0\x0f\0\x01',
  '\0\x1c\0\x01',
  '\0\0\x29\x10\0\0\0\0\0\0\0',
  '\0\x05\0\x01',
  '\0\x06\0\x01',
  '\x01\x01\0\x01',
  '\0\x34\0\x01',
  '\0\xfc',
  '\0\xfb',
]

function readAnswer(input: Buffer): void {
  const reply = readDnsReply(input)
  isReplyTo(buildQuery({ name: 'b.test', type: 'A' }, true), input)
  for (const { owner, type, text, ttl } of reply?.answers ?? []) {
    check(ttl >= 0 && ttl <= 0x7fff_ffff, 'a time to live is 31 bits')
    check(/^[a-z0-9_/*+\\.-]*$/.test(owner), 'a name has no odd characters')
    checkEqual(toCanonicalName(owner), owner, 'a name is canonical')
    if (['CNAME', 'MX', 'NS', 'PTR'].includes(type)) checkEqual(toCanonicalName(text), text, 'a name is canonical')
    if (owner !== '' && isQueryable(owner))
      checkEqual(readName(encodeName(owner), 0).name, owner, 'read(encode(name)) = name')
  }
}

function readNames(input: Buffer): void {
  const text = input.toString()
  const name = toCanonicalName(text)
  if (!isQueryable(name)) return
  const octets = encodeName(name)
  check(octets.length <= 255, 'a name has at most 255 octets')
  if (name !== '') checkEqual(readName(octets, 0).name, toCanonicalName(name), 'read(encode(name)) = name')
}

const zone = literalZone()
const MAX_UDP = 1_232

async function askZone(input: Buffer): Promise<void> {
  const faults: unknown[] = []
  const responder = new Responder({
    zone,
    secondaries: networks('203.0.113.0/24'),
    rateLimiter: new ResponseRateLimiter({ ...defaultResponseRate, burst: 1_000_000 }),
    clock: () => 0,
    log: { error: (fault: unknown) => void faults.push(fault) },
  })
  const overUdp = await responder.respondOverUdp(input, '198.51.100.7')
  const isQuestion = input.length >= 12 && (input[2] ?? 0) < 0x80
  check((overUdp !== null) === isQuestion, 'a question is answered, and nothing else')
  if (overUdp !== null) {
    check(overUdp.length <= MAX_UDP, 'a datagram has at most 1,232 octets')
    check(
      overUdp.readUInt16BE(0) === input.readUInt16BE(0) && (overUdp.readUInt8(2) & 0x80) !== 0,
      'a reply has the id of its question',
    )
  }
  let parts = 0
  for await (const message of responder.respondOverTcp(input, '203.0.113.5')) {
    check(message.length <= 65_535, 'a message has at most 65,535 octets')
    if (parts++ > 1_000) break
  }
  check(faults.length === 0, `no fault is logged: ${String((faults[0] as { err?: unknown } | undefined)?.err)}`)
}

const reply = (answers: Parameters<typeof encode>[0]['answers']): Buffer =>
  encode({
    type: 'response',
    id: 1,
    flags: 0x180,
    questions: [{ name: 'b.test', type: 'A' }],
    ...(answers === undefined ? {} : { answers }),
  })

const question = (type: 'A' | 'MX' | 'AXFR', more: object = {}): Buffer =>
  encode({ type: 'query', id: 7, questions: [{ name: 'z.test', type }], ...more })

export const dnsTargets: readonly FuzzTarget[] = [
  {
    name: 'dns-answers',
    checks: 'names are canonical; read(encode(name)) = name; times are 31 bits',
    seeds: [
      reply([{ name: 'b.test', type: 'A', ttl: 60, data: '192.0.2.1' }]),
      reply([
        { name: 'b.test', type: 'CNAME', ttl: 60, data: 'c.b.test' },
        { name: 'c.b.test', type: 'MX', ttl: 60, data: { preference: 10, exchange: 'mx.b.test' } },
        { name: 'c.b.test', type: 'TXT', ttl: 60, data: ['v=spf1 ', '-all'] },
        { name: 'c.b.test', type: 'AAAA', ttl: 60, data: '2001:db8::1' },
      ]),
      encode({
        type: 'response',
        id: 1,
        questions: [{ name: 'b.test', type: 'A' }],
        authorities: [
          {
            name: 'test',
            type: 'SOA',
            ttl: 60,
            data: { mname: 'a.test', rname: 'b.test', serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 1 },
          },
          { name: 'test', type: 'NS', data: 'ns.test' },
          { name: 'test', type: 'CAA', data: { flags: 0, tag: 'issue', value: 'ca.test' } },
        ],
      }),
    ],
    words,
    run: readAnswer,
  },
  {
    name: 'dns-names',
    checks: 'read(encode(name)) = name; at most 255 octets',
    seeds: ['b.test', 'A.b\\.c.test.', 'münchen.test', '_dmarc.*.b-c.test', '\\000\\255.test'],
    words: ['.', '\\.', '\\046', '\\999', '\\', 'ä', '\0'],
    maxSize: 4_096,
    run: readNames,
  },
  {
    name: 'dns-questions',
    checks: 'each question is answered with its id; sizes; no fault is logged',
    seeds: [
      question('A'),
      question('MX', { additionals: [{ type: 'OPT', name: '.', udpPayloadSize: 4096, flags: 0x8000, options: [] }] }),
      question('AXFR'),
    ],
    words,
    maxSize: 4_096,
    run: askZone,
  },
]
