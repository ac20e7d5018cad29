/** Refusals that concern IPv6 and nothing else. */
import t from 'tap'
import { isIpv6Refusal } from '../../../../src/outbound/delivery/hosts/ipv6-refusal.js'

const over6 = { address: '2001:db8::7' }

t.test('a reply is about IPv6 if it names it and a rule about the sending side', async (t) => {
  const table: readonly (readonly [number, string | null, string, boolean])[] = [
    [550, '5.7.1', '[2001:db8::1] This message does not meet IPv6 sending guidelines regarding PTR records', true],
    [421, '4.7.0', 'IPv6 addresses need a reverse name', true],
    [554, null, 'no PTR record for your IPv6 address', true],
    [550, '5.1.1', 'no such user; try ipv6', false],
    [550, '5.7.1', 'rejected by policy', false],
    [250, '2.0.0', 'IPv6 PTR is fine', false],
  ]
  for (const [code, enhanced, text, expected] of table) {
    t.equal(isIpv6Refusal(over6, { code, enhanced, text }), expected, text)
    t.equal(isIpv6Refusal({ address: '192.0.2.7' }, { code, enhanced, text }), false, 'not over IPv4')
  }
})
