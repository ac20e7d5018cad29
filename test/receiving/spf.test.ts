import t from 'tap'
import type { SpfVerdict } from '../../src/receiving/authentication/authentication.js'
import { checkSpf } from '../../src/receiving/authentication/check-spf.js'
import { messageQuestions } from '../../src/receiving/authentication/questions.js'
import { type RecordZone, recordZone } from '../helpers/record-zone.js'

interface Client {
  readonly ip?: string
  readonly helo?: string
  readonly from?: string
}

interface Checked extends SpfVerdict {
  readonly asked: readonly string[]
}

async function check(zone: RecordZone, client: Client = {}, perQuestion = 1_000): Promise<Checked> {
  const { ip = '192.0.2.1', helo = 'client.test', from = 'a@b.test' } = client
  const resolver = recordZone(zone)
  const questions = messageQuestions(resolver, { perQuestion, perMessage: 10_000 }, () => 0)
  const connection = { clientAddress: ip, helo, envelopeFrom: from, hostname: 'mx.test' }
  return { ...(await checkSpf(connection, questions.within(120), 10_000)), asked: resolver.asked }
}

/** The zone with this record at b.test. */
function record(text: string, rest: RecordZone = {}): RecordZone {
  return { ...rest, 'b.test': { TXT: [text] } }
}

type Row = readonly [what: string, zone: RecordZone, result: string, client?: Client]

function table(name: string, rows: readonly Row[]): void {
  t.test(name, async (t) => {
    for (const [what, zone, result, client] of rows) {
      t.equal((await check(zone, client)).result, result, what)
    }
  })
}

const v6 = { ip: '2001:db8::1' }

table('qualifiers make results (section 4.6.2)', [
  ['+all', record('v=spf1 +all'), 'pass'],
  ['all', record('v=spf1 all'), 'pass'],
  ['-all', record('v=spf1 -all'), 'fail'],
  ['~all', record('v=spf1 ~all'), 'softfail'],
  ['?all', record('v=spf1 ?all'), 'neutral'],
  ['no match at all', record('v=spf1'), 'neutral'],
  ['the first match decides', record('v=spf1 ?ip4:192.0.2.1 -all'), 'neutral'],
  ['terms after all are read and ignored', record('v=spf1 -all ip4:192.0.2.1'), 'fail'],
])

table('records are chosen by their version (section 4.5)', [
  ['no name', {}, 'none'],
  ['no TXT', { 'b.test': { A: ['192.0.2.1'] } }, 'none'],
  ['another TXT', { 'b.test': { TXT: ['hello'] } }, 'none'],
  ['v=spf10', { 'b.test': { TXT: ['v=spf10 +all'] } }, 'none'],
  ['v=spf1 in capitals', record('V=SPF1 +all'), 'pass'],
  ['one among others', { 'b.test': { TXT: ['hello', 'v=spf1 -all'] } }, 'fail'],
  ['two', { 'b.test': { TXT: ['v=spf1 +all', 'v=spf1 -all'] } }, 'permerror'],
  ['SERVFAIL', { 'b.test': 'SERVFAIL' }, 'temperror'],
  ['a domain of one label', {}, 'none', { from: 'a@localhost' }],
  ['a malformed domain', {}, 'none', { from: 'a@b..test' }],
])

table('syntax is judged before anything else (section 4.6)', [
  ['unknown mechanism', record('v=spf1 +all foo'), 'permerror'],
  ['unknown modifier', record('v=spf1 foo=bar +all'), 'pass'],
  ['ip4 of no address', record('v=spf1 ip4:1.2.3 +all'), 'permerror'],
  ['ip4 with 33 bits', record('v=spf1 ip4:192.0.2.1/33 +all'), 'permerror'],
  ['ip6 with 129 bits', record('v=spf1 ip6:2001:db8::/129 +all'), 'permerror'],
  ['include without a domain', record('v=spf1 include +all'), 'permerror'],
  ['all with a value', record('v=spf1 all:b.test'), 'permerror'],
  ['two redirects', record('v=spf1 redirect=a.test redirect=c.test'), 'permerror'],
  ['two exp', record('v=spf1 +all exp=a.test exp=c.test'), 'permerror'],
  ['an unknown macro letter', record('v=spf1 exists:%{x}.test +all'), 'permerror'],
  ['a lone percent', record('v=spf1 exists:%.test +all'), 'permerror'],
  ['no part', record('v=spf1 exists:%{d0}.test +all'), 'permerror'],
  ['an exp letter elsewhere', record('v=spf1 exists:%{c}.test +all'), 'permerror'],
  ['8 bit', record('v=spf1 a:b\u00e9.test +all'), 'permerror'],
])

