/** Waiting for memory: the order, the time limit, and that every byte is released. */
import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { MemoryBudget } from '../../../../src/base/platform/memory/budget.js'
import { MemoryQueue } from '../../../../src/base/platform/memory/queue.js'
import { type MemoryReservation, reserveMemory } from '../../../../src/base/platform/memory/reservation.js'
import { MemoryShares } from '../../../../src/base/platform/memory/shares.js'
import { waitUntil } from '../../../helpers/wait-until.js'

/** Longer than the queue's own limit, which starts before it. */
const PAUSE = 150
const long = { timeout: 60_000 }

/** Reservations made one after the other, and the names of those that were granted. */
function recordReservations() {
  const granted: string[] = []
  const refused: string[] = []
  const held = new Map<string, MemoryReservation>()
  const ask = async (name: string, ...given: Parameters<typeof reserveMemory>): Promise<void> => {
    const reserved = await reserveMemory(...given)
    if (reserved === null) refused.push(name)
    else {
      granted.push(name)
      held.set(name, reserved)
    }
  }
  const end = async (name: string): Promise<void> => {
    held.get(name)?.end()
    held.delete(name)
    await pause(PAUSE)
  }
  return { granted, refused, held, ask, end }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

t.test('a reservation without room waits in order: neither a small nor a large one is overtaken', async (t) => {
  const whole = new MemoryBudget(100)
  const { granted, ask, end, held } = recordReservations()
  for (const [name, bytes] of [
    ['first', 60],
    ['large', 90],
    ['small', 10],
  ] as const) {
    void ask(name, whole, bytes, long)
    await turn()
  }
  t.same([granted, whole.usedBytes(), whole.countWaiting()], [['first'], 60, 2], 'the small one would fit, and waits')
  t.ok(whole.acquire(40), 'what does not wait takes what there is')
  whole.release(40)
  await end('first')
  t.same(granted, ['first', 'large', 'small'])
  for (const name of held.keys()) await end(name)
  t.same([whole.usedBytes(), whole.countWaiting()], [0, 0])
})

t.test('a full share blocks no other, and released memory wakes all shares', async (t) => {
  const whole = new MemoryBudget(120)
  const [mx, rest] = [new MemoryBudget(96, whole, 2), new MemoryBudget(96, whole, 4)]
  const owners = new MemoryShares(rest, 12)
  const { granted, ask, end, held } = recordReservations()
  const reservations = [
    ['mx 1', mx, 40],
    ['mx 2', mx, 40],
    ['rest 1', owners.forOwner('one'), 8],
    ['rest 2', owners.forOwner('one'), 8],
    ['rest 3', owners.forOwner('two'), 2],
    ['mx 3', mx, 2],
  ] as const
  for (const [name, memory, bytes] of reservations) {
    void ask(name, memory, bytes, long)
    await turn()
  }
  t.same(granted, ['mx 1', 'rest 1', 'rest 3'])
  t.same([whole.usedBytes(), whole.countWaiting()], [120, 3])
  await end('rest 1')
  t.same(granted.at(-1), 'rest 2', 'the share of its owner has room; that of mx has none')
  await end('mx 1')
  t.same(granted.at(-1), 'mx 2', 'the one behind it finds the whole full')
  for (const name of [...held.keys()]) await end(name)
  for (const name of [...held.keys()]) await end(name)
  t.same([granted.length, whole.usedBytes(), whole.countWaiting(), mx.usedBytes(), rest.usedBytes()], [6, 0, 0, 0, 0])
})

t.test('a wait ends at its time limit or when it is aborted, and the next ones go on', async (t) => {
  const whole = new MemoryBudget(100)
  const { granted, refused, ask, end } = recordReservations()
  const leaving = new AbortController()
  void ask('first', whole, 60, long)
  void ask('impatient', whole, 100, { timeout: 10 })
  void ask('leaving', whole, 100, { ...long, signal: leaving.signal })
  void ask('last', whole, 40, long)
  await waitUntil('the impatient one has left', () => refused.length === 1)
  t.same([granted, refused], [['first'], ['impatient']])
  leaving.abort()
  await turn()
  t.same(
    [granted, refused],
    [
      ['first', 'last'],
      ['impatient', 'leaving'],
    ],
  )
  await ask('gone before', whole, 1, { ...long, signal: leaving.signal })
  await ask('larger than all', whole, 101, long)
  t.same(refused.slice(2), ['gone before', 'larger than all'])
  await end('first')
  await end('last')
  t.same([whole.usedBytes(), whole.countWaiting()], [0, 0])
})

t.test('waiting reservations are limited: for an owner, in a share, in total', async (t) => {
  const whole = new MemoryBudget(10)
  const shares = [1, 2, 3, 4].map(() => new MemoryBudget(10, whole))
  const end = new AbortController()
  setMaxListeners(0, end.signal)
  whole.acquire(10)
  const wait = { ...long, signal: end.signal }
  const { refused, ask } = recordReservations()
  const most = new MemoryShares(shares[0] ?? whole, 10, { maxWaiting: 3 })
  const each = Array.from({ length: 4 }, (_, at) => ask(`owner ${at}`, most.forOwner('one'), 1, wait))
  await turn()
  t.same([refused, whole.countWaiting()], [['owner 3'], 3], 'three of one owner')
  for (const share of shares) for (let asked = 0; asked < 101; asked += 1) each.push(ask('share', share, 1, wait))
  await turn()
  t.same(whole.countWaiting(), 300, 'in all')
  t.same(refused.length, 1 + 4 * 101 + 3 - 300)
  end.abort()
  await Promise.all(each)
  t.same([whole.usedBytes(), whole.countWaiting()], [10, 0])
})

t.test('every byte of a reservation is released, used or not, and more is acquired as it is needed', async (t) => {
  const whole = new MemoryBudget(100)
  const reserved = await reserveMemory(whole, 60, long)
  if (reserved === null) throw new Error('there is room')
  t.ok(reserved.acquire(50))
  t.same(whole.usedBytes(), 60, 'it was counted before')
  t.ok(reserved.acquire(30))
  t.same(whole.usedBytes(), 80, 'more than was declared')
  t.notOk(reserved.acquire(21), 'and no more than there is')
  t.same(whole.usedBytes(), 80)
  reserved.release(80)
  reserved.end()
  t.same(whole.usedBytes(), 0)

  const unused = await reserveMemory(whole, 60, long)
  t.ok(unused?.acquire(20))
  unused?.end()
  unused?.end()
  t.same(whole.usedBytes(), 20, 'what was used is still there')
  unused?.release(20)
  t.same(whole.usedBytes(), 0)
})

t.test('memory that is reserved and not used in time is released, and the message goes on as it arrives', async (t) => {
  const whole = new MemoryBudget(100)
  const slow = await reserveMemory(whole, 90, long, { patience: 20, bytesPerSecond: 1e6 })
  t.ok(slow?.acquire(10))
  const next = await reserveMemory(whole, 90, long)
  t.ok(next, 'it waited for what the slow one does not use')
  t.same(whole.usedBytes(), 100)
  t.notOk(slow?.acquire(1))
  next?.end()
  t.ok(slow?.acquire(80))
  slow?.release(90)
  t.same([whole.usedBytes(), whole.countWaiting()], [0, 0])
})

t.test('after a long wait a slow transfer gives way, and a fast one stays', async (t) => {
  const line = new MemoryQueue(20)
  const gone: string[] = []
  let used = 90
  const slow = [{ name: 'slow', held: 60 }]
  const level = {
    key: 'all',
    bytes: 50,
    limit: 100,
    maxWaiting: 10,
    usedBytes: () => used,
    evictSlowest: () => {
      const holder = slow.shift()
      if (holder === undefined) return false
      gone.push(holder.name)
      used -= holder.held
      return true
    },
  }
  const take = (): boolean => {
    used += 50
    return true
  }
  const first = line.waitForRoom([level], take, { timeout: 60_000 })
  t.same(gone, [], 'not at once')
  t.equal(await first, true)
  t.same([gone, used], [['slow'], 80])
  t.equal(await line.waitForRoom([level], take, { timeout: 200 }), false, 'what is left does not give way')
  t.same([used, line.length], [80, 0])
})
