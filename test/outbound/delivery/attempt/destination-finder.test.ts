import t from 'tap'
import { parseDomainName } from '../../../../src/base/mail/address.js'
import {
  type DestinationDeps,
  DestinationFinder,
} from '../../../../src/outbound/delivery/attempt/destination-finder.js'
import type { Destination } from '../../../../src/outbound/delivery/hosts/destination.js'
import { networks, routes as toRoutes } from '../../../helpers/config-values.js'
import { type Zone, zoneResolver } from '../../../helpers/dns/zone-resolver.js'

interface Changes {
  readonly routes?: Readonly<Record<string, string>>
  readonly allowed?: readonly string[]
  readonly receives?: (domain: string) => boolean
  readonly security?: DestinationDeps['security']
  readonly random?: DestinationDeps['random']
  readonly resolver?: DestinationDeps['resolver']
}

function find(domain: string, zone: Zone, changes: Changes = {}): Promise<Destination> {
  const { routes = {}, allowed = [], receives = () => false, security = null, random = () => 0 } = changes
  const settings = { routes: toRoutes(routes), allowed_private_networks: networks(...allowed), port: 25 }
  const finder = new DestinationFinder({
    resolver: changes.resolver ?? zoneResolver(zone),
    settings: () => settings,
    random,
    ownNames: new Set(['mail.own.test']),
    receiving: { receives: async (domain) => receives(domain) },
    security,
    simulatorDomain: parseDomainName('simulator.own.test'),
  })
  return finder.find(parseDomainName(domain))
}

/** `mx address`, in the order in which they are to be tried. */
function namesOf(destination: Destination): readonly string[] {
  return destination.kind === 'hosts' ? destination.hosts.map(({ mx, address }) => `${mx} ${address}`) : []
}

const refused = { kind: 'refused', recipientsFault: false }

t.test('MX hosts are tried by preference, each with IPv4 and IPv6 in turn', async (t) => {
  const found = await find('b.test', {
    'b.test': {
      mx: [
        [20, 'mx2.b.test'],
        [10, 'mx1.b.test'],
      ],
    },
    'mx1.b.test': { addresses: ['2600::1', '8.8.1.1', '2600::2', '8.8.1.2', '8.8.1.3'] },
    'mx2.b.test': { addresses: ['8.8.2.1'] },
  })
  t.strictSame(namesOf(found), [
    ...['mx1.b.test 8.8.1.1', 'mx1.b.test 2600::1', 'mx1.b.test 8.8.1.2', 'mx1.b.test 2600::2', 'mx1.b.test 8.8.1.3'],
    'mx2.b.test 8.8.2.1',
  ])
  t.match(found, { hosts: [{ port: 25, tls: 'opportunistic', auth: null, final: true }] })
})

t.test('hosts of equal preference are shuffled', async (t) => {
  const zone: Zone = {
    'b.test': {
      mx: [
        [10, 'a.b.test'],
        [10, 'b.b.test'],
        [10, 'c.b.test'],
        [20, 'last.b.test'],
      ],
    },
    'a.b.test': { addresses: ['8.8.0.1'] },
    'b.b.test': { addresses: ['8.8.0.2'] },
    'c.b.test': { addresses: ['8.8.0.3'] },
    'last.b.test': { addresses: ['8.8.0.4'] },
  }
  const order = async (random: number): Promise<string> =>
    namesOf(await find('b.test', zone, { random: () => random }))
      .map((name) => name.slice(0, 1))
      .join('')
  t.equal(await order(0), 'abcl')
  t.equal(await order(0.99), 'cbal')
  t.equal(await order(0.25), 'bacl')
})

t.test('without MX records the domain itself is the host', async (t) => {
  t.strictSame(namesOf(await find('b.test', { 'b.test': { addresses: ['8.8.0.1'] } })), ['b.test 8.8.0.1'])
})

t.test('a null MX is refused, and suppresses', async (t) => {
  const found = await find('b.test', { 'b.test': { mx: [[0, '']], addresses: ['8.8.0.1'] } })
  t.match(found, { kind: 'refused', reason: 'null-mx', status: '5.1.10', recipientsFault: true })
})

t.test('a domain that does not exist, or takes no mail, is refused and suppresses nothing', async (t) => {
  t.match(await find('b.test', {}), { ...refused, reason: 'bad-domain', status: '5.1.2' })
  t.match(await find('b.test', { 'b.test': {} }), { ...refused, reason: 'bad-domain', status: '5.1.2' })
})

t.test('MX hosts that are no names are skipped', async (t) => {
  const zone: Zone = {
    'b.test': {
      mx: [
        [1, '8.8.0.9'],
        [2, 'not a name'],
        [3, ''],
        [10, 'mx.b.test'],
      ],
    },
    'mx.b.test': { addresses: ['8.8.0.1'] },
  }
  t.strictSame(namesOf(await find('b.test', zone)), ['mx.b.test 8.8.0.1'])
  t.match(
    await find('b.test', {
      'b.test': {
        mx: [
          [1, '8.8.0.9'],
          [2, ''],
        ],
      },
    }),
    { ...refused, status: '5.4.4' },
  )
})

