/** From which address each host of a destination is called, and what happens where none may be used. */
import t from 'tap'
import { parseAddress, parseDomainName } from '../../../../src/base/mail/address.js'
import { SourceAssigner } from '../../../../src/outbound/delivery/attempt/source-assigner.js'
import type { Destination, Host } from '../../../../src/outbound/delivery/hosts/destination.js'
import type { Outage } from '../../../../src/outbound/delivery/shaping/unreachable-hosts.js'
import type { compilePools } from '../../../../src/outbound/delivery/sources/source-pools.js'
import type { WarmUpKey } from '../../../../src/outbound/delivery/sources/warm-up-store.js'
import type { WarmUpResult } from '../../../../src/outbound/delivery/sources/warm-ups.js'
import type { QueueEntry } from '../../../../src/records/messages/queue/queue.js'
import { routes as toRoutes } from '../../../helpers/config-values.js'
import { hostAt } from '../../../helpers/smtp/sink-client.js'

type PoolSettings = Parameters<typeof compilePools>[0]
type AssignDeps = ConstructorParameters<typeof SourceAssigner>[0]

const entry: QueueEntry = {
  id: 'entry',
  email_id: 'email',
  workspace_id: 'ws_1',
  recipient: parseAddress('bob@b.test'),
  domain: parseDomainName('b.test'),
  priority: 1,
  attempts: 0,
  enqueued_at: 0,
  next_attempt_at: 0,
  leased: 0,
  held: 0,
  noticed: 0,
  last_response: null,
  waits_for: null,
  broadcast_id: null,
}
const [over4, over6] = ['198.51.100.7', '2001:db8::7'].map((address) =>
  hostAt({ port: 25 }, { mx: 'mx1.google.com', address }),
) as [Host, Host]
const toBoth: Destination = { kind: 'hosts', hosts: [over4, over6] }
const to6: Destination = { kind: 'hosts', hosts: [over6] }
const smarthost: Destination = { kind: 'hosts', hosts: [{ ...over4, mx: 'smarthost.test', final: false }] }

const source = (
  address: string,
  over: Partial<PoolSettings['sources'][number]> = {},
): PoolSettings['sources'][number] => {
  return { address, pool: 'default', warm_up: false, ...over }
}

interface Bench {
  readonly settings?: Partial<PoolSettings>
  /** Subjects that are full. */
  readonly full?: readonly string[]
  readonly missing?: readonly string[]
  readonly overflow?: Destination
  readonly newDomain?: string
}

function bench({ settings = {}, full = [], missing = [], overflow, newDomain }: Bench) {
  const log: string[] = []
  const findWait = ({ subject, provider }: WarmUpKey): Outage | null =>
    full.includes(subject) ? { kind: 'outage', until: 1, why: `${subject} at ${provider}` } : null
  const claim: AssignDeps['warmUps']['claim'] = ({ subject, provider }) => {
    log.push(`claim ${subject} ${provider}`)
    return {
      isReserved: Promise.resolve(),
      count: (result: WarmUpResult) => log.push(`${result} ${subject}`),
      release: () => log.push(`release ${subject}`),
    }
  }
  const routes = overflow === undefined ? {} : toRoutes({ '*': 'overflow.test' })
  const given = { source_addresses: [], sources: [], pool_rules: [], warm_up_route: null, ...settings }
  const assigner = new SourceAssigner({
    read: (() => [{ from_email: 'app@a.test' }]) as unknown as AssignDeps['read'],
    settings: () => ({ ...given, routes, domain_warm_up: newDomain !== undefined }),
    warmUps: { prepare: async () => undefined, findWait, claim, drop: () => undefined, stop: async () => undefined },
    missing: { has: (address) => missing.includes(address), add: () => undefined },
    newDomains: { has: async (_workspace, domain) => domain === newDomain, drop: () => undefined },
    destinations: { findByRoute: async () => overflow ?? toBoth },
  })
  return { assignSources: (to: Destination) => assigner.assign(entry, to), log }
}

const ok = { code: 250, enhanced: '2.0.0', text: 'ok' }

t.test('each family has its own address', async (t) => {
  const settings = { sources: [source('192.0.2.1', { hello: parseDomainName('one.test') }), source('2001:db8::1')] }
  const { assignSources } = bench({ settings })
  const { destination, wait } = await assignSources(toBoth)
  t.equal(wait, null)
  t.same(destination, {
    kind: 'hosts',
    hosts: [
      { ...over4, source: '192.0.2.1', hello: 'one.test' },
      { ...over6, source: '2001:db8::1' },
    ],
  })
})

