/** Which address of a pool a message leaves from, and which pool it goes by. */
import t from 'tap'
import { chooseSources, familiesOf, seedOf } from '../../../../src/outbound/delivery/sources/choose-source.js'
import { compilePools, type Source } from '../../../../src/outbound/delivery/sources/source-pools.js'

const source = (address: string, over: Partial<Source> = {}): Source => {
  return { address, family: address.includes(':') ? 6 : 4, hello: null, isWarming: false, ...over }
}
const [a, b, c, six] = [source('192.0.2.1'), source('192.0.2.2'), source('192.0.2.3'), source('2001:db8::1')]
const four = familiesOf([{ address: '198.51.100.7' }])
const both = familiesOf([{ address: '198.51.100.7' }, { address: '2001:db8::7' }])

t.test('the seed chooses, and what is not free passes on to the next', async (t) => {
  const sources = [a, six, b, c]
  const free = (): 'free' => 'free'
  const chosen = [0, 1, 2, 3].map((seed) => chooseSources({ sources }, four, seed, free).sources[4]?.address)
  t.same(chosen, ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.1'])
  t.same(chooseSources({ sources }, both, 1, free).sources, { 4: b, 6: six })
  t.same(chooseSources({ sources }, four, 0, free).sources, { 4: a }, 'no host has IPv6')
  const partly = chooseSources({ sources }, both, 0, ({ address }) => {
    return address === a.address ? 'full' : address === b.address || address === six.address ? 'missing' : 'free'
  })
  t.same(partly, { sources: { 4: c }, full: [a], missing: [six, b] })
  t.same(chooseSources({ sources: [] }, both, 7, free), { sources: {}, full: [], missing: [] })
})

t.test('ids are spread evenly, and one id always has the same seed', async (t) => {
  const counts = [0, 0, 0]
  for (let at = 0; at < 3_000; at += 1) {
    const index = seedOf(`01975b9e-5c1c-7cf4-8d1f-${at.toString(16).padStart(12, '0')}`) % 3
    counts[index] = (counts[index] ?? 0) + 1
  }
  for (const count of counts) t.ok(count > 800, String(counts))
  t.equal(seedOf('x'), seedOf('x'))
})

t.test('the first rule of which all conditions hold gives the pool', async (t) => {
  const plain = { hello: undefined, warm_up: false }
  const pools = compilePools({
    source_addresses: ['192.0.2.1'],
    sources: [
      { ...plain, address: '192.0.2.2', pool: 'bulk' },
      { ...plain, address: '2001:DB8:0::2', pool: 'own', warm_up: true },
    ],
    pool_rules: [
      { pool: 'own', workspace: 'ws_1', domain: 'a.test', priority: undefined },
      { pool: 'bulk', workspace: undefined, domain: undefined, priority: 'low' },
      { pool: 'own', workspace: 'ws_2', domain: undefined, priority: undefined },
    ],
  } as unknown as Parameters<typeof compilePools>[0])
  const find = (workspace_id: string, priority: 0 | 1 | 2, domain: string): string | undefined =>
    pools?.find({ workspace_id, priority }, domain).name
  t.equal(find('ws_1', 2, 'a.test'), 'own')
  t.equal(find('ws_1', 2, 'b.test'), 'bulk')
  t.equal(find('ws_1', 1, 'b.test'), 'default')
  t.equal(find('ws_2', 1, 'b.test'), 'own')
  t.equal(find('ws_2', 2, 'b.test'), 'bulk')
  t.equal(pools?.dependsOnDomain, true)
  const own = pools?.find({ workspace_id: 'ws_2', priority: 0 }, null)
  t.match(own, { sources: [{ address: '2001:db8::2', family: 6, isWarming: true }], isLenient: false })
})

t.test('without an address there are no pools', async (t) => {
  t.equal(compilePools({ source_addresses: [], sources: [], pool_rules: [] }), null)
  const pools = compilePools({ source_addresses: ['192.0.2.1'], sources: [], pool_rules: [] })
  t.match(pools?.find({ workspace_id: 'ws_1', priority: 1 }, null), { name: 'default', isLenient: true })
})
