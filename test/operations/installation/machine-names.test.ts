/** What the machine and DNS say about a machine's names, with literal zones. */
import type { NetworkInterfaceInfo } from 'node:os'
import t from 'tap'
import {
  type MachineNames,
  readMachineNames,
  toInternetName,
} from '../../../src/operations/installation/machine-names.js'
import { type Zone, zoneResolver } from '../../helpers/dns/zone-resolver.js'

function networkInterface(address: string, internal = false): NetworkInterfaceInfo {
  const rest = { netmask: '', mac: '', internal, cidr: null }
  return address.includes(':') ? { ...rest, address, family: 'IPv6', scopeid: 0 } : { ...rest, address, family: 'IPv4' }
}

const own = networkInterface('93.184.216.34')
const zone: Zone = {
  'mail.example.net': { addresses: ['93.184.216.34'] },
  '34.216.184.93.in-addr.arpa': { PTR: ['mail.example.net', 'www.example.net'] },
  'www.example.net': { addresses: ['93.184.216.99'] },
  'example.net': {
    mx: [
      [20, 'backup.example.org'],
      [10, 'mx.example.org'],
    ],
  },
}

function read(hostname: string, interfaces: readonly NetworkInterfaceInfo[], names = zone): Promise<MachineNames> {
  return readMachineNames({ hostname, interfaces, resolver: zoneResolver(names) })
}

t.test('a machine with a public address', async (t) => {
  const loopback = networkInterface('127.0.0.1', true)
  t.same(await read('mail.example.net', [loopback, networkInterface('10.0.0.5'), own]), {
    hostname: 'mail.example.net',
    hostnameAddresses: ['93.184.216.34'],
    addresses: [
      {
        address: '93.184.216.34',
        reverse: [
          { name: 'mail.example.net', confirmed: true },
          { name: 'www.example.net', confirmed: false },
        ],
      },
    ],
    behindNat: false,
    hasIpv6: false,
    domain: 'example.net',
    exchanges: ['mx.example.org', 'backup.example.org'],
    unanswered: false,
  })
})

t.test('behind a NAT the address is the one that DNS has for the name', async (t) => {
  const names = await read('mail.example.net', [networkInterface('10.0.0.5')])
  t.match(names, { behindNat: true, addresses: [{ address: '93.184.216.34' }] })
})

t.test('a host without a name takes its domain from the reverse name', async (t) => {
  t.match(await read('debian', [own]), { hostname: null, domain: 'example.net' })
})

t.test('IPv6 counts only if other machines reach it', async (t) => {
  t.equal((await read('mail.example.net', [own, networkInterface('fe80::1')])).hasIpv6, false)
  const names = await read('mail.example.net', [own, networkInterface('2001:470::5')])
  t.equal(names.hasIpv6, true)
  t.same(
    names.addresses.map(({ address }) => address),
    ['93.184.216.34', '2001:470::5'],
  )
})

t.test('without an answer the parts are empty, and it is said', async (t) => {
  const silent: Zone = {
    'mail.example.net': 'failure',
    'example.net': 'failure',
    '34.216.184.93.in-addr.arpa': 'failure',
  }
  const names = await read('mail.example.net', [own], silent)
  t.match(names, { unanswered: true, exchanges: [], hostnameAddresses: [] })
  t.same(names.addresses, [{ address: '93.184.216.34', reverse: [] }])
})

t.test('a null MX is no exchange', async (t) => {
  t.same((await read('mail.example.net', [own], { 'example.net': { mx: [[0, '']] } })).exchanges, [])
})

t.test('names that the Internet could know', async (t) => {
  for (const [text, expected] of [
    ['mail.example.net', 'mail.example.net'],
    ['Mail.Example.NET.\n', 'mail.example.net'],
    ['debian', null],
    ['debian.local', null],
    ['localhost.localdomain', null],
    ['vm.europe-west1.internal', null],
    ['', null],
    ['not a name.example', null],
    ['192.0.2.1', null],
  ] as const) {
    t.equal(toInternetName(text), expected, text)
  }
})
