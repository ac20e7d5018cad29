/** The addresses of a host that may be dialled, in every spelling and from every answer of DNS. */
import t from 'tap'
import { createAddressGuard } from '../../../../src/base/platform/address-guard.js'
import type { LookupResult } from '../../../../src/base/platform/dns/resolver.js'
import { findHostAddresses, type HostAddresses } from '../../../../src/base/platform/http/host-addresses.js'

function find(url: string, found: LookupResult<string>): Promise<HostAddresses> {
  const rules = { mayConnect: createAddressGuard([]), resolveAddresses: async () => found }
  return findHostAddresses(new URL(url), rules)
}

const none: LookupResult<string> = { kind: 'no-domain' }

t.test('an address as host is judged without a look-up', async (t) => {
  for (const host of [
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '0177.1',
    '[::1]',
    '[::ffff:10.0.0.1]',
    '[64:ff9b::a00:1]',
  ]) {
    t.same(await find(`http://${host}/`, { kind: 'records', records: ['8.8.8.8'] }), { kind: 'refused' }, host)
  }
  t.same(await find('http://8.8.8.8/', none), { kind: 'addresses', addresses: ['8.8.8.8'] })
  t.same(await find('http://[2606:4700::1]/', none), { kind: 'addresses', addresses: ['2606:4700::1'] })
})

t.test('of the addresses of a name those that may be dialled are left', async (t) => {
  const records = (...list: [string, ...string[]]): LookupResult<string> => ({ kind: 'records', records: list })
  t.same(await find('http://a.test/', records('10.0.0.1', '8.8.8.8', '::1')), {
    kind: 'addresses',
    addresses: ['8.8.8.8'],
  })
  t.same(await find('http://a.test/', records('10.0.0.1', '169.254.169.254', 'fd00::1')), { kind: 'refused' })
  t.match(await find('http://a.test/', none), { kind: 'unresolved', reason: 'the host does not exist' })
  t.match(await find('http://a.test/', { kind: 'no-data' }), { kind: 'unresolved', reason: 'the host has no address' })
  t.match(await find('http://a.test/', { kind: 'failure', detail: 'SERVFAIL' }), { reason: /SERVFAIL/ })
})
