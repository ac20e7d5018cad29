import t from 'tap'
import {
  containsNetwork,
  isInSomeNetwork,
  isLoopback,
  type Network,
  parseIpAddress,
  parseNetwork,
  reverseAddress,
} from '../../../src/base/platform/ip-address.js'
import { networks } from '../../helpers/config-values.js'

t.test('a network is an address with a prefix, or a single address', async (t) => {
  for (const [text, expected] of [
    ['192.168.1.0/24', '192.168.1.0/24'],
    ['fd00::/8', 'fd00::/8'],
    ['10.0.0.1', '10.0.0.1/32'],
    ['::1', '::1/128'],
  ] as const) {
    t.equal(parseNetwork(text)?.text, expected)
  }
  const refused = [
    '',
    'nonsense',
    'mail.test',
    '10/8',
    '10.0.0.0/33',
    '10.0.0.0/8/8',
    'fe80::1%eth0',
    '::ffff:10.0.0.1',
  ]
  for (const text of refused) t.equal(parseNetwork(text), null, text)
})

t.test('an address is in a network of its own family, and IPv4-mapped IPv6 counts as IPv4', async (t) => {
  t.ok(isInSomeNetwork(networks('192.0.2.0/24', '0.0.0.0/1'), '127.0.0.1'))
  t.ok(isInSomeNetwork(networks('192.0.2.0/24'), '::ffff:192.0.2.7'))
  t.notOk(isInSomeNetwork(networks('192.0.2.0/24'), '2001:db8::1'))
  t.notOk(isInSomeNetwork(networks('::/0'), '192.0.2.1'))
  t.notOk(isInSomeNetwork(networks('0.0.0.0/0'), 'nonsense'))
  t.notOk(isInSomeNetwork([], '192.0.2.1'))
})

t.test('a network contains those that are as narrow or narrower', async (t) => {
  const contains = (...texts: readonly [string, string]): boolean => {
    const [outer, inner] = networks(...texts) as [Network, Network]
    return containsNetwork(outer, inner)
  }
  t.ok(contains('10.0.0.0/8', '10.1.0.0/16'))
  t.ok(contains('10.0.0.0/8', '10.0.0.0/8'))
  t.notOk(contains('10.1.0.0/16', '10.0.0.0/8'))
  t.notOk(contains('::/0', '10.0.0.0/8'))
})

t.test('only an address can be loopback', async (t) => {
  for (const text of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']) t.ok(isLoopback(text), text)
  for (const text of ['128.0.0.1', '::2', 'localhost', '127.1', '']) t.notOk(isLoopback(text), text)
  t.equal(parseIpAddress('::ffff:192.0.2.1')?.toString(), '192.0.2.1')
  t.equal(parseIpAddress('0x7f000001'), null)
})

t.test('addresses are reversed for DNS, IPv6 by its nibbles, and private ones are not', async (t) => {
  t.equal(reverseAddress('198.51.100.7'), null, 'a documentation network is not public')
  t.equal(reverseAddress('8.8.4.1'), '1.4.8.8')
  t.equal(reverseAddress('::ffff:8.8.4.1'), '1.4.8.8')
  t.equal(reverseAddress('2a00:1450:4001::99'), '9.9.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1.0.0.4.0.5.4.1.0.0.a.2')
  for (const address of ['127.0.0.1', '10.1.2.3', '::1', 'fe80::1', 'nonsense', '']) {
    t.equal(reverseAddress(address), null, address)
  }
})
