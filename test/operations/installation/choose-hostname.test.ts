/** The name of a new installation: a table of machines. */
import t from 'tap'
import { chooseHostname, hasReverseName } from '../../../src/operations/installation/choose-hostname.js'
import type { MachineNames, PublicAddress } from '../../../src/operations/installation/machine-names.js'

const nothing: MachineNames = {
  hostname: null,
  hostnameAddresses: [],
  addresses: [],
  behindNat: false,
  hasIpv6: false,
  domain: null,
  exchanges: [],
  unanswered: false,
}

function reverse(address: string, ...names: readonly string[]): PublicAddress {
  return { address, reverse: names.map((name) => ({ name, confirmed: true })) }
}

const unconfirmed: PublicAddress = {
  address: '93.184.216.34',
  reverse: [{ name: 'mail.example.net', confirmed: false }],
}

const cases: readonly (readonly [what: string, machine: Partial<MachineNames>, name: string | null])[] = [
  ['no name at all', {}, null],
  ['the name of the host alone', { hostname: 'srv1.example.net' }, 'srv1.example.net'],
  [
    'the reverse name that is the name of the host, among others',
    { hostname: 'b.example.net', addresses: [reverse('93.184.216.34', 'a.example.net', 'b.example.net')] },
    'b.example.net',
  ],
  [
    'the reverse name that is an MX of the domain',
    {
      hostname: 'srv1.example.net',
      exchanges: ['mx.example.net'],
      addresses: [reverse('93.184.216.34', 'a.example.net', 'mx.example.net')],
    },
    'mx.example.net',
  ],
  [
    'a reverse name before the name of the host',
    { hostname: 'srv1.example.net', addresses: [reverse('93.184.216.34', 'mail.example.net')] },
    'mail.example.net',
  ],
  [
    'the name of the host before a reverse name that does not lead back',
    { hostname: 'srv1.example.net', addresses: [unconfirmed] },
    'srv1.example.net',
  ],
  [
    'the name of the host before one that the provider made of the address',
    { hostname: 'mail.example.net', addresses: [reverse('93.184.216.34', 'static.34.216.184.93.clients.example.org')] },
    'mail.example.net',
  ],
  [
    'none, if there is only one that the provider made of the address',
    { addresses: [reverse('93.184.216.34', 'ec2-93-184-216-34.compute.example.org')] },
    null,
  ],
  ['the same with IPv6', { addresses: [reverse('2001:470::abcd:12', 'host-abcd-0012.example.org')] }, null],
  [
    'a name with a number that is not the address',
    { addresses: [reverse('93.184.216.34', 'mx34.example.net')] },
    'mx34.example.net',
  ],
]

for (const [what, machine, name] of cases) {
  t.test(what, async (t) => {
    t.equal(chooseHostname({ ...nothing, ...machine })?.name ?? null, name)
  })
}

t.test('a reverse name counts only if it leads back', async (t) => {
  t.equal(hasReverseName(reverse('93.184.216.34', 'mail.example.net'), 'mail.example.net'), true)
  t.equal(hasReverseName(reverse('93.184.216.34', 'mail.example.net'), 'www.example.net'), false)
  t.equal(hasReverseName(unconfirmed, 'mail.example.net'), false)
})
