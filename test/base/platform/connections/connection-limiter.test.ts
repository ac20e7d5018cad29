/** The limits of connections, and which connection is closed for another. */
import t from 'tap'
import {
  ConnectionLimiter,
  type ConnectionLimitSettings,
  type ConnectionOrigin,
  type ConnectionState,
} from '../../../../src/base/platform/connections/connection-limiter.js'

/** A limiter of connections with given states, and the names of those that were evicted. */
function createLimiter(settings: Partial<ConnectionLimitSettings>) {
  const all = { max_connections: 100, max_connections_per_address: 100, max_connections_per_network: 100 }
  const limit = new ConnectionLimiter(() => ({ ...all, ...settings }))
  const evicted: string[] = []
  const enter = (origin: ConnectionOrigin | null, name: string, state: ConnectionState | null = null) =>
    limit.acquire(origin, { state: () => state, evict: () => evicted.push(name) })
  return { limit, evicted, enter }
}

const from = (address: string): ConnectionOrigin => ({ address, network: address.slice(0, 1) })
const idle = (rank: ConnectionState['rank'], since = 0): ConnectionState => ({ rank, since, isFresh: false })
const fresh: ConnectionState = { rank: 'unproved', since: 0, isFresh: true }

t.test('connections are limited in total, per address and per network', async (t) => {
  const { limit, enter } = createLimiter({
    max_connections: 4,
    max_connections_per_address: 2,
    max_connections_per_network: 3,
  })
  const entered = ['a1', 'a1', 'a1', 'a2', 'a3', 'b1', 'c1'].map((address) => enter(from(address), address))
  const isSlot = (entry: unknown): boolean => typeof entry !== 'string'
  t.same(
    entered.map((entry) => isSlot(entry) || entry),
    [true, true, 'too-many-of-address', true, 'too-many-of-network', true, 'full'],
  )
  t.equal(enter(null, 'a proxy'), 'full')
  for (const entry of entered) {
    if (typeof entry === 'string') continue
    entry.release()
    entry.release()
  }
  t.equal(limit.countOpen(), 0, 'each is released once')
  for (const name of ['one', 'two', 'three', 'four']) {
    t.ok(isSlot(enter({ address: name, network: null }, name)), 'it has no limit of a network')
  }
})

t.test('when a limit is reached, the connection with the least use for its slot is evicted', async (t) => {
  t.test('in the order of ranks, and within a rank the one that is idle longest', async (t) => {
    const { evicted, enter } = createLimiter({ max_connections: 6 })
    enter(from('a1'), 'unread', idle('unread'))
    enter(from('b1'), 'idle', idle('idle'))
    enter(from('c1'), 'slow', idle('slow', 5))
    enter(from('d1'), 'later', idle('unproved', 4))
    enter(from('e1'), 'sooner', idle('unproved', 3))
    enter(from('f1'), 'working')
    for (let more = 0; more < 5; more++) t.not(enter(null, 'new'), 'full')
    t.equal(enter(null, 'new'), 'full', 'a working connection stays')
    t.same(evicted, ['sooner', 'later', 'slow', 'idle', 'unread'])
  })

  t.test('only one of the same address or network when that limit is reached', async (t) => {
    const { evicted, enter } = createLimiter({ max_connections_per_address: 2, max_connections_per_network: 3 })
    enter(from('b1'), 'other', idle('unproved'))
    enter(from('a1'), 'first', idle('unproved', 2))
    enter(from('a1'), 'second', idle('unproved', 1))
    enter(from('a1'), 'third')
    enter(from('a2'), 'fourth')
    enter(from('a3'), 'fifth')
    t.same(evicted, ['second', 'first'])
    t.equal(enter(from('a3'), 'sixth'), 'too-many-of-network')
  })

  t.test('a fresh one only for a network that holds clearly fewer slots', async (t) => {
    const { evicted, enter } = createLimiter({ max_connections: 26 })
    for (let at = 0; at < 14; at++) enter(from('a1'), 'a', { ...fresh, since: 14 - at })
    for (let at = 0; at < 12; at++) enter(from('b1'), 'b', fresh)
    t.not(enter(from('c1'), 'c', fresh), 'full')
    t.not(enter(from('c2'), 'c', fresh), 'full')
    t.same(evicted, ['a', 'a'], 'of the network that holds the most slots')
    t.equal(enter(from('c3'), 'c', fresh), 'full', 'no network holds so many more now')
    t.equal(enter(from('a2'), 'a', fresh), 'full')
  })
})
