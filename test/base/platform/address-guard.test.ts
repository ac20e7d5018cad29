import fc from 'fast-check'
import t from 'tap'
import { createAddressGuard } from '../../../src/base/platform/address-guard.js'
import { networks } from '../../helpers/config-values.js'

const mayDial = createAddressGuard([])

t.test('public unicast addresses pass', async (t) => {
  for (const address of ['8.8.8.8', '193.0.6.139', '2606:4700::1', '2a00:1450:4001::1a'])
    t.ok(mayDial(address), address)
})

t.test('addresses that lead inside, nowhere or somewhere in disguise are refused', async (t) => {
  const refused = [
    ...['10.0.0.1', '172.16.0.1', '192.168.1.1', '127.0.0.1', '127.8.8.8', '0.0.0.0', '0.1.2.3', '169.254.169.254'],
    ...['100.64.0.1', '100.100.100.200', '168.63.129.16', '224.0.0.1', '240.0.0.1', '255.255.255.255', '198.18.0.1'],
    ...['192.0.0.8', '192.0.2.1', '198.51.100.1', '203.0.113.1', '192.88.99.1'],
    ...['::', '::1', 'fe80::1', 'fe80::1%eth0', 'fec0::1', 'fc00::1', 'fd00:ec2::254', 'ff02::1', '100::1'],
    ...['::ffff:127.0.0.1', '::ffff:8.8.8.8', '::8.8.8.8', '::ffff:0:8.8.8.8', '64:ff9b::7f00:1', '64:ff9b:1::1'],
    ...['2002:7f00:1::', '2001:0:1::', '2001:db8::1', '3fff::1', '5f00::1', '2001:20::1', '4000::1'],
  ]
  for (const address of refused) t.notOk(mayDial(address), address)
})

t.test('what is no address is refused', async (t) => {
  for (const text of ['', 'localhost', '8.8.8.8.8', '8.8.8.8:25', '[::1]', 'b.test']) t.notOk(mayDial(text), text)
})

t.test('allowed networks pass, and nothing beside them', async (t) => {
  const guard = createAddressGuard(networks('10.1.0.0/16', 'fd00::/8', '127.0.0.1', '::1'))
  for (const address of ['10.1.2.3', 'fd12::1', '127.0.0.1', '::1', '8.8.8.8']) t.ok(guard(address), address)
  for (const address of ['10.2.0.1', 'fc00::1', '127.0.0.2', '::2', '192.168.1.1']) t.notOk(guard(address), address)
})

t.test('a mapped address passes where its IPv4 address is allowed', async (t) => {
  t.ok(createAddressGuard(networks('10.0.0.0/8'))('::ffff:10.0.0.1'))
  t.notOk(createAddressGuard(networks('10.0.0.0/8'))('::ffff:11.0.0.1'))
})

t.test('no text makes it throw, and no IPv4 address passes mapped into IPv6', async () => {
  fc.assert(fc.property(fc.oneof(fc.string(), fc.ipV4(), fc.ipV6()), (text) => typeof mayDial(text) === 'boolean'))
  fc.assert(fc.property(fc.ipV4(), (address) => !mayDial(`::ffff:${address}`)))
})