t.test('without settings nothing is assigned', async (t) => {
  const { destination } = await bench({}).assignSources(toBoth)
  t.equal(destination, toBoth)
  const refused: Destination = { kind: 'temporary', reason: 'dns', response: 'no answer' }
  t.equal((await bench({ settings: { source_addresses: ['192.0.2.1'] } }).assignSources(refused)).destination, refused)
})

t.test('hosts of a family without an address are left out, and none is left to the system', async (t) => {
  const only4 = { sources: [source('192.0.2.1')] }
  const { destination } = await bench({ settings: only4 }).assignSources(toBoth)
  t.same(destination, { kind: 'hosts', hosts: [{ ...over4, source: '192.0.2.1' }] })
  t.match((await bench({ settings: only4 }).assignSources(to6)).destination, { kind: 'temporary', response: /family/ })
  const plain = { source_addresses: ['192.0.2.1'] }
  t.same((await bench({ settings: plain }).assignSources(to6)).destination, to6, 'as long as there are no sections')
})

t.test('missing addresses are left out', async (t) => {
  const settings = { sources: [source('192.0.2.1'), source('192.0.2.2')] }
  const one = await bench({ settings, missing: ['192.0.2.1'] }).assignSources(toBoth)
  t.match(one.destination, { hosts: [{ source: '192.0.2.2' }] })
  const none = await bench({ settings, missing: ['192.0.2.1', '192.0.2.2'] }).assignSources(toBoth)
  t.match(none.destination, { kind: 'temporary', reason: 'local-error', response: /does not have the source/ })
})

t.test('a new address is claimed, counted and released; mail by a smarthost is not', async (t) => {
  const { assignSources, log } = bench({ settings: { sources: [source('192.0.2.1', { warm_up: true })] } })
  const { destination, count, release } = await assignSources(toBoth)
  const [host] = destination.kind === 'hosts' ? destination.hosts : []
  count(host ?? over4, { kind: 'accepted', reply: ok, dsnRelayed: false })
  release()
  t.same(log, ['claim 192.0.2.1 google', 'sent 192.0.2.1', 'release 192.0.2.1'])
  const passedOn = await assignSources(smarthost)
  t.match(passedOn.destination, { hosts: [{ source: '192.0.2.1' }] })
  t.equal(log.length, 3)
})

t.test('beyond the cap: another address, the route for it, or a wait', async (t) => {
  const fresh = source('192.0.2.1', { warm_up: true })
  const full = ['192.0.2.1']
  const older = await bench({ settings: { sources: [fresh, source('192.0.2.2')] }, full }).assignSources(toBoth)
  t.match(older.destination, { hosts: [{ source: '192.0.2.2' }] })
  const settings = { sources: [fresh] }
  const routed = await bench({ settings, full, overflow: smarthost }).assignSources(toBoth)
  t.match(routed, { wait: null, destination: { hosts: [{ mx: 'smarthost.test', source: '192.0.2.1' }] } })
  const down: Destination = { kind: 'temporary', reason: 'dns', response: 'no address for smarthost.test' }
  t.same((await bench({ settings, full, overflow: down }).assignSources(toBoth)).destination, down)
  const waiting = await bench({ settings, full }).assignSources(toBoth)
  t.same(waiting.wait, { kind: 'outage', until: 1, why: '192.0.2.1 at google' }, 'with all that wait for the host')
})

t.test('where an entry has an address that others of its lane need not have', async (t) => {
  const one = { sources: [source('192.0.2.1')] }
  t.equal((await bench({ settings: one }).assignSources(toBoth)).isOfEntry, false)
  const two = { sources: [source('192.0.2.1'), source('192.0.2.2')] }
  t.equal((await bench({ settings: two }).assignSources(toBoth)).isOfEntry, true)
  const rule = { pool: 'default', domain: parseDomainName('x.test') }
  t.equal((await bench({ settings: { ...one, pool_rules: [rule] } }).assignSources(toBoth)).isOfEntry, true)
  t.equal((await bench({ newDomain: 'a.test' }).assignSources(toBoth)).isOfEntry, false)
})

t.test('what depends on the sender waits alone', async (t) => {
  const domain = await bench({ newDomain: 'a.test', full: ['a.test'] }).assignSources(toBoth)
  t.match(domain.wait, { why: 'a.test at google', isOfEntry: true })
  const rule = { pool: 'default', domain: parseDomainName('x.test') }
  const settings = { sources: [source('192.0.2.1', { warm_up: true })], pool_rules: [rule] }
  t.match((await bench({ settings, full: ['192.0.2.1'] }).assignSources(toBoth)).wait, { isOfEntry: true })
  const { assignSources, log } = bench({ newDomain: 'a.test' })
  const { count } = await assignSources(toBoth)
  count(over4, { kind: 'accepted', reply: ok, dsnRelayed: false })
  t.same(log, ['claim a.test google', 'sent a.test'])
})
