import t from 'tap'
import type { SpfVerdict } from '../../../../src/base/mail/authentication-results.js'
import { defaultResolverSettings, openResolver } from '../../../../src/base/platform/dns/resolver.js'
import { checkSpf, toSpfKey, toSpfVerdict } from '../../../../src/inbound/receiving/authentication/check-spf.js'
import { MessageQueries } from '../../../../src/inbound/receiving/authentication/dns-queries.js'
import { dnsServers } from '../../../helpers/config-values.js'
import { type DnsRecord, dnsServer } from '../../../helpers/dns/dns-server.js'
import { type RecordZone, recordZone } from '../../../helpers/dns/record-zone.js'

interface Client {
  readonly ip?: string
  readonly helo?: string
  readonly from?: string
}

interface Checked extends SpfVerdict {
  readonly asked: readonly string[]
}

async function check(zone: RecordZone, client: Client = {}, perQuery = 1_000): Promise<Checked> {
  const { ip = '192.0.2.1', helo = 'client.test', from = 'a@b.test' } = client
  const resolver = recordZone(zone)
  const questions = new MessageQueries(resolver, { perQuery, perMessage: 10_000 }, () => 0)
  const connection = { clientAddress: ip, helo, envelopeFrom: from, hostname: 'mx.test' }
  const { verdict } = await checkSpf(connection, questions.createResolver(120), 10_000)
  return { ...verdict, asked: resolver.asked }
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

table('names that exist are judged, whatever their characters', [
  [
    'an underscore in the domain',
    { 'b_c.test': { TXT: ['v=spf1 ip4:192.0.2.1 -all'] } },
    'pass',
    { from: 'a@b_c.test' },
  ],
  [
    'the same, of another client',
    { 'b_c.test': { TXT: ['v=spf1 ip4:192.0.2.9 -all'] } },
    'fail',
    { from: 'a@b_c.test' },
  ],
  [
    'in a macro and in an include',
    {
      'x_1.b_c.test': { TXT: ['v=spf1 include:_spf.%{d2} -all'] },
      '_spf.b_c.test': { TXT: ['v=spf1 exists:%{l}.%{d}'] },
      'a._spf.b_c.test': { A: ['127.0.0.1'] },
    },
    'pass',
    { from: 'a@x_1.b_c.test' },
  ],
  ['in HELO', { 'h_1.test': { TXT: ['v=spf1 ip4:192.0.2.1 -all'] } }, 'pass', { from: '', helo: 'h_1.test' }],
  ...['mail', '192.0.2.9', '.'].map(
    (exchange): Row => [
      `a host ${exchange} of an MX record matches nothing`,
      { 'b.test': { TXT: ['v=spf1 mx ip4:192.0.2.1 -all'], MX: [[10, exchange]] } },
      'pass',
    ],
  ),
])

t.test('the domain of the verdict is the one of the sender', async (t) => {
  const found = await check(
    { 'b_c.test': { TXT: ['v=spf1 -all exp=why.%{d}'] }, 'why.b_c.test': { TXT: ['%{d} says no'] } },
    { from: 'a@b_c.test' },
  )
  t.match(found, { domain: 'b_c.test', result: 'fail', reason: /b_c\.test/, explanation: 'b_c.test says no' })
})

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

const there = (name: string): RecordZone => ({ [name]: { A: ['127.0.0.2'] } })
const both = (name: string): RecordZone => ({ [name]: { A: ['198.51.100.1'], AAAA: ['2001:db8:1::1'] } })
const exchange = (name: string): RecordZone => ({
  [name]: { MX: [[10, `mx.${name}`]] },
  [`mx.${name}`]: { A: ['192.0.2.200'], AAAA: ['2001:db8::200'] },
})
const twice = { TXT: ['v=spf1 +all', 'v=spf1 -all'] }

const l63 = 'x'.repeat(63)

table('an identity that is no host name has no policy (sections 2.4, 4.3)', [
  ['a label of 63', { [`${l63}.b.test`]: { TXT: ['v=spf1 +all'] } }, 'pass', { from: `a@${l63}.b.test` }],
  ['a label of 64', {}, 'none', { from: `a@${l63}x.b.test` }],
  ['an address literal', {}, 'none', { from: 'a@[192.0.2.1]' }],
  ['an address without brackets', {}, 'none', { from: 'a@192.0.2.1' }],
  ['HELO of one label', {}, 'none', { from: '', helo: 'client' }],
  ['HELO with a line end in it', {}, 'none', { from: '', helo: 'client.test\r\nx' }],
  ['HELO that is empty', {}, 'none', { from: '', helo: '' }],
  ['a quoted local part with an at sign', record('v=spf1 +all'), 'pass', { from: '"x@c.test"@b.test' }],
  ['no local part', record('v=spf1 exists:%{l}.x.test -all', there('postmaster.x.test')), 'pass', { from: '@b.test' }],
  ['capitals', record('v=spf1 +all'), 'pass', { from: 'a@B.TEST' }],
])

table('terms are split at blanks, and their names ignore case (sections 4.5, 4.6.1)', [
  ['several blanks', record('v=spf1   ip4:192.0.2.1  -all'), 'pass'],
  ['a blank at the end', record('v=spf1 -all '), 'fail'],
  ['a blank at the start', record(' v=spf1 -all'), 'none'],
  ['a tab', record('v=spf1\t-all'), 'none'],
  ['a tab between terms', record('v=spf1 ip4:192.0.2.1\t-all'), 'permerror'],
  ['a mechanism in capitals', record('v=spf1 IP4:192.0.2.1 -ALL'), 'pass'],
  ['a modifier in capitals', record('v=spf1 REDIRECT=c.test', { 'c.test': { TXT: ['v=spf1 -all'] } }), 'fail'],
  ['the first of two all', record('v=spf1 ?all -all'), 'neutral'],
  ['two qualifiers', record('v=spf1 +-all'), 'permerror'],
  ['a qualifier alone', record('v=spf1 - all'), 'permerror'],
])

table('the grammar of terms (sections 5, 6, 12)', [
  ...(
    [
      ...['all.', 'all:b.test', 'all/8', 'include', 'include:', 'include:c.test/24', 'exists', 'exists:'],
      ...['exists:c.test/24', 'ptr:', 'ptr/0', 'a:', 'a/', 'a/33', 'a//129', 'a/24/64', 'a/024', 'a/-1', 'a:c.test//'],
      ...[
        'a:192.0.2.1',
        'a:c.123',
        'a:c.-test',
        'a:c.test-',
        'a:test',
        'a:test.',
        'a:c.test\0',
        'mx:',
        'mx/33',
        'mx//129',
      ],
      ...[
        'mx:c.123',
        'mx:test',
        'ip4',
        'ip4:',
        'ip4:192.0.2',
        'ip4:192.0.2.1:80',
        'ip4:192.0.2.1//32',
        'ip4:192.0.2.1/032',
      ],
      ...[
        'ip4:192.0.2.256',
        'ip4:192.0.2.01',
        'ip4:192.0.2.1/',
        'ip4:c.test',
        'ip6',
        'ip6:',
        'ip6:192.0.2.1',
        'ip6:2001:db8',
      ],
      ...[
        'ip6:::1//64',
        'ip6:::1/0128',
        'ip6:::1%eth0',
        'redirect',
        'redirect:c.test',
        'redirect=',
        'redirect=test',
        'exp=',
      ],
      ...['exp=test', '=x', '1x=y', 'x@y=z', 'x=%', 'x=%{', 'x=%{d', 'x=%(d)', 'exists:%{d}%', 'exists:%{}.test'],
      ...[
        'exists:%{ir.test',
        'exists:%{i r}.test',
        'exists:%{ir1}.test',
        'exists:%{d*}.test',
        'exists:%{r}.test',
        'exists:%{t}.test',
      ],
    ] as const
  ).map((term): Row => [term, record(`v=spf1 +all ${term}`), 'permerror']),
  ...['x=', 'x=%{c}%{r}%{t}', 'a-b_c.d=e', 'default=fail', 'a:c.d-e.test', 'a:c:d/e.test', 'a:c.test.', 'a:%{d}'].map(
    (term): Row => [term, record(`v=spf1 ?all ${term}`), 'neutral'],
  ),
])

table('a prefix is counted in bits, for each family by itself (sections 5.3, 5.6)', [
  ['ip4/31', record('v=spf1 ip4:192.0.2.0/31 -all'), 'pass'],
  ['ip4/31 beside', record('v=spf1 ip4:192.0.2.2/31 -all'), 'fail'],
  ['ip4/32', record('v=spf1 ip4:192.0.2.1/32 -all'), 'pass'],
  ['ip6/0', record('v=spf1 ip6:::/0 -all'), 'pass', v6],
  ['ip6/127', record('v=spf1 ip6:2001:DB8::0/127 -all'), 'pass', v6],
  ['ip6/127 beside', record('v=spf1 ip6:2001:db8::2/127 -all'), 'fail', v6],
  ['ip6/128', record('v=spf1 ip6:2001:0db8:0:0:0:0:0:1/128 -all'), 'pass', v6],
  ['ip6 of a mapped address takes no IPv4 client', record('v=spf1 ip6:::ffff:192.0.2.1 -all'), 'fail'],
  ['nor a client that is mapped', record('v=spf1 ip6:::ffff:192.0.2.1 -all'), 'fail', { ip: '::ffff:192.0.2.1' }],
  ['a/0 needs an address', record('v=spf1 a:c.test/0 -all'), 'fail'],
  ['a/0 of any address', record('v=spf1 a:c.test/0 -all', there('c.test')), 'pass'],
  ['a/0 is not for IPv6', record('v=spf1 a:c.test/0 -all', both('c.test')), 'fail', v6],
  ['a//0 is not for IPv4', record('v=spf1 a:c.test//0 -all', both('c.test')), 'fail'],
  ['a//0 for IPv6', record('v=spf1 a:c.test//0 -all', both('c.test')), 'pass', v6],
  ['a//0 for a mapped client', record('v=spf1 a:c.test//0 -all', both('c.test')), 'fail', { ip: '::ffff:192.0.2.1' }],
  ['mx/24', record('v=spf1 mx:m.test/24 -all', exchange('m.test')), 'pass'],
  ['mx//64', record('v=spf1 mx:m.test//64 -all', exchange('m.test')), 'pass', v6],
  ['mx/24//128', record('v=spf1 mx:m.test/24//128 -all', exchange('m.test')), 'fail', v6],
])

table('a name that cannot be asked for matches nothing, or is an error where a policy is sought (section 4.8)', [
  ['an empty label in a', record('v=spf1 a:c..test ?all'), 'neutral'],
  ['an empty label in mx', record('v=spf1 mx:c..test ?all'), 'neutral'],
  ['an empty label in exists', record('v=spf1 exists:c..test ?all'), 'neutral'],
  ['an empty label in include', record('v=spf1 include:c..test ?all'), 'permerror'],
  ['an empty label in redirect', record('v=spf1 redirect=c..test'), 'permerror'],
  ['a label of 64 in a', record(`v=spf1 a:${l63}x.test ?all`), 'neutral'],
  ['a label of 64 in include', record(`v=spf1 include:${l63}x.test ?all`), 'permerror'],
  ['an underscore', record('v=spf1 include:_spf.c.test -all', { '_spf.c.test': { TXT: ['v=spf1 +all'] } }), 'pass'],
])

table('a policy within a policy', [
  [
    'a redirect in an include',
    record('v=spf1 include:c.test -all', {
      'c.test': { TXT: ['v=spf1 redirect=d.test'] },
      'd.test': { TXT: ['v=spf1 ip4:192.0.2.1 -all'] },
    }),
    'pass',
  ],
  [
    'an include in a redirect',
    record('v=spf1 redirect=c.test', {
      'c.test': { TXT: ['v=spf1 -include:d.test ?all'] },
      'd.test': { TXT: ['v=spf1 +all'] },
    }),
    'fail',
  ],
  [
    'neutral for want of all in an include goes on',
    record('v=spf1 include:c.test ip4:192.0.2.1 -all', { 'c.test': { TXT: ['v=spf1'] } }),
    'pass',
  ],
  ['two policies in an include', record('v=spf1 include:c.test +all', { 'c.test': twice }), 'permerror'],
  ['two policies after a redirect', record('v=spf1 redirect=c.test', { 'c.test': twice }), 'permerror'],
  [
    '%{d} is the domain of the policy, %{o} of the sender',
    record('v=spf1 include:c.test -all', {
      'c.test': { TXT: ['v=spf1 exists:%{d}.%{o}.x.test'] },
      ...there('c.test.b.test.x.test'),
    }),
    'pass',
  ],
])

const includes = (count: number): string => numbers(1, count).map((number) => `include:p${number}.test`).join(' ') // biome-ignore format: short
const policies: RecordZone = Object.fromEntries(
  numbers(1, 11).map((number) => [`p${number}.test`, { TXT: ['v=spf1 -all'] }]),
)
const addresses = numbers(1, 11).map((number) => `192.0.2.${12 - number}`)
const first: RecordZone = { 'h1.test': { A: ['192.0.2.1'] } }
const sixes: RecordZone = Object.fromEntries(numbers(1, 3).map((number) => [`n${number}.test`, { AAAA: ['::1'] }]))

table('what is counted as a question (section 4.6.4)', [
  ['ten includes', record(`v=spf1 ${includes(10)} -all`, policies), 'fail'],
  ['eleven includes', record(`v=spf1 ${includes(11)} -all`, policies), 'permerror'],
  ['nine includes and a redirect', record(`v=spf1 ${includes(9)} redirect=p10.test`, policies), 'fail'],
  ['ten includes and a redirect', record(`v=spf1 ${includes(10)} redirect=p11.test`, policies), 'permerror'],
  ['ten terms and ip4, ip6, all', record(`v=spf1 ${terms(10)} ip6:::1 ip4:192.0.2.1 -all`, hosts), 'pass'],
  ['ten terms and exp', record(`v=spf1 ${terms(10)} -all exp=h1.test`, hosts), 'fail'],
  ['eleven addresses of one name', record('v=spf1 a:c.test -all', { 'c.test': { A: addresses } }), 'pass'],
  ['a ptr each', record(`v=spf1 ${'ptr:x.test '.repeat(11)}-all`, pointers), 'permerror'],
  ['an exists each', record(`v=spf1 ${'exists:h1.test '.repeat(11)}-all`), 'permerror'],
  ['MX hosts are not terms', record(`v=spf1 mx:c.test ${terms(9)} -all`, exchanges(10)), 'fail'],
  ['a pass before a twelfth MX host', record('v=spf1 mx:c.test -all', { ...exchanges(11), ...first }), 'pass'],
  [
    'void answers of an include count',
    record('v=spf1 include:c.test a:n3.test -all', { 'c.test': { TXT: ['v=spf1 a:n1.test a:n2.test'] } }),
    'permerror',
  ],
  ['a name of the other family alone is void', record('v=spf1 a:n1.test a:n2.test a:n3.test -all', sixes), 'permerror'],
])

t.test('the examples of section 7.4 expand as written there', async (t) => {
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

t.test('a name that is too long loses labels on the left (section 7.3)', async (t) => {
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

t.test('every letter expands, with parts, reversed, split at other delimiters and escaped (section 7)', async (t) => {
  const six = { ip: '2001:db8::1' }
  const mail = { from: 'a+b-c=d.e@m.b.test' }
  const rows: readonly (readonly [macro: string, expanded: string, client?: Client])[] = [
    ['%{l}', 'a+b-c=d.e', mail],
    ['%{lr}', 'e.a+b-c=d', mail],
    ['%{l1}', 'e', mail],
    ['%{l+}', 'a.b-c=d.e', mail],
    ['%{l1+}', 'b-c=d.e', mail],
    ['%{lr-=}', 'd.e.c.a+b', mail],
    ['%{l2r+-=.}', 'b.a', mail],
    ['%{l99}', 'a+b-c=d.e', mail],
    ['%{L}', 'a%2Bb-c%3Dd.e', mail],
    ['%{S}', 'a%2Bb-c%3Dd.e%40m.b.test', mail],
    ['%{S1r}', 'a%2Bb-c%3Dd', mail],
    ['%{o1}', 'test', mail],
    ['%{or}', 'test.b.m', mail],
    ['%{d}', 'm.b.test', mail],
    ['%{D2R}', 'b.m', mail],
    ['%{i}', '192.0.2.1'],
    ['%{i2}', '2.1'],
    ['%{ir}', '1.2.0.192'],
    ['%{v}', 'in-addr'],
    ['%{v}', 'ip6', six],
    ['%{i4}', '0.0.0.1', six],
    ['%{h}', '[192.0.2.1]', { helo: '[192.0.2.1]' }],
    ['%{h1r}', 'client'],
    ['%{p}', 'unknown'],
    ['%{p}', 'unknown', six],
    ['%{l}', '"a@c"', { from: '"a@c"@b.test' }],
    ['a%_b', 'a b'],
    ['%%%%{d}', '%%{d}'],
    ['%{h}.%%%-', 'client.test.%%20'],
  ]
  for (const [macro, expanded, client = {}] of rows) {
    const zone = { 'b.test': { TXT: [`v=spf1 exists:${macro}.x.test -all`] } }
    const { asked } = await check({ ...zone, 'm.b.test': zone['b.test'] }, client)
    t.equal(asked.at(-1), `A ${expanded}.x.test`, macro)
  }
})

t.test('%{p} is the name of the client that is closest to the domain (section 7.3)', async (t) => {
  const names = (...found: readonly string[]): RecordZone => ({
    [reverse]: { PTR: ['n.test', ...found, 'forged.b.test'] },
    ...Object.fromEntries(['n.test', ...found].map((name) => [name, { A: ['192.0.2.1'] }])),
    'forged.b.test': { A: ['192.0.2.9'] },
  })
  const last = async (zone: RecordZone): Promise<string | undefined> =>
    (
      await check({
        ...zone,
        'b.test': { ...(record('v=spf1 exists:%{p}.x.test -all')['b.test'] as object), A: ['192.0.2.1'] },
      })
    ).asked.at(-1)
  t.equal(await last(names('m.b.test', 'b.test')), 'A b.test.x.test')
  t.equal(await last(names('m.b.test')), 'A m.b.test.x.test')
  t.equal(await last(names()), 'A n.test.x.test')
  t.equal(await last({ [reverse]: 'SERVFAIL' }), 'A unknown.x.test')
})

t.test('an explanation is of the record that failed, and absent if anything is wrong with it', async (t) => {
  const explained = async (text: string, rest: RecordZone): Promise<string | null> =>
    (await check(record(text, rest), { helo: 'h.test' })).explanation
  const why = { 'why.test': { TXT: ['no'] } }
  const own = 'v=spf1 -all exp=why.test'
  t.equal(await explained(own, why), 'no')
  t.equal(
    await explained(own, { 'why.test': { TXT: ['%{c} %{h} %{r} %{D}%_%%'] } }),
    '192.0.2.1 h.test mx.test b.test %',
  )
  t.equal(await explained('v=spf1 redirect=c.test exp=why.test', { ...why, 'c.test': { TXT: ['v=spf1 -all'] } }), null)
  t.equal(await explained('v=spf1 redirect=c.test', { ...why, 'c.test': { TXT: [own] } }), 'no')
  t.equal(await explained('v=spf1 include:c.test -all', { ...why, 'c.test': { TXT: [own] } }), null)
  t.equal(await explained('v=spf1 -include:c.test exp=why.test', { ...why, 'c.test': { TXT: ['v=spf1 +all'] } }), 'no')
  for (const broken of [
    { TXT: ['one', 'two'] },
    { TXT: ['n\u00f6'] },
    { TXT: ['%{x}'] },
    { TXT: ['100%'] },
    {},
    'SERVFAIL',
  ] as const) {
    t.equal(await explained(own, { 'why.test': broken }), null, JSON.stringify(broken))
  }
})

t.test('a local part in Unicode matches no term that names it (RFC 8616 section 4)', async (t) => {
  const zone = record('v=spf1 exists:%{l}.x.test ip4:192.0.2.1 -all')
  const found = await check(zone, { from: 'j\u00f6rg@b.test' })
  t.equal(found.result, 'pass')
  t.notOk(found.asked.some((question) => question.endsWith('x.test')))
})

t.test('a query that is not answered in time is a temperror', async (t) => {
  t.equal((await check({ 'b.test': 'silence' }, {}, 5)).result, 'temperror')
  t.equal((await check(record('v=spf1 a:c.test -all', { 'c.test': 'silence' }), {}, 5)).result, 'temperror')
})

/** The names queried over the wire, an octet a character, and the result of the record. */
const oddNames: readonly (readonly [record: string, asked: string, from?: string])[] = [
  ['v=spf1 mx:foo:bar/baz.test -all', 'A foo:bar/baz.test'],
  ['v=spf1 a:foo:bar/baz.test -all', 'A foo:bar/baz.test'],
  ['v=spf1 mx:mail.test -all', 'A odd:one two\xff.mail.test'],
  ['v=spf1 exists:%{l}.x.test -all', 'A "joe smith".x.test', '"joe smith"@b.test'],
  ['v=spf1 exists:%{l}.x.test -all', 'A "joe:smith@work".x.test', '"joe:smith@work"@b.test'],
  ['v=spf1 exists:%_%{d}.x.test -all', 'A  b.test.x.test'],
]

t.test('names of DNS are octets: any name of a record or a macro is queried', async (t) => {
  for (const [text, expected, from = 'a@b.test'] of oddNames) {
    const answers: Record<string, readonly DnsRecord[]> = {
      'TXT b.test': [{ type: 'TXT', ttl: 60, strings: [text] }],
      'MX foo:bar/baz.test': [{ type: 'MX', ttl: 60, preference: 1, value: 'foo:bar/baz.test' }],
      'MX mail.test': [{ type: 'MX', ttl: 60, preference: 1, value: 'Odd:one two\xff.mail.test' }],
      [expected]: [{ type: 'A', ttl: 60, value: '192.0.2.1' }],
    }
    const server = await dnsServer((question) => answers[question] ?? 'NXDOMAIN')
    t.teardown(() => server.close())
    const settings = { ...defaultResolverSettings, servers: dnsServers(server.address) }
    const resolver = openResolver(settings, () => 0, new AbortController().signal)
    const questions = new MessageQueries(resolver, { perQuery: 5_000, perMessage: 10_000 }, () => 0)
    const connection = { clientAddress: '192.0.2.1', helo: 'client.test', envelopeFrom: from, hostname: 'mx.test' }
    const { verdict } = await checkSpf(connection, questions.createResolver(120), 10_000)
    t.equal(verdict.result, 'pass', `${text} from ${from}: ${server.queries.join(', ')}`)
  }
})

t.test(
  'what was found about one sender holds for others of the domain, unless the policy reads the local part',
  async (t) => {
    const rows: readonly (readonly [policy: string, holdsForOthers: boolean])[] = [
      ['v=spf1 +all', true],
      ['v=spf1 ip4:192.0.2.1 -all', true],
      ['v=spf1 ~all', true],
      ['v=spf1 ?all', true],
      ['v=spf1 exists:%{d}.x.test ~all', true],
      ['v=spf1 include:none.test -all', true],
      ['v=spf1 nonsense', true],
      ['hello', true],
      ['v=spf1 -all', false],
      ['v=spf1 -all exp=why.test', false],
      ['v=spf1 exists:%{l}.x.test ?all', false],
      ['v=spf1 exists:%{s}.x.test ~all', false],
      ['v=spf1 include:deep.test ~all', false],
    ]
    const senders = ['a@b.test', 'bounce-77@b.test', 'Ä.ö@b.test', 'b.test@b.test', '"x@y"@b.test']
    const zone: RecordZone = {
      'deep.test': { TXT: ['v=spf1 exists:%{L}.x.test -all'] },
      'why.test': { TXT: ['%{s} at %{t}'] },
    }
    for (const [policy, holdsForOthers] of rows) {
      const finding = async (envelopeFrom: string) => {
        const connection = { clientAddress: '192.0.2.1', helo: 'client.test', envelopeFrom, hostname: 'mx.test' }
        const limits = { perQuery: 1_000, perMessage: 10_000 }
        const questions = new MessageQueries(recordZone(record(policy, zone)), limits, () => 0)
        const found = await checkSpf(connection, questions.createResolver(120), 10_000)
        return { connection, found, key: toSpfKey(connection) }
      }
      const [first = 'a@b.test', ...others] = senders
      const one = await finding(first)
      t.equal(one.found.reasonParts !== null, holdsForOthers, policy)
      t.same(toSpfVerdict(one.found, one.connection), one.found.verdict)
      if (!holdsForOthers) continue
      for (const sender of others) {
        const other = await finding(sender)
        t.equal(one.key, other.key)
        t.same(toSpfVerdict(one.found, other.connection), other.found.verdict, `${policy} from ${sender}`)
      }
    }
    const hereby = { clientAddress: '192.0.2.1', helo: 'client.test', envelopeFrom: 'a@b.test', hostname: 'mx.test' }
    for (const change of [
      { clientAddress: '192.0.2.2' },
      { helo: 'x.test' },
      { envelopeFrom: '' },
      { hostname: 'y.test' },
    ])
      t.not(toSpfKey({ ...hereby, ...change }), toSpfKey(hereby))
  },
)