table('ip4 and ip6 compare prefixes (section 5.6)', [
  ['the address', record('v=spf1 ip4:192.0.2.1 -all'), 'pass'],
  ['another', record('v=spf1 ip4:192.0.2.2 -all'), 'fail'],
  ['/24', record('v=spf1 ip4:192.0.2.200/24 -all'), 'pass'],
  ['/25 above', record('v=spf1 ip4:192.0.2.128/25 -all'), 'fail'],
  ['/0', record('v=spf1 ip4:10.0.0.0/0 -all'), 'pass'],
  ['ip6', record('v=spf1 ip6:2001:db8::/32 -all'), 'pass', v6],
  ['ip6 beside', record('v=spf1 ip6:2001:db9::/32 -all'), 'fail', v6],
  ['ip6 never takes an IPv4 client', record('v=spf1 ip6:::/0 -all'), 'fail'],
  ['ip4 never takes an IPv6 client', record('v=spf1 ip4:0.0.0.0/0 -all'), 'fail', v6],
  ['a mapped address is IPv4 (section 5)', record('v=spf1 ip4:192.0.2.1 -all'), 'pass', { ip: '::ffff:192.0.2.1' }],
])

table('a and mx ask for addresses (sections 5.3, 5.4)', [
  ['a', { 'b.test': { TXT: ['v=spf1 a -all'], A: ['192.0.2.1'] } }, 'pass'],
  ['a of another', record('v=spf1 a:c.test -all', { 'c.test': { A: ['192.0.2.9', '192.0.2.1'] } }), 'pass'],
  ['a/24', record('v=spf1 a:c.test/24 -all', { 'c.test': { A: ['192.0.2.99'] } }), 'pass'],
  ['a//64', record('v=spf1 a:c.test//64 -all', { 'c.test': { AAAA: ['2001:db8::99'] } }), 'pass', v6],
  ['a/0//128', record('v=spf1 a:c.test/0//128 -all', { 'c.test': { AAAA: ['2001:db8::99'] } }), 'fail', v6],
  ['a without match', record('v=spf1 a:c.test -all', { 'c.test': { A: ['192.0.2.9'] } }), 'fail'],
  ['a at SERVFAIL', record('v=spf1 a:c.test -all', { 'c.test': 'SERVFAIL' }), 'temperror'],
  [
    'mx',
    record('v=spf1 mx:c.test -all', {
      'c.test': { MX: [[10, 'm1.test'], [20, 'm2.test']] }, // biome-ignore format: one row
      'm1.test': { A: ['192.0.2.9'] },
      'm2.test': { A: ['192.0.2.1'] },
    }),
    'pass',
  ],
  ['mx never falls back to a', { 'b.test': { TXT: ['v=spf1 mx -all'], A: ['192.0.2.1'] } }, 'fail'],
  ['a null MX', record('v=spf1 mx:c.test -all', { 'c.test': { MX: [[0, '']] } }), 'fail'],
  ['mx at SERVFAIL', record('v=spf1 mx:c.test -all', { 'c.test': { MX: 'SERVFAIL' } }), 'temperror'],
])

const reverse = '1.2.0.192.in-addr.arpa'

table('ptr believes names that lead back (section 5.5)', [
  [
    'a subdomain',
    record('v=spf1 ptr -all', { [reverse]: { PTR: ['x.b.test'] }, 'x.b.test': { A: ['192.0.2.1'] } }),
    'pass',
  ],
  [
    'another domain',
    record('v=spf1 ptr -all', { [reverse]: { PTR: ['x.c.test'] }, 'x.c.test': { A: ['192.0.2.1'] } }),
    'fail',
  ],
  [
    'not back',
    record('v=spf1 ptr -all', { [reverse]: { PTR: ['x.b.test'] }, 'x.b.test': { A: ['192.0.2.9'] } }),
    'fail',
  ],
  [
    'ptr:c.test',
    record('v=spf1 ptr:c.test -all', { [reverse]: { PTR: ['c.test'] }, 'c.test': { A: ['192.0.2.1'] } }),
    'pass',
  ],
  [
    'only part of a label',
    record('v=spf1 ptr -all', { [reverse]: { PTR: ['xb.test'] }, 'xb.test': { A: ['192.0.2.1'] } }),
    'fail',
  ],
  ['a fault is no match', record('v=spf1 ptr -all', { [reverse]: 'SERVFAIL' }), 'fail'],
])

