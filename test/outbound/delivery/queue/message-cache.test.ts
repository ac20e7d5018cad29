import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { type CachedMessage, MessageCache } from '../../../../src/outbound/delivery/queue/message-cache.js'
import type { Email } from '../../../../src/records/messages/email/email.js'
import { bulkEmail } from '../../../helpers/database/bulk.js'

const message = (id: string) => ({
  email: { id } as Email,
  raw: Buffer.alloc(10),
  copies: new Map(),
  isSignatureStored: false,
})

t.test('small messages count with their size in memory, and make room when they leave', async (t) => {
  const cache = new MessageCache(1_000_000)
  for (let n = 0; n < 1000; n += 1) cache.put(message(`email ${n}`), ['entry'])
  t.ok(cache.get('email 99', 'entry'))
  t.notOk(cache.get('email 500', 'entry'))
  for (let n = 0; n < 1000; n += 1) cache.release(`email ${n}`, 'entry')
  cache.put(message('email 500'), ['entry'])
  t.ok(cache.get('email 500', 'entry'))
})

t.test(
  'messages that are read back are bounded in bytes: one always fits, small ones never wait, turns are kept',
  async (t) => {
    const large = 300_000
    const cache = new MessageCache(0, 2 * large)
    const order: string[] = []
    const read = async (id: string, bytes: number): Promise<void> => {
      const room = await cache.reserveRoom('owner', bytes)
      order.push(id)
      cache.addReadBack({ ...message(id), raw: Buffer.alloc(bytes) }, `entry of ${id}`, room)
    }
    const all = [read('a', large), read('b', large), read('c', 3 * large), read('d', large), read('small', 262_144)]
    await turn()
    t.same(order, ['a', 'b', 'small'])
    cache.release('a', 'entry of a')
    await turn()
    t.same(order, ['a', 'b', 'small'], 'the largest waits until it is alone, and none overtakes it')
    cache.release('b', 'entry of b')
    await turn()
    t.same(order.slice(3), ['c'])
    cache.releaseRoom(await cache.reserveRoom('owner', 10))
    cache.clear()
    await Promise.all(all)
    t.same(order.slice(4), ['d'], 'what was dropped leaves its room')
  },
)

t.test('large messages of one owner, on their way to slow servers, leave room for those of others', async (t) => {
  const size = 1_000_000
  const cache = new MessageCache(0, 8 * size)
  const order: string[] = []
  const read = async (ownerId: string, bytes = size): Promise<void> => {
    const room = await cache.reserveRoom(ownerId, bytes)
    order.push(ownerId)
    cache.addReadBack({ ...message(`of ${ownerId} ${order.length}`), raw: Buffer.alloc(bytes) }, 'entry', room)
  }
  const greedy = Array.from({ length: 10 }, () => read('greedy'))
  await turn()
  t.same(order, Array(6).fill('greedy'), 'three times what is free')
  const second = Array.from({ length: 10 }, () => read('second'))
  await turn()
  t.same(order.slice(6), ['second', 'second'])
  const victim = read('victim', 7 * size)
  await turn()
  t.same(order.slice(8), ['victim'], 'who holds none has one message at once')
  while (order.length < 21) {
    cache.clear()
    await turn()
  }
  await Promise.all([victim, ...greedy, ...second])
})

t.test('a message is kept until its last holder releases it', async (t) => {
  const cache = new MessageCache(0)
  const large = (): CachedMessage => ({ ...message('email'), raw: Buffer.alloc(2_000_000) })
  cache.addReadBack(large(), 'first', await cache.reserveRoom('owner', 2_000_000))
  cache.clear()
  const again = large()
  cache.addReadBack(again, 'second', await cache.reserveRoom('owner', 2_000_000))
  cache.release('email', 'first', true)
  cache.release('email', 'never came', true)
  t.equal(cache.get('email', 'second'), again, 'the first had the message that was here before')
  t.equal(again.raw.length, 2_000_000, 'a socket may be writing it')
  cache.release('email', 'second', true)
  t.equal(cache.get('email', 'third'), undefined)
  t.equal(again.raw.length, 0, 'its memory is given back')
})

t.test('dropping the mail of a domain makes room', (t) => {
  const raw = Buffer.alloc(100_000)
  const cache = new MessageCache(250_000)
  const put = (workspaceId: string, from: string): string => {
    const { email } = bulkEmail({ workspaceId, from, to: 'x@b.test', at: 1000 })
    cache.put({ email, raw, copies: new Map(), isSignatureStored: false }, ['entry'])
    return email.id
  }
  const gone = put('ws_1', 'x@a.test')
  const kept = put('ws_2', 'x@a.test')
  t.equal(cache.get(put('ws_1', 'x@c.test'), 'entry'), undefined, 'no room')
  cache.dropDomain('ws_1', 'a.test')
  t.equal(cache.get(gone, 'entry'), undefined)
  t.ok(cache.get(kept, 'entry'))
  t.ok(cache.get(put('ws_1', 'x@c.test'), 'entry'))
  t.end()
})

t.test('messages of single recipients count for the room, and leave with their recipients', (t) => {
  const copy = { prefix: 1, suffix: 1, bytes: Buffer.alloc(50_000), isSignatureStored: false }
  const withCopies = (id: string, count: number): CachedMessage => ({
    ...message(id),
    copies: new Map(Array.from({ length: count }, (_, n) => [`entry ${n}`, copy])),
  })
  const cache = new MessageCache(200_000)
  cache.put(withCopies('four', 4), ['entry 0'])
  t.equal(cache.get('four', 'entry 0'), undefined)
  cache.put(withCopies('three', 3), ['entry 0', 'entry 1', 'entry 2'])
  cache.put(withCopies('one', 1), ['entry 0'])
  t.equal(cache.get('one', 'entry 0'), undefined, 'there is no room beside the three')
  cache.release('three', 'entry 1')
  t.same([...(cache.get('three', 'entry 0')?.copies.keys() ?? [])], ['entry 0', 'entry 2'])
  cache.release('three', 'entry 0')
  cache.release('three', 'entry 2')
  cache.put(withCopies('one', 1), ['entry 0'])
  t.ok(cache.get('one', 'entry 0'), 'all of their room is free again')
  t.end()
})
