/** Which records people publish before a domain sends, and who sets each. */
import t from 'tap'
import { parseDomainName } from '../../../../src/base/mail/address.js'
import {
  listDomainRecords,
  listServiceRecords,
  type PublishedRecord,
} from '../../../../src/workspaces/domains/zone/publication.js'
import { toZoneSettings, type ZoneSettings } from '../../../../src/workspaces/domains/zone/zone-records.js'
import { testConfig } from '../../../helpers/doctor/test-config.js'

type Sections = Parameters<typeof testConfig>[0]

const addresses = ['93.184.216.34', '2001:470::5']
const keys = [{ selector: 'service', public_record: 'v=DKIM1; p=AAAA' }]

function settingsOf({ service, ...others }: Sections): ZoneSettings {
  return toZoneSettings(testConfig({ service: { public_addresses: addresses, ...service }, ...others }))
}

function show({ type, name, value, required, set_by: setBy }: PublishedRecord): string {
  return `${required ? 'required' : 'optional'} ${name} ${type} ${value} @ ${setBy}`
}

const pointer = (name: string): readonly string[] => [
  `required 34.216.184.93.in-addr.arpa PTR ${name} @ hosting provider of 93.184.216.34`,
  `required 5.0.0.0.${'0.'.repeat(20)}0.7.4.0.1.0.0.2.ip6.arpa PTR ${name} @ hosting provider of 2001:470::5`,
]

t.test('without a delegation the records of the zone are set by hand, in the zone above it', async (t) => {
  const at = 'DNS provider of example.net'
  const shown = listServiceRecords(settingsOf({}), keys).map(show)
  t.same(shown.slice(0, 2), pointer('mail.example.net'))
  t.same(
    shown.slice(2).filter((line) => line.startsWith('required')),
    [
      `required mail.example.net A 93.184.216.34 @ ${at}`,
      `required mail.example.net AAAA 2001:470::5 @ ${at}`,
      `required mail.example.net MX 10 mx.mail.example.net @ ${at}`,
      `required mail.example.net TXT v=spf1 ip4:93.184.216.34 ip6:2001:470::5 -all @ ${at}`,
      `required mx.mail.example.net A 93.184.216.34 @ ${at}`,
      `required mx.mail.example.net AAAA 2001:470::5 @ ${at}`,
      `required service._domainkey.mail.example.net TXT v=DKIM1; p=AAAA @ ${at}`,
    ],
  )
  for (const name of ['*._report._dmarc', '_dmarc', '_smtp._tls']) {
    t.ok(
      shown.some((line) => line.startsWith(`optional ${name}.mail.example.net TXT `)),
      name,
    )
  }
  t.notMatch(shown.join('\n'), /mail\.mail\./)
})

t.test('with a delegation the zone above has name servers and their addresses alone', async (t) => {
  const shown = listServiceRecords(
    settingsOf({ dns: { nameservers: ['ns1.mail.example.net', 'ns.example.org'] } }),
    keys,
  )
  t.same(shown.slice(2).map(show), [
    'required mail.example.net NS ns1.mail.example.net @ DNS provider of example.net',
    'required mail.example.net NS ns.example.org @ DNS provider of example.net',
    'required ns1.mail.example.net A 93.184.216.34 @ DNS provider of example.net',
    'required ns1.mail.example.net AAAA 2001:470::5 @ DNS provider of example.net',
  ])
})

t.test('a zone that is a registered domain is delegated at its registrar', async (t) => {
  const settings = settingsOf({
    service: { hostname: 'host.example.com', zone: 'example-mail.com', mail_from: 'post@example.com' },
    dns: { nameservers: ['ns1.example-mail.com'] },
  })
  const shown = listServiceRecords(settings, keys).map(show)
  t.same(shown.slice(0, 2), pointer('host.example.com'))
  t.same(shown.slice(2), [
    'required example-mail.com NS ns1.example-mail.com @ registrar of example-mail.com',
    'required ns1.example-mail.com A 93.184.216.34 @ registrar of example-mail.com',
    'required ns1.example-mail.com AAAA 2001:470::5 @ registrar of example-mail.com',
    'required host.example.com A 93.184.216.34 @ DNS provider of example.com',
    'required host.example.com AAAA 2001:470::5 @ DNS provider of example.com',
    'required host.example.com TXT v=spf1 ip4:93.184.216.34 ip6:2001:470::5 -all @ DNS provider of example.com',
    'required service._domainkey.example.com TXT v=DKIM1; p=AAAA @ DNS provider of example.com',
  ])
  t.notMatch(shown.join('\n'), / example\.com (MX|TXT) /, 'the mail of a name outside the zone is left alone')
})

