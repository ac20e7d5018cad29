/** The limits of connections, and which connection is closed for another. */
import t from 'tap'
import {
  type ConnectionLimitSettings,
  type ConnectionOrigin,
  type ConnectionState,
  createConnectionLimiter,
} from '../../../src/platform/connections/connection-limiter.js'

/** Connections that are what the test says they are, and a list of those that gave way. */
function places(settings: Partial<ConnectionLimitSettings>) {
  const all = { maxConnections: 100, maxConnectionsPerAddress: 100, maxConnectionsPerNetwork: 100 }
  const limit = createConnectionLimiter({ ...all, ...settings })
  const gone: string[] = []
  const enter = (origin: ConnectionOrigin | null, name: string, standing: ConnectionState | null = null) =>
    limit.acquire(origin, { state: () => standing, evict: () => gone.push(name) })
  return { limit, gone, enter }
}

const from = (address: string): ConnectionOrigin => ({ address, network: address.slice(0, 1) })
const quiet = (rank: ConnectionState['rank'], since = 0): ConnectionState => ({ rank, since, isFresh: false })
const fresh: ConnectionState = { rank: 'unproved', since: 0, isFresh: true }

t.test('connections are limited in all, per address and per network', async (t) => {
  const { limit, enter } = places({ maxConnections: 4, maxConnectionsPerAddress: 2, maxConnectionsPerNetwork: 3 })
  const entered = ['a1', 'a1', 'a1', 'a2', 'a3', 'b1', 'c1'].map((address) => enter(from(address), address))
  const isPlace = (entry: unknown): boolean => typeof entry !== 'string'
  t.same(
    entered.map((entry) => isPlace(entry) || entry),
    [true, true, 'too-many-of-address', true, 'too-many-of-network', true, 'full'],
  )
  t.equal(enter(null, 'a proxy'), 'full')
  for (const entry of entered) {
    if (typeof entry === 'string') continue
    entry.release()
    entry.release()
  }
  t.equal(limit.countOpen(), 0, 'each is counted out once')
  for (const name of ['one', 'two', 'three', 'four']) {
    t.ok(isPlace(enter({ address: name, network: null }, name)), 'the limit of a network does not hold for it')
  }
})

t.test('where a limit is reached, who has the least use for a place gives way', async (t) => {
  t.test('in the order of ranks, and of one rank the one that is quiet for longest', async (t) => {
    const { gone, enter } = places({ maxConnections: 6 })
    enter(from('a1'), 'unread', quiet('unread'))
    enter(from('b1'), 'idle', quiet('idle'))
    enter(from('c1'), 'slow', quiet('slow', 5))
    enter(from('d1'), 'later', quiet('unproved', 4))
    enter(from('e1'), 'sooner', quiet('unproved', 3))
    enter(from('f1'), 'working')
    for (let more = 0; more < 5; more++) t.not(enter(null, 'new'), 'full')
    t.equal(enter(null, 'new'), 'full', 'who is at work stays')
    t.same(gone, ['sooner', 'later', 'slow', 'idle', 'unread'])
  })

  t.test('only one of its own where the limit is that of the address or network', async (t) => {
    const { gone, enter } = places({ maxConnectionsPerAddress: 2, maxConnectionsPerNetwork: 3 })
    enter(from('b1'), 'other', quiet('unproved'))
    enter(from('a1'), 'first', quiet('unproved', 2))
    enter(from('a1'), 'second', quiet('unproved', 1))
    enter(from('a1'), 'third')
    enter(from('a2'), 'fourth')
    enter(from('a3'), 'fifth')
    t.same(gone, ['second', 'first'])
    t.equal(enter(from('a3'), 'sixth'), 'too-many-of-network')
  })

  t.test('a fresh one only to a network that holds clearly fewer places', async (t) => {
    const { gone, enter } = places({ maxConnections: 26 })
    for (let at = 0; at < 14; at++) enter(from('a1'), 'a', { ...fresh, since: 14 - at })
    for (let at = 0; at < 12; at++) enter(from('b1'), 'b', fresh)
    t.not(enter(from('c1'), 'c', fresh), 'full')
    t.not(enter(from('c2'), 'c', fresh), 'full')
    t.same(gone, ['a', 'a'], 'of the network that holds most')
    t.equal(enter(from('c3'), 'c', fresh), 'full', 'by now none holds so many more')
    t.equal(enter(from('a2'), 'a', fresh), 'full')
  })
})
