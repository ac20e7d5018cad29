/** DNS records to publish, for people and as a zone file. */
import t from 'tap'
import {
  chooseFormat,
  formatForPeople,
  formatMissing,
  formatZoneFile,
} from '../../../../src/operations/cli/command/record-lines.js'
import type { PublishedRecord } from '../../../../src/workspaces/domains/zone/publication.js'

const base = { ttl: 3600, required: true, set_by: 'DNS provider of a.test', purpose: 'the address' }
const key = `v=DKIM1; p=${'A'.repeat(300)}`
const records: readonly PublishedRecord[] = [
  { ...base, type: 'PTR', name: '1.2.0.192.in-addr.arpa', value: 'm.a.test', set_by: 'hosting provider of 192.0.2.1' },
  { ...base, type: 'A', name: 'm.a.test', value: '192.0.2.1' },
  { ...base, type: 'AAAA', name: 'm.a.test', value: '2001:db8::1' },
  { ...base, type: 'MX', name: 'a.test', value: '10 m.a.test', required: false, purpose: 'receive mail' },
  { ...base, type: 'TXT', name: 'k.a.test', value: key, purpose: 'the key' },
  { ...base, type: 'CNAME', name: 'c.b.test', value: 'm.a.test', set_by: 'DNS provider of b.test' },
]

t.test('a zone file has a part for each provider, in which optional records are comments', async (t) => {
  t.same(formatZoneFile(records), [
    '; hosting provider of 192.0.2.1',
    '1.2.0.192.in-addr.arpa. 3600 IN PTR m.a.test.',
    '; DNS provider of a.test',
    'm.a.test. 3600 IN A 192.0.2.1',
    'm.a.test. 3600 IN AAAA 2001:db8::1',
    `k.a.test. 3600 IN TXT "${key.slice(0, 255)}" "${key.slice(255)}"`,
    '; optional: receive mail',
    '; a.test. 3600 IN MX 10 m.a.test.',
    '; DNS provider of b.test',
    'c.b.test. 3600 IN CNAME m.a.test.',
  ])
})

t.test('people see the required records first, with what they give and their state', async (t) => {
  const lines = formatForPeople(records, ({ type }) => (type === 'CNAME' ? 'pending' : ''))
  t.ok(lines.includes(`  k.a.test. TXT "${key}"`), 'in one piece')
  t.same(
    lines.filter((line) => !line.includes('TXT')),
    [
      'Required, at the hosting provider of 192.0.2.1:',
      '  ; the address',
      '  1.2.0.192.in-addr.arpa. PTR m.a.test.',
      '',
      'Required, at the DNS provider of a.test:',
      '  ; the address',
      '  m.a.test. A 192.0.2.1',
      '  m.a.test. AAAA 2001:db8::1',
      '  ; the key',
      '',
      'Required, at the DNS provider of b.test:',
      '  ; the address',
      '  c.b.test. CNAME m.a.test.  (pending)',
      '',
      'Optional, at the DNS provider of a.test:',
      '  ; receive mail',
      '  a.test. MX 10 m.a.test.',
      '',
    ],
  )
})

t.test('the format is one of three, and --json is one of them', async (t) => {
  t.equal(chooseFormat({}), 'text')
  t.equal(chooseFormat({ format: 'zone' }), 'zone')
  t.equal(chooseFormat({ json: true, format: 'json' }), 'json')
  t.throws(() => chooseFormat({ format: 'xml' }), /--format: found "xml", allowed: text, zone, json/)
  t.throws(() => chooseFormat({ json: true, format: 'zone' }), /do not go together/)
})

t.test('a record that is missing has its provider, and a wrong one what was found and what was wanted', async (t) => {
  const record = { ...base, type: 'A', name: 'm.a.test', value: '192.0.2.1' } as const
  t.equal(formatMissing({ record, unanswered: false, found: null }), '  m.a.test. A  (DNS provider of a.test)')
  t.equal(
    formatMissing({ record, unanswered: true, found: null }),
    '  m.a.test. A  (DNS provider of a.test; DNS gave no answer)',
  )
  t.equal(
    formatMissing({ record, unanswered: false, found: '192.0.2.7' }),
    '  m.a.test. A  wrong: found "192.0.2.7", wanted "192.0.2.1"  (DNS provider of a.test)',
  )
})
