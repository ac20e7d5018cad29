/** The keys by which clients are counted. */

import t from 'tap'
import { addressKeyOf, networkKeyOf } from '../../../../src/base/platform/connections/client-address.js'

t.test('an IPv4 client counts by its address, an IPv6 client by its /64', async (t) => {
  t.equal(addressKeyOf('192.0.2.1'), '192.0.2.1')
  t.equal(addressKeyOf('::ffff:192.0.2.1'), '192.0.2.1')
  t.equal(addressKeyOf('2001:db8:1:2:3:4:5:6'), addressKeyOf('2001:db8:1:2::9'))
  t.not(addressKeyOf('2001:db8:1:2::9'), addressKeyOf('2001:db8:1:3::9'))
  t.equal(addressKeyOf('fe80::1%eth0'), addressKeyOf('fe80::2%eth0'))
  t.equal(addressKeyOf(''), '')
  t.equal(networkKeyOf('192.0.2.200'), networkKeyOf('::ffff:192.0.2.1'))
  t.not(networkKeyOf('192.0.2.200'), networkKeyOf('192.0.3.200'))
  t.equal(networkKeyOf('2001:db8:1:2::9'), networkKeyOf('2001:db8:1:ffff::1'))
  t.not(networkKeyOf('2001:db8:1:2::9'), networkKeyOf('2001:db8:2:2::9'))
  t.equal(networkKeyOf('nowhere'), null)
})