table('include takes a pass alone (section 5.2)', [
  ['pass', record('v=spf1 include:c.test -all', { 'c.test': { TXT: ['v=spf1 +all'] } }), 'pass'],
  ['pass, with a qualifier', record('v=spf1 ?include:c.test -all', { 'c.test': { TXT: ['v=spf1 +all'] } }), 'neutral'],
  ['fail', record('v=spf1 include:c.test ?all', { 'c.test': { TXT: ['v=spf1 -all'] } }), 'neutral'],
  ['softfail', record('v=spf1 include:c.test ?all', { 'c.test': { TXT: ['v=spf1 ~all'] } }), 'neutral'],
  ['none', record('v=spf1 include:c.test +all', {}), 'permerror'],
  ['permerror', record('v=spf1 include:c.test +all', { 'c.test': { TXT: ['v=spf1 foo'] } }), 'permerror'],
  ['temperror', record('v=spf1 include:c.test +all', { 'c.test': 'SERVFAIL' }), 'temperror'],
])

table('redirect replaces the record (section 6.1)', [
  ['its result is ours', record('v=spf1 redirect=c.test', { 'c.test': { TXT: ['v=spf1 -all'] } }), 'fail'],
  ['after all it is ignored', record('v=spf1 ?all redirect=c.test', { 'c.test': { TXT: ['v=spf1 -all'] } }), 'neutral'],
  [
    'before a mechanism it waits',
    record('v=spf1 redirect=c.test ip4:192.0.2.1', { 'c.test': { TXT: ['v=spf1 -all'] } }),
    'pass',
  ],
  ['none', record('v=spf1 redirect=c.test'), 'permerror'],
  ['temperror', record('v=spf1 redirect=c.test', { 'c.test': 'SERVFAIL' }), 'temperror'],
  [
    'a in it is of the new domain',
    {
      'b.test': { TXT: ['v=spf1 redirect=c.test'], A: ['192.0.2.1'] },
      'c.test': { TXT: ['v=spf1 a -all'], A: ['192.0.2.9'] },
    },
    'fail',
  ],
])

table('exists asks for an A record, for IPv6 clients too (section 5.7)', [
  ['there', record('v=spf1 exists:c.test -all', { 'c.test': { A: ['127.0.0.2'] } }), 'pass'],
  ['there, over IPv6', record('v=spf1 exists:c.test -all', { 'c.test': { A: ['127.0.0.2'] } }), 'pass', v6],
  ['not there', record('v=spf1 exists:c.test -all'), 'fail'],
  ['AAAA alone', record('v=spf1 exists:c.test -all', { 'c.test': { AAAA: ['::1'] } }), 'fail'],
  ['SERVFAIL', record('v=spf1 exists:c.test -all', { 'c.test': 'SERVFAIL' }), 'temperror'],
])

const numbers = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at)
const terms = (count: number): string => numbers(1, count).map((number) => `a:h${number}.test`).join(' ') // biome-ignore format: short
const hosts: RecordZone = Object.fromEntries(numbers(1, 12).map((number) => [`h${number}.test`, { A: ['192.0.2.9'] }]))
const exchanges = (count: number): RecordZone => ({
  ...hosts,
  'c.test': { MX: numbers(1, count).map((number) => [number, `h${number}.test`] as const) },
})
const pointers: RecordZone = {
  [reverse]: { PTR: numbers(1, 12).map((number) => `h${number}.b.test`) },
  ...Object.fromEntries(numbers(1, 10).map((number) => [`h${number}.b.test`, { A: ['192.0.2.9'] }])),
  'h11.b.test': { A: ['192.0.2.1'] },
}

table('questions have limits (section 4.6.4)', [
  ['ten terms', record(`v=spf1 ${terms(10)} -all`, hosts), 'fail'],
  ['eleven terms', record(`v=spf1 ${terms(11)} -all`, hosts), 'permerror'],
  ['a match before the eleventh', record(`v=spf1 ip4:192.0.2.1 ${terms(11)} -all`, hosts), 'pass'],
  [
    'includes count',
    record(`v=spf1 include:c.test ${terms(8)} -all`, { ...hosts, 'c.test': { TXT: ['v=spf1 a:h9.test a:h10.test'] } }),
    'permerror',
  ],
  ['an include of itself', record('v=spf1 include:b.test -all'), 'permerror'],
  ['a redirect to itself', record('v=spf1 redirect=b.test'), 'permerror'],
  ['two void answers', record('v=spf1 a:n1.test exists:n2.test -all'), 'fail'],
  ['three void answers', record('v=spf1 a:n1.test exists:n2.test mx:n3.test -all'), 'permerror'],
  [
    'void: the name is there, the record is not',
    record('v=spf1 a:n1.test a:n2.test a:n3.test -all', { 'n1.test': {}, 'n2.test': {}, 'n3.test': {} }),
    'permerror',
  ],
  ['ten MX hosts', record('v=spf1 mx:c.test -all', exchanges(10)), 'fail'],
  ['eleven MX hosts', record('v=spf1 mx:c.test -all', exchanges(11)), 'permerror'],
  ['names of a PTR after the tenth are ignored', record('v=spf1 ptr -all', pointers), 'fail'],
])

