/** Delegation, name servers and records of the service zone, by tables and against a literal zone. */
import t from 'tap'
import type { LookupResult } from '../../../../src/base/platform/dns/resolver.js'
import type { CheckDeps } from '../../../../src/operations/doctor/check.js'
import {
  judgeDelegation,
  judgeNameServer,
  judgeZoneRecords,
  zoneChecks,
} from '../../../../src/operations/doctor/checks/zone-checks.js'
import type { FindingState } from '../../../../src/operations/doctor/finding.js'
import { type Zone, zoneResolver } from '../../../helpers/dns/zone-resolver.js'
import { testConfig } from '../../../helpers/doctor/test-config.js'

const records = (...found: readonly [string, ...string[]]): LookupResult<string> => ({
  kind: 'records',
  records: found,
})
const none: LookupResult<string> = { kind: 'no-domain' }
const silent: LookupResult<string> = { kind: 'failure', detail: 'SERVFAIL' }

t.test('the delegation', async (t) => {
  const settings = { zone: 'm.test', nameservers: ['ns1.m.test', 'ns2.other.test'], addresses: ['192.0.2.1'] }
  const table: readonly (readonly [LookupResult<string>, FindingState])[] = [
    [records('ns1.m.test', 'NS2.Other.test'), 'ok'],
    [records('ns1.m.test', 'ns2.other.test', 'ns3.test'), 'ok'],
    [records('ns1.m.test'), 'fail'],
    [none, 'fail'],
    [silent, 'warn'],
  ]
  for (const [lookup, state] of table) t.equal(judgeDelegation(settings, lookup).state, state)
  t.match(judgeDelegation(settings, none).remedy, [
    /^m\.test\. NS ns1\.m\.test\. /,
    /^m\.test\. NS ns2\.other\.test\. /,
    /^ns1\.m\.test\. A 192\.0\.2\.1 .*glue/,
  ])
  t.match(judgeNameServer('ns', 'm.test', '192.0.2.1', records('ns1.m.test')), { state: 'ok' })
  t.match(judgeNameServer('ns', 'm.test', '192.0.2.1', silent), {
    state: 'fail',
    remedy: [/^dig @192\.0\.2\.1 m\.test/, /./, /./],
  })
})

t.test('records at a name', async (t) => {
  const spf = 'v=spf1 ip4:192.0.2.1 -all'
  const txt = [{ name: 'm.test', ttl: 60, data: { type: 'TXT', text: spf } as const }]
  const mx = [{ name: 'm.test', ttl: 60, data: { type: 'MX', preference: 10, host: 'mx.m.test' } as const }]
  const aaaa = [{ name: 'm.test', ttl: 60, data: { type: 'AAAA', address: '2001:db8::1' } as const }]
  const table: readonly (readonly [
    'TXT' | 'MX' | 'AAAA',
    typeof txt | typeof mx | typeof aaaa,
    LookupResult<string>,
    FindingState,
  ])[] = [
    ['TXT', txt, records(spf), 'ok'],
    ['TXT', txt, records('google-site-verification=x', spf), 'ok'],
    ['TXT', txt, records(spf, 'v=spf1 -all'), 'fail'],
    ['TXT', txt, records('v=spf1 -all'), 'fail'],
    ['TXT', txt, none, 'fail'],
    ['TXT', txt, silent, 'warn'],
    ['MX', mx, records('10 MX.m.test'), 'ok'],
    ['MX', mx, records('20 mx.m.test'), 'fail'],
    ['MX', mx, records('10 mx.m.test', '20 old.test'), 'fail'],
    ['AAAA', aaaa, records('2001:0db8::0001'), 'ok'],
  ]
  for (const [type, expected, lookup, state] of table) {
    const found = judgeZoneRecords({ name: 'm.test', type, records: expected }, lookup)
    t.equal(found.state, state, `${type} ${JSON.stringify(lookup)}`)
  }
  t.same(judgeZoneRecords({ name: 'm.test', type: 'TXT', records: txt }, none).remedy, [
    `m.test. 60 IN TXT "${spf}"`,
    'dig m.test TXT   # shows what DNS has',
  ])
})

t.test('a zone that is right, and one whose server does not answer', async (t) => {
  const config = testConfig({
    service: { public_addresses: ['192.0.2.1'] },
    dns: { nameservers: ['ns.mail.example.net'], caa: ['ca.test'] },
  })
  const host = {
    addresses: ['192.0.2.1'],
    mx: [[10, 'mx.mail.example.net']] as const,
    TXT: ['v=spf1 ip4:192.0.2.1 -all'],
  }
  const right: Zone = {
    'mail.example.net': { ...host, NS: ['ns.mail.example.net'], CAA: ['0 issue "ca.test"'] },
    'mx.mail.example.net': { addresses: ['192.0.2.1'] },
    'ns.mail.example.net': { addresses: ['192.0.2.1'] },
    '_smtp._tls.mail.example.net': { TXT: ['v=TLSRPTv1; rua=mailto:tlsrpt@mail.example.net'] },
    '*._report._dmarc.mail.example.net': { TXT: ['v=DMARC1'] },
    '_dmarc.mail.example.net': { TXT: ['v=DMARC1; p=reject; rua=mailto:dmarc@mail.example.net'] },
  }
  const run = async (zone: Zone, server: Zone) => {
    const asked: string[] = []
    const openServerResolver: CheckDeps['openServerResolver'] = ({ address, port }) => {
      asked.push(`${address}:${port}`)
      return zoneResolver(server)
    }
    const deps = { config, read: null, resolver: zoneResolver(zone), openServerResolver } as unknown as CheckDeps
    const found = await Promise.all(zoneChecks.map((check) => check.run(deps)))
    t.same(asked, ['192.0.2.1:53'])
    return found.flat().filter(({ state }) => state !== 'ok')
  }
  t.same(await run(right, right), [])
  t.match(await run(right, { 'mail.example.net': 'failure' }), [
    { state: 'fail', subject: 'ns.mail.example.net (192.0.2.1)' },
  ])
  const old = { ...right, 'mx.mail.example.net': { addresses: ['198.51.100.1'] } }
  t.match(await run(old, right), [{ state: 'fail', subject: 'mx.mail.example.net A', text: /198\.51\.100\.1/ }])
})
