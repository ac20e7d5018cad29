/** Certificates of an ACME server: which of them need attention, and what their findings say. */
import t from 'tap'
import { parseDomainName } from '../../../../src/base/mail/address.js'
import { storeCertificate, toCertificateRow } from '../../../../src/operations/certificates/certificate-rows.js'
import { NameLeases } from '../../../../src/operations/certificates/name-leases.js'
import { newNameRecord } from '../../../../src/operations/certificates/name-record.js'
import type { CheckDeps } from '../../../../src/operations/doctor/check.js'
import {
  acmeChecks,
  judgeMailHosts,
  judgeName,
  type OrderedCertificate,
} from '../../../../src/operations/doctor/checks/acme-checks.js'
import type { FindingState } from '../../../../src/operations/doctor/finding.js'
import { createSelfSigned } from '../../../helpers/certificates.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { testConfig } from '../../../helpers/doctor/test-config.js'

const DAY = 86_400_000
const now = 100 * DAY
const name = parseDomainName('mail.example.net')

interface Known {
  /** Days until the expiry; null: there is no certificate. */
  readonly left: number | null
  readonly fault?: string
  /** Days of the whole lifetime. */
  readonly lifetime?: number
}

function certificate({ left, fault, lifetime = 90 }: Known): OrderedCertificate {
  const to = now + (left ?? 0) * DAY
  return {
    name,
    facts: left === null ? null : { from: to - lifetime * DAY, to, spread: 0 },
    record: { fault: fault ?? null, nextTryAt: fault === undefined ? 0 : now + DAY },
  }
}

t.test('one name', async (t) => {
  const fault = 'dns: no A record'
  const table: readonly (readonly [Known, FindingState, FindingState, RegExp])[] = [
    [{ left: 60 }, 'ok', 'ok', /^the certificate is valid for 60 days$/],
    [{ left: null }, 'ok', 'ok', /^there is no certificate yet/],
    [
      { left: null, fault },
      'fail',
      'warn',
      /^there is no certificate: dns: no A record, the next try is at 1970-04-12T/,
    ],
    [{ left: 25, fault }, 'warn', 'warn', /^the renewal has failed: dns: .*; the certificate is valid for 25 days$/],
    [
      { left: 80, fault },
      'warn',
      'warn',
      /^the renewal has failed: .*, the next try is at 1970-05-2\dT.*; the certificate is valid for 80 days$/,
    ],
    [{ left: 13, fault }, 'fail', 'warn', /^the certificate expires in 13 days: dns: /],
    [{ left: 13 }, 'fail', 'warn', /^the certificate expires in 13 days$/],
    [{ left: 2, lifetime: 6 }, 'ok', 'ok', /^the certificate is valid for 2 days$/],
    [{ left: 0.5, lifetime: 6 }, 'fail', 'warn', /expires in 0 days/],
    [{ left: -1, fault }, 'fail', 'warn', /^the certificate expired 1 days ago: dns/],
  ]
  for (const [known, service, mailHost, words] of table) {
    const what = JSON.stringify(known)
    const found = judgeName(certificate(known), now, { isService: true, records: [] })
    t.match(found, { subject: name, state: service, text: words }, what)
    t.equal(judgeName(certificate(known), now, { isService: false, records: [] }).state, mailHost, what)
    const remedy =
      service === 'ok' ? [] : [/docs\/certificates\.md/, /^posthorn certificates renew mail\.example\.net /]
    t.match(found.remedy, remedy, what)
    t.equal(found.remedy.length, remedy.length, what)
  }
})

t.test('what mends a fault', async (t) => {
  const records = ['A 192.0.2.1', 'AAAA 2001:db8::1']
  const inDns = [`${name}. A 192.0.2.1`, `${name}. AAAA 2001:db8::1`]
  const table: readonly (readonly [string, readonly (string | RegExp)[]])[] = [
    [`${name} does not exist in DNS`, inDns],
    [`${name} has no A or AAAA record`, inDns],
    [`${name} leads to 192.0.2.9, which is not an address of this machine (service.public_addresses)`, inDns],
    ['connection: dial tcp 192.0.2.1:80: connection refused', [/^nc -vz mail\.example\.net 80 /]],
    ['unauthorized: Timeout during connect (likely firewall problem)', [/^nc -vz /]],
    ['caa: CAA record prevents issuance', [/^dig \+short CAA mail\.example\.net/]],
    ['rateLimited: too many certificates', [/docs\/certificates\.md/]],
  ]
  for (const [fault, expected] of table) {
    const { remedy } = judgeName(certificate({ left: null, fault }), now, { isService: true, records })
    t.match(remedy, [...expected, /^posthorn certificates renew/], fault)
    t.equal(remedy.length, expected.length + 1, fault)
  }
})

t.test('mail hosts that are as they should be are one finding', async (t) => {
  t.same(await judgeMailHosts([], now, []), [])
  const hosts = [certificate({ left: 60 }), certificate({ left: 40 }), certificate({ left: null, fault: 'caa' })]
  t.match(await judgeMailHosts(hosts, now, []), [
    { subject: name, state: 'warn' },
    { subject: 'mail hosts', state: 'ok', text: /^2 of 3 names have .*; the first certificate expires at 1970-05-21T/ },
  ])
  t.match(await judgeMailHosts([certificate({ left: null })], now, []), [
    { state: 'ok', text: '1 of 1 names have a certificate or will get one soon' },
  ])
})

t.test('what is stored is read', async (t) => {
  const { database } = await temporaryDatabase(t)
  const leases = new NameLeases({ ...database, clock: Date.now, holder: 'this' })
  const absent = parseDomainName('mx.example.net')
  for (const one of [name, absent]) await leases.take(one)
  const certificate = storeCertificate(toCertificateRow(name, await createSelfSigned([name])))
  await leases.settleOrder(name, { ...newNameRecord, fault: 'caa: forbidden' }, [certificate])
  await leases.settle(absent, { ...newNameRecord, fault: `${absent} does not exist in DNS` })
  const run = (enabled: boolean) =>
    acmeChecks[0]?.run({
      config: testConfig({
        service: { inbound_mx_host: 'mx.example.net' },
        tls: { acme: { enabled } },
      }),
      clock: () => Date.UTC(2030, 0, 1),
      read: database.read,
      ownAddresses: ['10.0.0.1', '93.184.216.34'],
      signal: new AbortController().signal,
    } as unknown as CheckDeps)
  t.match(await run(true), [
    {
      subject: name,
      state: 'warn',
      text: /^the renewal has failed: caa: forbidden; the certificate is valid for \d+ days$/,
    },
    { subject: absent, state: 'fail', remedy: ['mx.example.net. A 93.184.216.34', /^posthorn certificates renew/] },
  ])
  t.same(await run(false), [])
})