t.test('the examples of section 7.4 expand as they are written there', async (t) => {
  const examples: readonly (readonly [macro: string, expanded: string])[] = [
    ['%{s}', 'strong-bad@email.example.com'],
    ['%{o}', 'email.example.com'],
    ['%{d}', 'email.example.com'],
    ['%{d4}', 'email.example.com'],
    ['%{d3}', 'email.example.com'],
    ['%{d2}', 'example.com'],
    ['%{d1}', 'com'],
    ['%{dr}', 'com.example.email'],
    ['%{d2r}', 'example.email'],
    ['%{l}', 'strong-bad'],
    ['%{l-}', 'strong.bad'],
    ['%{lr}', 'strong-bad'],
    ['%{lr-}', 'bad.strong'],
    ['%{l1r-}', 'strong'],
    ['%{ir}.%{v}._spf.%{d2}', '3.2.0.192.in-addr._spf.example.com'],
    ['%{lr-}.lp._spf.%{d2}', 'bad.strong.lp._spf.example.com'],
    ['%{lr-}.lp.%{ir}.%{v}._spf.%{d2}', 'bad.strong.lp.3.2.0.192.in-addr._spf.example.com'],
    ['%{ir}.%{v}.%{l1r-}.lp._spf.%{d2}', '3.2.0.192.in-addr.strong.lp._spf.example.com'],
    ['%{d2}.trusted-domains.example.net', 'example.com.trusted-domains.example.net'],
    ['%{h}', 'client.test'],
    ['%{p}', 'mx.example.org'],
    ['a%%b%-c', 'a%b%20c'],
  ]
  for (const [macro, expanded] of examples) {
    const zone: RecordZone = {
      'email.example.com': { TXT: [`v=spf1 exists:${macro}.x.test -all`] },
      '3.2.0.192.in-addr.arpa': { PTR: ['mx.example.org'] },
      'mx.example.org': { A: ['192.0.2.3'] },
    }
    const { asked } = await check(zone, { ip: '192.0.2.3', from: 'strong-bad@email.example.com' })
    t.equal(asked.at(-1), `A ${expanded}.x.test`, macro)
  }
})

t.test('an IPv6 address expands to its nibbles (section 7.4)', async (t) => {
  const zone: RecordZone = { 'email.example.com': { TXT: ['v=spf1 exists:%{ir}.%{v}._spf.%{d2} -all'] } }
  const { asked } = await check(zone, { ip: '2001:db8::cb01', from: 'strong-bad@email.example.com' })
  const nibbles = '1.0.b.c.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2'
  t.equal(asked.at(-1), `A ${nibbles}.ip6._spf.example.com`)
})

t.test('a name that got too long loses labels on the left (section 7.3)', async (t) => {
  const part = 'x'.repeat(60)
  const zone = record(`v=spf1 exists:%{l}.${part}.${part}.${part}.test -all`)
  const { asked } = await check(zone, { from: `${part}.${part}@b.test` })
  t.equal(asked.at(-1), `A ${part}.${part}.${part}.${part}.test`)
})

t.test("the explanation of a fail is the domain owner's, expanded (section 6.2)", async (t) => {
  const zone = record('v=spf1 -all exp=why.%{d}', { 'why.b.test': { TXT: ["%{i} is not one of %{d}'s"] } })
  const { result, explanation } = await check(zone)
  t.equal(result, 'fail')
  t.equal(explanation, "192.0.2.1 is not one of b.test's")
  t.equal((await check(record('v=spf1 -all exp=gone.test'))).explanation, null)
  t.equal((await check(record('v=spf1 ~all exp=why.%{d}', { 'why.b.test': { TXT: ['x'] } }))).explanation, null)
})

t.test('HELO is checked where the return path is null (section 2.4)', async (t) => {
  const zone: RecordZone = { 'client.test': { TXT: ['v=spf1 exists:%{l}.%{o}.x.test -all'] } }
  const found = await check(zone, { from: '' })
  t.match(found, { result: 'fail', identity: 'helo', domain: 'client.test' })
  t.equal(found.asked.at(-1), 'A postmaster.client.test.x.test')
  t.match(await check(zone, { from: '', helo: '[192.0.2.1]' }), { result: 'none', identity: 'helo' })
})

t.test('a domain in Unicode is looked up as A-labels (RFC 8616)', async (t) => {
  t.equal(
    (await check({ 'xn--bcher-kva.test': { TXT: ['v=spf1 +all'] } }, { from: 'a@b\u00fccher.test' })).result,
    'pass',
  )
})

t.test('a question that is not answered in time is a temperror', async (t) => {
  t.equal((await check({ 'b.test': 'silence' }, {}, 5)).result, 'temperror')
  t.equal((await check(record('v=spf1 a:c.test -all', { 'c.test': 'silence' }), {}, 5)).result, 'temperror')
})
