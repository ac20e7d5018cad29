/** Listings, lists that are closed, and lists that do not answer a resolver: by tables, and with fake lists. */
import t from 'tap'
import type { LookupResult } from '../../../../src/base/platform/dns/resolver.js'
import type { CheckDeps } from '../../../../src/operations/doctor/check.js'
import { blockListChecks, judgeList, judgeListing } from '../../../../src/operations/doctor/checks/block-list-checks.js'
import type { FindingState } from '../../../../src/operations/doctor/finding.js'
import { zoneResolver } from '../../../helpers/dns/zone-resolver.js'
import { testConfig } from '../../../helpers/doctor/test-config.js'

const records = (...found: readonly [string, ...string[]]): LookupResult<string> => ({
  kind: 'records',
  records: found,
})
const none: LookupResult<string> = { kind: 'no-domain' }
const silent: LookupResult<string> = { kind: 'failure', detail: 'SERVFAIL' }

t.test('what an answer about an address means', async (t) => {
  const table: readonly (readonly [LookupResult<string>, FindingState, boolean])[] = [
    [none, 'ok', false],
    [{ kind: 'no-data' }, 'ok', false],
    [silent, 'warn', true],
    [records('127.0.0.2'), 'fail', false],
    [records('127.0.0.10', '127.0.0.4'), 'fail', false],
    [records('127.255.255.254'), 'warn', true],
    [records('127.255.255.255'), 'warn', true],
    [records('198.51.100.1'), 'ok', false],
  ]
  for (const [answer, state, isUndecided] of table) {
    const found = judgeListing('bl.test', '192.0.2.1', answer)
    t.match(found, { state, subject: '192.0.2.1 at bl.test' }, JSON.stringify(answer))
    t.equal(found.undecided ?? false, isUndecided)
  }
  t.match(judgeListing('bl.test', '93.184.216.34', records('127.0.0.2')).remedy, [
    /TXT 34\.216\.184\.93\.bl\.test/,
    /./,
  ])
})

t.test('which lists can be used', async (t) => {
  const table: readonly (readonly [LookupResult<string>, LookupResult<string>, RegExp | null])[] = [
    [records('127.0.0.2'), none, null],
    [records('127.0.0.2'), records('127.0.0.2'), /every address/],
    [none, none, /test entry/],
    [records('203.0.113.9'), none, /test entry/],
    [silent, silent, /SERVFAIL/],
    [records('127.255.255.254'), none, /does not answer this resolver/],
    [records('127.255.255.254'), records('127.255.255.254'), /does not answer this resolver/],
  ]
  for (const [listed, unlisted, text] of table) {
    const found = judgeList('bl.test', listed, unlisted)
    if (text === null) t.equal(found, null)
    else t.match(found, { state: 'warn', subject: 'bl.test', text })
  }
})

t.test('configured lists and those of port 25 are asked about each address', async (t) => {
  const alive = { '2.0.0.127.a.test': { addresses: ['127.0.0.2'] }, '2.0.0.127.b.test': { addresses: ['127.0.0.2'] } }
  const resolver = zoneResolver({ ...alive, '34.216.184.93.b.test': { addresses: ['127.0.0.3'] }, 'c.test': 'failure' })
  const config = testConfig({
    service: { public_addresses: ['93.184.216.34'] },
    inbound: { dnsbl: [{ zone: 'a.test' }, { zone: 'b.test' }] },
    doctor: { block_lists: ['b.test', 'dead.test'] },
  })
  const found = await blockListChecks[0]?.run({ config, resolver, ownAddresses: [] } as unknown as CheckDeps)
  t.match(found, [
    { state: 'ok', subject: '93.184.216.34 at a.test' },
    { state: 'fail', subject: '93.184.216.34 at b.test' },
    { state: 'warn', subject: 'dead.test', undecided: true },
  ])
})
