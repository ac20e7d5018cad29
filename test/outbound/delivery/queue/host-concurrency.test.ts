import t from 'tap'
import {
  HostConcurrency,
  type ReleaseSlot,
  type Taker,
} from '../../../../src/outbound/delivery/queue/host-concurrency.js'
import { never } from '../../../helpers/smtp/sink-client.js'

const free: ReleaseSlot = () => undefined

/** Mail of a workspace; `isBulk`: of a broadcast. */
const mailOf = (ownerId: string, isBulk = false): Taker => ({ ownerId, isBulk })

/** Entries of this workspace that may start for the host, which are then under way. */
function startAll(hosts: HostConcurrency, workspaceId: string, host: string, isBulk = false): number {
  const taker = mailOf(workspaceId, isBulk)
  let started = 0
  while (hosts.mayStart(taker, host)) hosts.start(`${workspaceId} ${host} ${isBulk} ${started++}`, taker, host)
  return started
}

t.test('slots of a host are given in turn, and one of another host at once', async (t) => {
  const hosts = new HostConcurrency(() => ({ perHost: 2 }))
  const order: number[] = []
  const releases: ReleaseSlot[] = []
  const waiting = [0, 1, 2, 3].map(async (number) => {
    releases.push(await hosts.acquireSlot('mx', mailOf(`workspace ${number}`), never))
    order.push(number)
  })
  await hosts.acquireSlot('other', mailOf('workspace 0'), never)
  t.same(order, [0, 1])
  releases[1]?.()
  await waiting[2]
  releases[0]?.()
  await Promise.all(waiting)
  t.same(order, [0, 1, 2, 3])
})

t.test('a waiter can give up, and the others keep their turn', async (t) => {
  const hosts = new HostConcurrency(() => ({ perHost: 1 }))
  const reason = new Error('stopping')
  const stopping = new AbortController()
  const release = await hosts.acquireSlot('mx', mailOf('a'), never)
  const second = hosts.acquireSlot('mx', mailOf('a'), stopping.signal)
  const third = hosts.acquireSlot('mx', mailOf('a'), never)
  stopping.abort(reason)
  await t.rejects(second, reason)
  await t.rejects(hosts.acquireSlot('mx', mailOf('a'), stopping.signal), reason)
  release()
  t.type(await third, 'function')
})

t.test('no workspace gets all slots of a host, and another one is served past its waiters', async (t) => {
  const hosts = new HostConcurrency(() => ({ perHost: 3 }))
  const served: string[] = []
  const acquire = async (workspaceId: string): Promise<ReleaseSlot> => {
    const release = await hosts.acquireSlot('mx', mailOf(workspaceId), never)
    served.push(workspaceId)
    return release
  }
  const [first = free, second = free] = await Promise.all([acquire('big'), acquire('big')])
  const third = acquire('big')
  const fourth = acquire('big')
  const release = await acquire('small')
  t.same(served, ['big', 'big', 'small'])
  release()
  await acquire('small')
  t.same(served, ['big', 'big', 'small', 'small'], 'the slot that is left free stays free')
  first()
  await third
  second()
  await fourth
  t.same(served, ['big', 'big', 'small', 'small', 'big', 'big'])
})

t.test('entries under way: two for each slot, by the same rule', async (t) => {
  const hosts = new HostConcurrency(() => ({ perHost: 10 }))
  t.equal(startAll(hosts, 'a', 'mx'), 18, 'those of one session stay free')
  t.equal(startAll(hosts, 'b', 'mx'), 2)
  t.equal(startAll(hosts, 'c', 'mx'), 0)
  t.equal(startAll(hosts, 'a', 'other'), 18)
  t.equal(
    startAll(new HostConcurrency(() => ({ perHost: 1 })), 'a', 'mx'),
    1,
    'any workspace may have the only session',
  )
})

t.test('an entry moves to the host of its domain if there is room', async (t) => {
  const hosts = new HostConcurrency(() => ({ perHost: 2 }))
  t.equal(startAll(hosts, 'a', 'mx'), 2)
  hosts.start('one', mailOf('a'), 'domain.test')
  t.equal(hosts.moveTo('one', mailOf('a'), 'mx'), false)
  hosts.end('a mx false 0')
  hosts.start('two', mailOf('a'), 'domain.test')
  t.equal(hosts.moveTo('two', mailOf('a'), 'mx'), true)
  t.equal(hosts.moveTo('two', mailOf('a'), 'mx'), true, 'it is there already')
  t.equal(hosts.mayStart(mailOf('a'), 'mx'), false)
})

t.test('a host that is probed takes no entry before the result is known', async (t) => {
  const hosts = new HostConcurrency(() => ({ perHost: 2 }))
  let isPending = true
  hosts.start('one', mailOf('a'), 'mx')
  t.equal(
    hosts.startProbe('mx', 'one', () => isPending),
    true,
  )
  t.equal(
    hosts.startProbe('mx', 'two', () => isPending),
    false,
  )
  t.equal(hosts.mayStart(mailOf('b'), 'mx'), false)
  isPending = false
  t.equal(hosts.mayStart(mailOf('b'), 'mx'), true)
})

t.test('hosts that are not in use take no memory', async (t) => {
  const hosts = new HostConcurrency(() => ({ perHost: 1 }))
  const inside = hosts as unknown as Record<'states' | 'placeByEntry', { readonly size: number }>
  hosts.start('one', mailOf('a'), 'mx')
  const release = await hosts.acquireSlot('fallback', mailOf('a'), never)
  const next = hosts.acquireSlot('fallback', mailOf('a'), never)
  t.equal(inside.states.size, 2)
  hosts.end('one')
  release()
  ;(await next)()
  t.same([inside.states.size, inside.placeByEntry.size], [0, 0])
})

t.test('broadcasts leave a quarter of a host to other mail, which comes first where both wait', async (t) => {
  const hosts = new HostConcurrency(() => ({ perHost: 10 }))
  t.equal(startAll(hosts, 'a', 'mx', true), 14, 'the places of seven sessions')
  t.equal(startAll(hosts, 'b', 'mx', true), 0, 'for the broadcasts of all workspaces')
  t.equal(startAll(hosts, 'a', 'mx'), 4)
  t.equal(startAll(hosts, 'b', 'mx'), 2)
  t.equal(
    startAll(new HostConcurrency(() => ({ perHost: 1 })), 'a', 'mx', true),
    1,
    'a broadcast may have the only session',
  )

  const narrow = new HostConcurrency(() => ({ perHost: 2 }))
  const served: string[] = []
  const acquire = async (name: string, isBulk: boolean): Promise<ReleaseSlot> => {
    const release = await narrow.acquireSlot('mx', mailOf(name, isBulk), never)
    served.push(name)
    return release
  }
  const first = await acquire('news', true)
  const second = await acquire('other', false)
  const more = acquire('more news', true)
  const mail = acquire('receipt', false)
  second()
  ;(await mail)()
  t.same(served, ['news', 'other', 'receipt'], 'a broadcast does not take the slot that is left to other mail')
  first()
  await more
  t.same(served, ['news', 'other', 'receipt', 'more news'])
})
