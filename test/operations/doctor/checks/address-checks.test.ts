/** What reverse names and the EHLO name are worth, by tables; and the questions that are asked for them. */
import t from 'tap'
import { parseDomainName } from '../../../../src/base/mail/address.js'
import type { LookupResult } from '../../../../src/base/platform/dns/resolver.js'
import type { CheckDeps } from '../../../../src/operations/doctor/check.js'
import {
  addressChecks,
  judgeHelo,
  judgeReverseName,
  judgeSources,
} from '../../../../src/operations/doctor/checks/address-checks.js'
import type { FindingState } from '../../../../src/operations/doctor/finding.js'
import { zoneResolver } from '../../../helpers/dns/zone-resolver.js'
import { testConfig } from '../../../helpers/doctor/test-config.js'

const hostname = parseDomainName('mail.example.net')
const records = (...found: readonly [string, ...string[]]): LookupResult<string> => ({
  kind: 'records',
  records: found,
})
const none: LookupResult<string> = { kind: 'no-domain' }
const silent: LookupResult<string> = { kind: 'failure', detail: 'TIMEOUT' }

t.test('a reverse name', async (t) => {
  type Names = readonly (readonly [name: string, addresses: LookupResult<string>])[]
  const table: readonly (readonly [LookupResult<string>, Names, FindingState, RegExp])[] = [
    [none, [], 'fail', /no reverse name/],
    [{ kind: 'no-data' }, [], 'fail', /no reverse name/],
    [silent, [], 'warn', /TIMEOUT/],
    [records('mail.example.net'), [['mail.example.net', records('192.0.2.1')]], 'ok', /->/],
    [records('Mail.Example.net'), [['Mail.Example.net', records('192.0.2.9', '192.0.2.1')]], 'ok', /->/],
    [records('host.test'), [['host.test', records('192.0.2.1')]], 'warn', /the EHLO name is mail\.example\.net/],
    [records('host.test'), [['host.test', records('192.0.2.2')]], 'fail', /does not lead back/],
    [records('host.test'), [['host.test', none]], 'fail', /does not lead back/],
    [records('host.test'), [['host.test', silent]], 'warn', /no answer/],
  ]
  for (const [names, confirmed, state, text] of table) {
    const found = judgeReverseName({
      ...{ address: '192.0.2.1', reversed: '1.2.0.192.in-addr.arpa', hostname, names },
      confirmed: confirmed.map(([name, addresses]) => ({ name, addresses })),
    })
    t.match(found, { state, text, subject: '192.0.2.1' })
    t.equal(found.undecided ?? false, /answer/.test(found.text), found.text)
    if (state === 'fail') t.match(found.remedy[0], '1.2.0.192.in-addr.arpa. PTR mail.example.net.')
  }
})

t.test('the EHLO name', async (t) => {
  const table: readonly (readonly [string, LookupResult<string>, readonly string[], FindingState, RegExp])[] = [
    ['localhost', none, [], 'fail', /not a full host name/],
    ['mail.example.net', none, ['192.0.2.1'], 'fail', /has no address/],
    ['mail.example.net', silent, ['192.0.2.1'], 'warn', /no answer/],
    ['mail.example.net', records('93.184.216.34'), ['93.184.216.34'], 'ok', /leads to/],
    ['mail.example.net', records('93.184.216.34'), ['2606:2800:220::1'], 'warn', /2606:2800:220::1/],
    ['mail.example.net', records('127.0.1.1'), [], 'fail', /no other server can reach/],
  ]
  for (const [name, lookup, sources, state, text] of table) {
    t.match(judgeHelo(parseDomainName(name), lookup, sources), [{ state, text }], `${name} ${state}`)
  }
})

t.test('source addresses must be those of this machine', async (t) => {
  const config = testConfig({ outbound: { source_addresses: ['192.0.2.1', '93.184.216.34'] } })
  const found = judgeSources({ config, ownAddresses: ['93.184.216.34', '127.0.0.1'] })
  t.match(found, [
    { state: 'fail', subject: '192.0.2.1' },
    { state: 'ok', text: '93.184.216.34' },
  ])
  t.match(judgeSources({ config: testConfig({}), ownAddresses: ['10.0.0.1', '127.0.0.1'] }), [{ state: 'warn' }])
})

t.test('each source address is asked about, IPv6 by its nibbles', async (t) => {
  const resolver = zoneResolver({
    '34.216.184.93.in-addr.arpa': { PTR: ['h.test'] },
    'h.test': { addresses: ['93.184.216.34'] },
  })
  const config = testConfig({ service: { public_addresses: ['93.184.216.34', '2606:2800:220::1'] } })
  const check = addressChecks.find(({ name }) => name === 'ptr')
  const found = await check?.run({ config, resolver, ownAddresses: [] } as unknown as CheckDeps)
  t.match(found, [
    { state: 'warn', subject: '93.184.216.34' },
    { state: 'fail', subject: '2606:2800:220::1' },
  ])
  t.ok(resolver.asked.includes('PTR 1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.2.2.0.0.0.8.2.6.0.6.2.ip6.arpa'))
})

t.test('an address with an EHLO name of its own is compared with that name', async (t) => {
  const resolver = zoneResolver({
    '34.216.184.93.in-addr.arpa': { PTR: ['mail2.test'] },
    'mail2.test': { addresses: ['93.184.216.34'] },
  })
  const config = testConfig({ outbound: { sources: [{ address: '93.184.216.34', hello: 'mail2.test' }] } })
  const run = (name: string): unknown =>
    addressChecks
      .find((check) => check.name === name)
      ?.run({ config, resolver, ownAddresses: ['93.184.216.34'] } as unknown as CheckDeps)
  t.match(await run('ptr'), [{ state: 'ok', subject: '93.184.216.34' }])
  t.match(await run('helo'), [{ state: 'ok', subject: 'mail2.test' }])
  t.match(await run('source'), [{ state: 'ok' }])
})