t.test('as an MX host ourselves, we deliver to better ones alone', async (t) => {
  const mx: Zone[string] = {
    mx: [
      [10, 'best.b.test'],
      [20, 'mail.own.test'],
      [20, 'equal.b.test'],
      [30, 'worse.b.test'],
    ],
  }
  const addresses = { addresses: ['8.8.0.1'] }
  const zone: Zone = { 'b.test': mx, 'best.b.test': addresses, 'equal.b.test': addresses, 'worse.b.test': addresses }
  t.strictSame(namesOf(await find('b.test', zone)), ['best.b.test 8.8.0.1'])
  const loop = await find('b.test', {
    'b.test': {
      mx: [
        [10, 'MAIL.own.test'],
        [20, 'worse.b.test'],
      ],
    },
  })
  t.match(loop, { ...refused, reason: 'routing-loop', status: '5.4.6' })
  const local: Zone = { 'b.test': { mx: [[10, 'mail.own.test']] }, 'mail.own.test': { addresses: ['8.8.1.1'] } }
  t.strictSame(namesOf(await find('b.test', local, { receives: (domain) => domain === 'b.test' })), [
    'mail.own.test 8.8.1.1',
  ])
  t.match(await find('b.test', local, { receives: () => false }), { reason: 'routing-loop' })
})

t.test('a failing DNS is temporary', async (t) => {
  const temporary = { kind: 'temporary', reason: 'dns', response: /SERVFAIL/ }
  t.match(await find('b.test', { 'b.test': 'failure' }), temporary)
  t.match(await find('b.test', { 'b.test': { addresses: 'failure' } }), temporary)
  const zone: Zone = {
    'b.test': {
      mx: [
        [1, 'gone.b.test'],
        [2, 'mx.b.test'],
      ],
    },
    'mx.b.test': 'failure',
  }
  t.match(await find('b.test', zone), temporary)
})

t.test('one MX host with an address is enough', async (t) => {
  const zone: Zone = {
    'b.test': {
      mx: [
        [1, 'gone.b.test'],
        [2, 'broken.b.test'],
        [3, 'mx.b.test'],
      ],
    },
    'broken.b.test': 'failure',
    'mx.b.test': { addresses: ['8.8.0.1'] },
  }
  t.strictSame(namesOf(await find('b.test', zone)), ['mx.b.test 8.8.0.1'])
})

t.test('a domain whose MX hosts all have no address is refused', async (t) => {
  const zone: Zone = {
    'b.test': {
      mx: [
        [1, 'gone.b.test'],
        [2, 'mx.b.test'],
      ],
    },
    'mx.b.test': {},
  }
  t.match(await find('b.test', zone), { ...refused, reason: 'bad-domain', status: '5.4.4' })
})

t.test('private addresses are passed over, and refused where there are no others', async (t) => {
  const zone: Zone = {
    'b.test': {
      mx: [
        [1, 'mx.b.test'],
        [2, 'mx2.b.test'],
      ],
    },
    'mx.b.test': { addresses: ['127.0.0.1', '::ffff:8.8.8.8', '8.8.0.1'] },
    'mx2.b.test': { addresses: ['10.0.0.1'] },
    'c.test': { mx: [[1, 'mx2.b.test']] },
    'd.test': {
      mx: [
        [1, 'mx2.b.test'],
        [2, 'broken.test'],
      ],
    },
    'broken.test': 'failure',
  }
  t.strictSame(namesOf(await find('b.test', zone)), ['mx.b.test 8.8.0.1'])
  const inside = { ...refused, reason: 'private-address', response: /mx2\.b\.test of c\.test points at 10\.0\.0\.1/ }
  t.match(await find('c.test', zone), inside)
  t.match(await find('d.test', zone), { kind: 'temporary' })
  t.strictSame(namesOf(await find('c.test', zone, { allowed: ['10.0.0.0/8'] })), ['mx2.b.test 10.0.0.1'])
})

t.test('no domain gets more than 10 hosts and 20 addresses', async (t) => {
  const names = Array.from({ length: 15 }, (_, at) => `mx${at}.b.test`)
  const zone: Zone = {
    'b.test': { mx: names.map((name, at) => [at, name]) },
    ...Object.fromEntries(
      names.map((name, at) => [name, { addresses: [`8.8.0.${at + 1}`, `8.8.1.${at + 1}`, `8.8.2.${at + 1}`] }]),
    ),
  }
  const resolver = zoneResolver(zone)
  t.equal(namesOf(await find('b.test', zone, { resolver })).length, 20)
  t.equal(resolver.asked.filter((question) => question.startsWith('ADDR')).length, 10)
})

t.test('a route is taken without asking for MX records, wherever it leads', async (t) => {
  const resolver = zoneResolver({ 'relay.test': { addresses: ['10.0.0.1'] } })
  const routes = { 'b.test': '127.0.0.1:2525', '*': 'smtps://u:p@relay.test' }
  t.match(await find('b.test', {}, { resolver, routes }), {
    hosts: [{ mx: '127.0.0.1', address: '127.0.0.1', port: 2525, tls: 'opportunistic', final: true }],
  })
  t.match(await find('c.test', {}, { resolver, routes }), {
    hosts: [{ mx: 'relay.test', address: '10.0.0.1', port: 465, tls: 'implicit', auth: { user: 'u' }, final: false }],
  })
  t.strictSame(resolver.asked, ['ADDR relay.test'])
})

t.test('a route whose host has no address bounces nothing', async (t) => {
  const routes = { '*': 'gone.test:25' }
  t.match(await find('b.test', {}, { routes }), {
    kind: 'temporary',
    reason: 'dns',
    response: /gone\.test.*no such name/,
  })
})