t.test('each source address has the name that its sessions say', async (t) => {
  const settings = settingsOf({
    service: { public_addresses: ['93.184.216.34'] },
    outbound: { sources: [{ address: '93.184.216.35', hello: 'out.mail.example.net' }] } as never,
  })
  const pointers = listServiceRecords(settings, []).filter(({ type }) => type === 'PTR')
  t.same(
    pointers.map(({ name, value }) => [name, value]),
    [
      ['34.216.184.93.in-addr.arpa', 'mail.example.net'],
      ['35.216.184.93.in-addr.arpa', 'out.mail.example.net'],
    ],
  )
})

const row = {
  id: '01a20692-c816-7b9f-bd56-9312268ccd25',
  domain: parseDomainName('news.example.com'),
  inbound: 0,
} as const
const domainKeys = [{ selector: 'dkim1', public_record: 'v=DKIM1; p=BBBB' }]
const label = 'bd569312268ccd25'

t.test('a domain needs three CNAME records, and without a delegation the keys to which they lead', async (t) => {
  const at = 'DNS provider of example.com'
  const shown = listDomainRecords(settingsOf({}), row, domainKeys).map(show)
  t.same(shown.slice(0, 1), [`required posthorn.news.example.com CNAME mail.example.net @ ${at}`])
  t.match(
    shown[1],
    new RegExp(`required dkim1\\._domainkey\\.news\\.example\\.com CNAME dkim1\\..*${label}\\._domainkey\\.mail`),
  )
  t.match(shown[2], /required dkim2\._domainkey\.news\.example\.com CNAME/)
  t.match(
    shown[3],
    /required dkim1\..*\._domainkey\.mail\.example\.net TXT v=DKIM1; p=BBBB @ DNS provider of example\.net/,
  )
  t.same(shown.slice(4), [
    `optional _dmarc.news.example.com TXT v=DMARC1; p=none; rua=mailto:dmarc@mail.example.net @ ${at}`,
    `optional news.example.com MX 10 mx.mail.example.net @ ${at}`,
    `optional _smtp._tls.news.example.com TXT v=TLSRPTv1; rua=mailto:tlsrpt@mail.example.net @ ${at}`,
  ])
  const delegated = listDomainRecords(settingsOf({ dns: { nameservers: ['ns1.mail.example.net'] } }), row, domainKeys)
  t.equal(delegated.filter(({ required }) => required).length, 3)
})

t.test('a mail host that is the name of the server needs no CNAME, which would exclude its addresses', async (t) => {
  const settings = settingsOf({ service: { hostname: 'posthorn.example.com' } })
  const own = listDomainRecords(settings, { ...row, domain: parseDomainName('example.com') }, [])
  t.same(
    own.filter(({ type }) => type === 'CNAME').map(({ name }) => name),
    ['dkim1._domainkey.example.com', 'dkim2._domainkey.example.com'],
  )
  t.ok(listServiceRecords(settings, []).some(({ type, name }) => type === 'MX' && name === 'posthorn.example.com'))
})

t.test('a domain that receives mail needs its MX record; MTA-STS only if the service has a policy', async (t) => {
  const settings = settingsOf({ inbound: { mta_sts: 'testing' } })
  const shown = listDomainRecords(settings, { ...row, inbound: 1 }, []).map(show)
  t.ok(shown.includes('required news.example.com MX 10 mx.mail.example.net @ DNS provider of example.com'))
  t.match(shown.at(-2), /optional _mta-sts\.news\.example\.com CNAME _mta-sts\.mail\.example\.net/)
})

t.test('no name repeats the first label of the zone', async (t) => {
  for (const hostname of ['mail.example.net', 'mx.example.net', 'posthorn.example.net', 'server.example.net']) {
    const settings = settingsOf({ service: { hostname } })
    const all = [...listServiceRecords(settings, keys), ...listDomainRecords(settings, row, domainKeys)]
    for (const { name, value } of all) t.notMatch(`${name} ${value}`, /\b(mail|mx|posthorn)\.\1\./)
  }
})
