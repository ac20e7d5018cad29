/** Whether a name leads to this machine. */
import t from 'tap'
import { checkName } from '../../../src/operations/certificates/name-check.js'
import { type Zone, zoneResolver } from '../../helpers/dns/zone-resolver.js'

const name = 'mail.a.test'

function check(zone: Zone, publicAddresses: readonly string[], own: readonly string[]): Promise<string | null> {
  const { resolveAddresses } = zoneResolver(zone)
  return checkName(name, { resolveAddresses, publicAddresses, readOwnAddresses: () => own })
}

t.test('every address must be one of this machine', async (t) => {
  const both = { [name]: { addresses: ['192.0.2.1', '2001:db8::1'] } }
  t.equal(await check(both, ['192.0.2.1', '2001:DB8:0::1'], ['10.0.0.1']), null)
  t.equal(await check(both, ['192.0.2.1'], ['2001:db8::1']), null)
  t.match(await check(both, ['192.0.2.1'], ['10.0.0.1']), /leads to 2001:db8::1, which is not an address/)
  t.match(await check({ [name]: { addresses: ['8.8.8.8'] } }, [], ['9.9.9.9']), /leads to 8\.8\.8\.8/)
})

t.test('behind NAT with an unknown public address, any will do', async (t) => {
  t.equal(await check({ [name]: { addresses: ['8.8.8.8'] } }, [], ['10.0.0.1', '127.0.0.1', 'fe80::1']), null)
})

t.test('without addresses it leads nowhere', async (t) => {
  t.equal(await check({}, [], []), `${name} does not exist in DNS`)
  t.equal(await check({ [name]: {} }, [], []), `${name} has no A or AAAA record`)
  t.equal(await check({ [name]: 'failure' }, [], []), `DNS does not answer for ${name}: SERVFAIL`)
})
