import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { type CachedMessage, MessageCache } from '../../../src/delivery/attempt/message-cache.js'
import type { Email } from '../../../src/messages/email.js'
import { bulkEmail } from '../../helpers/bulk.js'

const message = (id: string) => ({ email: { id } as Email, raw: Buffer.alloc(10), isSignatureStored: false })

t.test('many small messages fill the shelf by what they weigh in memory, and leave room when they go', async (t) => {
  const shelf = new MessageCache(1_000_000)
  for (let n = 0; n < 1000; n += 1) shelf.put(message(`email ${n}`), ['entry'])
  t.ok(shelf.get('email 99', 'entry'))
  t.notOk(shelf.get('email 500', 'entry'))
  for (let n = 0; n < 1000; n += 1) shelf.release(`email ${n}`, 'entry')
  shelf.put(message('email 500'), ['entry'])
  t.ok(shelf.get('email 500', 'entry'))
})

t.test(
  'messages that are read back are bounded in bytes: one always fits, small ones never wait, turns are kept',
  async (t) => {
    const large = 300_000
    const shelf = new MessageCache(0, 2 * large)
    const order: string[] = []
    const read = async (id: string, bytes: number): Promise<void> => {
      await shelf.reserveRoom(bytes)
      order.push(id)
      shelf.addReadBack({ ...message(id), raw: Buffer.alloc(bytes) }, `entry of ${id}`)
    }
    const all = [read('a', large), read('b', large), read('c', 3 * large), read('d', large), read('small', 262_144)]
    await turn()
    t.same(order, ['a', 'b', 'small'])
    shelf.release('a', 'entry of a')
    await turn()
    t.same(order, ['a', 'b', 'small'], 'the largest waits until it is alone, and nobody overtakes it')
    shelf.release('b', 'entry of b')
    await turn()
    t.same(order.slice(3), ['c'])
    await shelf.reserveRoom(10).then(() => shelf.releaseRoom(10))
    shelf.clear()
    await Promise.all(all)
    t.same(order.slice(4), ['d'], 'what was dropped leaves its room')
  },
)

t.test('a message is kept for those who hold it, whoever else is done with the email', async (t) => {
  const shelf = new MessageCache(0)
  const large = (): CachedMessage => ({ ...message('email'), raw: Buffer.alloc(2_000_000) })
  await shelf.reserveRoom(2_000_000)
  shelf.addReadBack(large(), 'first')
  shelf.clear()
  await shelf.reserveRoom(2_000_000)
  const again = large()
  shelf.addReadBack(again, 'second')
  shelf.release('email', 'first', true)
  shelf.release('email', 'never came', true)
  t.equal(shelf.get('email', 'second'), again, 'the first had the message that was here before')
  t.equal(again.raw.length, 2_000_000, 'a socket may be writing it')
  shelf.release('email', 'second', true)
  t.equal(shelf.get('email', 'third'), undefined)
  t.equal(again.raw.length, 0, 'its memory is given back')
})

t.test('the shelf has room again where mail of a domain was taken out of the queue', (t) => {
  const raw = Buffer.alloc(100_000)
  const shelf = new MessageCache(250_000)
  const put = (workspaceId: string, from: string): string => {
    const { email } = bulkEmail({ workspaceId, from, to: 'x@b.test', at: 1000 })
    shelf.put({ email, raw, isSignatureStored: false }, ['entry'])
    return email.id
  }
  const gone = put('ws_1', 'x@a.test')
  const kept = put('ws_2', 'x@a.test')
  t.equal(shelf.get(put('ws_1', 'x@c.test'), 'entry'), undefined, 'no room')
  shelf.dropDomain('ws_1', 'a.test')
  t.equal(shelf.get(gone, 'entry'), undefined)
  t.ok(shelf.get(kept, 'entry'))
  t.ok(shelf.get(put('ws_1', 'x@c.test'), 'entry'))
  t.end()
})
