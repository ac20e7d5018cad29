/** Whose turn it is, in memory; and how the sweep keeps memory supplied from the database. */

import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { type CachedMessage, MessageCache } from '../../../src/delivery/attempt/message-cache.js'
import { DueSweep } from '../../../src/delivery/queue/due-sweep.js'
import { type LaneLimits, Lanes } from '../../../src/delivery/queue/lanes.js'
import type { Address, DomainName } from '../../../src/mail/address.js'
import type { Email } from '../../../src/messages/email.js'
import type { QueueEntry } from '../../../src/messages/queue/queue.js'
import type { Database } from '../../../src/storage/database.js'
import { bulkEmail } from '../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const roomy: LaneLimits = { total: 100, perDomain: 20, perLane: 400, perWorkspace: 4000 }
const minute = 60_000

let number = 0

/** `a/b.test` is a workspace and a domain. */
function entry(place: string, priority: 0 | 1 | 2 = 1, dueAt = 0): QueueEntry {
  const [workspace = '', domain = ''] = place.split('/')
  number += 1
  return {
    id: `${place} ${number}`,
    email_id: `email ${number}`,
    workspace_id: workspace,
    recipient: `r${number}@${domain}` as Address,
    domain: domain as DomainName,
    priority,
    attempts: 0,
    enqueued_at: dueAt,
    next_attempt_at: dueAt,
    leased: 0,
    held: 0,
    noticed: 0,
    last_response: null,
    waits_for: null,
  }
}

function fillLanes(places: Readonly<Record<string, number>>, limits: Partial<LaneLimits> = {}): Lanes {
  const lanes = new Lanes({ ...roomy, ...limits })
  for (const [place, count] of Object.entries(places)) {
    for (let n = 0; n < count; n += 1) lanes.add(entry(place))
  }
  return lanes
}

/** The places of the next entries, as many as may start. */
function takeAll(lanes: Lanes, most = Number.POSITIVE_INFINITY): string[] {
  const places: string[] = []
  while (places.length < most) {
    const next = lanes.take()
    if (next === null) break
    places.push(`${next.workspace_id}/${next.domain}`)
  }
  return places
}

t.test('turns go round the workspaces, and round the domains of each', async (t) => {
  const lanes = fillLanes({ 'a/x': 50, 'a/y': 2, 'b/x': 2, 'c/z': 1 })
  t.same(takeAll(lanes, 8), ['a/x', 'b/x', 'c/z', 'a/y', 'b/x', 'a/x', 'a/y', 'a/x'])
})

t.test('one workspace takes neither all attempts nor all of a domain', async (t) => {
  const alone = takeAll(fillLanes({ 'a/x': 50 }))
  t.equal(alone.length, 18, 'two of twenty stay free')
  const wide = fillLanes(Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`a/d${n}`, 10])))
  t.equal(takeAll(wide).length, 75, 'a quarter stays free')
  wide.add(entry('b/d0'))
  t.same(takeAll(wide), ['b/d0'])
  const crowded = fillLanes({ 'a/x': 50 })
  takeAll(crowded)
  crowded.add(entry('b/x'))
  crowded.add(entry('c/x'))
  crowded.add(entry('d/x'))
  t.same(takeAll(crowded), ['b/x', 'c/x'], 'the domain itself takes no more than its limit')
  t.same(
    takeAll(fillLanes({ 'a/x': 2 }, { total: 1, perDomain: 2 })),
    ['a/x'],
    'where there is one place, anybody may have it',
  )
})

t.test('an attempt that has ended makes place', async (t) => {
  const lanes = new Lanes({ ...roomy, total: 1 })
  const [first, second] = [entry('a/x'), entry('a/x')]
  lanes.add(first)
  lanes.add(second)
  t.equal(lanes.take(), first)
  t.equal(lanes.take(), null)
  lanes.endAttempt(first)
  t.equal(lanes.take(), second)
  t.equal(lanes.add(first), true, 'until it is forgotten it is not taken in twice')
  lanes.endAttempt(second)
  t.equal(lanes.take(), null)
  lanes.forget(first)
  lanes.add(first)
  t.equal(lanes.take(), first)
})

t.test('a host that may be back is probed by one entry, and nothing starts for it meanwhile', async (t) => {
  const lanes = fillLanes({ 'a/x': 5, 'b/y': 5, 'a/z': 1 })
  let open = true
  const isOpen = (): boolean => open
  const bound: QueueEntry[] = []
  let putBack = 0
  for (let next = lanes.take(); next !== null; next = lanes.take()) {
    if (lanes.bind(next, next.domain === 'z' ? 'other' : 'mx', next.domain === 'z' ? null : isOpen)) bound.push(next)
    else putBack += 1
  }
  t.same(bound.map(({ domain }) => domain).sort(), ['x', 'z'], 'one for the host of both domains, and one elsewhere')
  t.ok(putBack >= 1)
  open = false
  t.equal(takeAll(lanes).length, 9, 'what has waited goes as soon as it is known')
})

t.test('when the entry that probes ends, another finds out', async (t) => {
  const lanes = fillLanes({ 'a/x': 3 })
  const [one, two] = [lanes.take(), lanes.take()]
  if (one === null || two === null) throw new Error('nothing to take')
  t.equal(
    lanes.bind(one, 'mx', () => true),
    true,
  )
  t.equal(
    lanes.bind(two, 'mx', () => true),
    false,
  )
  t.equal(lanes.take(), null)
  lanes.endAttempt(one)
  lanes.forget(one)
  const next = lanes.take()
  t.ok(next !== null && lanes.bind(next, 'mx', () => true))
  t.equal(lanes.take(), null)
})

t.test('a lane that was changed in the database is dropped, but for leased entries, and fetched anew', async (t) => {
  const lanes = fillLanes({ 'a/x': 4, 'a/y': 1 })
  const first = lanes.take()
  if (first === null) throw new Error('nothing to take')
  t.equal(first.domain, 'x')
  const kept = entry('a/x')
  lanes.add(kept)
  t.equal(lanes.drop(first, ({ id }) => id === kept.id).length, 3)
  t.same(lanes.takeShortLane(), { workspaceId: 'a', domain: 'x', priority: 1 })
  t.equal(lanes.takeShortLane(), null)
  t.same(takeAll(lanes).sort(), ['a/x', 'a/y'])
})

t.test('high goes before normal before low', async (t) => {
  const lanes = new Lanes(roomy)
  for (const priority of [2, 1, 0, 2, 1, 0] as const) lanes.add(entry('a/x', priority))
  t.same(
    Array.from({ length: 6 }, () => lanes.take()?.priority),
    [0, 0, 1, 1, 2, 2],
  )
})

t.test('no class waits for ever behind another', async (t) => {
  const lanes = new Lanes(roomy)
  lanes.add(entry('a/x', 2, 0))
  lanes.add(entry('a/x', 1, 9 * minute))
  lanes.add(entry('a/x', 0, 19 * minute))
  lanes.add(entry('a/x', 0, 21 * minute))
  t.same(
    Array.from({ length: 4 }, () =>
      [lanes.take()].map((next) => [next?.priority, (next?.next_attempt_at ?? 0) / minute]),
    ),
    [[[0, 19]], [[1, 9]], [[2, 0]], [[0, 21]]],
  )
})

t.test('high goes before low of other domains too', async (t) => {
  const lanes = fillLanes({})
  for (let n = 0; n < 50; n += 1) lanes.add(entry(`a/d${n}`, 2))
  lanes.add(entry('a/late', 0, minute))
  t.equal(lanes.take()?.domain, 'late')
})

t.test('domains that turn out to lie at one host share its places, and wait without taking one', async (t) => {
  const lanes = new Lanes({ ...roomy, total: 100, perDomain: 6 })
  for (let n = 0; n < 120; n += 1) lanes.add(entry(`a/d${n}`))
  const bound: QueueEntry[] = []
  const putBack: QueueEntry[] = []
  for (let next = lanes.take(); next !== null; next = lanes.take()) {
    if (next.domain === 'idle') break
    if (lanes.bind(next, 'mx')) bound.push(next)
    else putBack.push(next)
    if (putBack.length === 10) lanes.add(entry('a/idle'))
  }
  t.equal(bound.length, 4, 'all but two of the host')
  t.ok(putBack.length >= 10)
  const [first] = bound
  if (first === undefined) return
  lanes.endAttempt(first)
  lanes.forget(first)
  const learned = putBack.map(({ domain }) => domain)
  t.equal(learned.includes(lanes.take()?.domain as DomainName), true, 'its place goes to one that waits for that host')
  t.equal(
    takeAll(lanes).every((place) => !learned.includes(place.slice(2) as DomainName)),
    true,
    'and to one alone',
  )
})

t.test('the more workspaces wait, the less of each is in memory', async (t) => {
  const lanes = new Lanes({ ...roomy, perLane: 10, perWorkspace: 4000 })
  let inside = 0
  for (let workspace = 0; workspace < 500; workspace += 1) {
    for (let n = 0; n < 100; n += 1) if (lanes.add(entry(`w${workspace}/d${n}`))) inside += 1
  }
  t.ok(inside < 45_000, `${inside} of 50,000`)
  t.equal(lanes.add(entry('new/x')), true, 'a newcomer finds room')
})

t.test('what finds its lane full stays out, and is asked for when the lane is half empty', async (t) => {
  const lanes = fillLanes({ 'a/x': 4 }, { perLane: 4, total: 4, perDomain: 6 })
  t.equal(lanes.add(entry('a/x')), false)
  t.equal(lanes.add(entry('a/x', 0)), true, 'another class is another lane')
  t.equal(lanes.takeShortLane(), null)
  takeAll(lanes, 2)
  t.equal(lanes.takeShortLane(), null, 'one of the two was high')
  takeAll(lanes, 1)
  t.same(lanes.takeShortLane(), { workspaceId: 'a', domain: 'x', priority: 1 })
  t.equal(lanes.takeShortLane(), null, 'once')
})

t.test('a full workspace is refilled when there is room for a lane of it', async (t) => {
  const limits = { perLane: 4, perWorkspace: 8, total: 100, perDomain: 100 }
  const lanes = fillLanes({ 'a/x': 4, 'a/y': 4 }, limits)
  t.equal(lanes.add(entry('a/z')), false)
  t.equal(lanes.hasRoom('a'), false)
  t.equal(lanes.hasRoom('b'), true)
  takeAll(lanes, 3)
  t.equal(lanes.takeShortLane(), null, 'a place here and there is no reason to look')
  takeAll(lanes, 1)
  t.same(lanes.takeShortLane(), { workspaceId: 'a', domain: 'z', priority: 1 })
})

t.test('what is over leaves nothing in memory', async (t) => {
  const lanes = new Lanes({ ...roomy, perLane: 2 })
  for (let round = 0; round < 100; round += 1) {
    const all = Array.from({ length: 3 }, () => entry(`w${round}/d${round}`))
    for (const each of all) lanes.add(each)
    for (let next = lanes.take(); next !== null; next = lanes.take()) {
      lanes.endAttempt(next)
      lanes.forget(next)
    }
    lanes.takeShortLane()
  }
  type Sizes<Names extends string> = Record<Names, { readonly size: number }>
  const inside = lanes as unknown as Sizes<'workspaces' | 'known'> & { readonly places: Sizes<'byEntry' | 'counts'> }
  const { workspaces, known, places } = inside
  t.same([workspaces.size, known.size, places.byEntry.size, places.counts.size], [0, 0, 0, 0])
})

async function queueOf(database: Database, count: number, at: number): Promise<void> {
  const emails = Array.from({ length: count }, (_, n) =>
    bulkEmail({
      workspaceId: `ws_${n % 3}`,
      to: `r${n}@d${n % 7}.test`,
      at: at + (n % 5),
      priority: (['high', 'normal', 'low'] as const)[n % 3] ?? 'low',
    }),
  )
  await Promise.all(emails.map(({ writes }) => database.commit(writes)))
}

const remove = (id: string): { sql: string; parameters: string[] } => ({
  sql: 'delete from queue where id = ?',
  parameters: [id],
})

t.test('every entry is served once, however small memory is', async (t) => {
  const { database } = await temporaryDatabase(t)
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        perLane: fc.integer({ min: 1, max: 8 }),
        perWorkspace: fc.integer({ min: 1, max: 30 }),
        total: fc.integer({ min: 1, max: 10 }),
        perDomain: fc.integer({ min: 1, max: 6 }),
      }),
      async (limits) => {
        await queueOf(database, 120, 1000)
        const lanes = new Lanes(limits)
        const sweep = new DueSweep(database.read, lanes, limits.perLane)
        const served: string[] = []
        for (let idle = 0; idle < 3; ) {
          while (sweep.step(2000));
          const turns: QueueEntry[] = []
          for (let next = lanes.take(); next !== null; next = lanes.take()) turns.push(next)
          idle = turns.length === 0 ? idle + 1 : 0
          for (const turn of turns) lanes.endAttempt(turn)
          sweep.refillShortLanes(2000)
          await database.commit(turns.map(({ id }) => remove(id)))
          for (const turn of turns) {
            served.push(turn.id)
            lanes.forget(turn)
          }
        }
        if (served.length !== 120 || new Set(served).size !== 120) throw new Error(`${served.length} served`)
      },
    ),
    { numRuns: 25 },
  )
  t.pass('as asserted')
})

t.test('an entry is fetched when it becomes due, and a sweep keeps its place', async (t) => {
  const { database } = await temporaryDatabase(t)
  const add = async (to: string, at: number): Promise<QueueEntry> => {
    const { writes, entries } = bulkEmail({ workspaceId: 'ws_1', to, at })
    await database.commit(writes)
    return entries[0] as QueueEntry
  }
  const lanes = new Lanes(roomy)
  let reads = 0
  const read: Database['read'] = (sql, parameters) => {
    reads += 1
    return database.read(sql, parameters)
  }
  const sweep = new DueSweep(read, lanes, 400)
  const serve = (now: number): string[] => {
    sweep.step(now)
    const recipients: string[] = []
    for (let next = lanes.take(); next !== null; next = lanes.take()) {
      recipients.push(next.recipient)
      lanes.endAttempt(next)
      lanes.forget(next)
    }
    return recipients
  }
  const early = await add('early@b.test', 1000)
  await add('late@b.test', 5000)
  t.same(serve(2000), ['early@b.test'])
  t.same(serve(2000), [], 'it is not looked at again')
  t.same(serve(5000), ['late@b.test'])

  sweep.rewindTo(early)
  t.same(serve(5000), ['early@b.test', 'late@b.test'], 'one that was missed takes the sweep back to its place')
  sweep.reset()
  t.same(serve(5000), ['early@b.test', 'late@b.test'], 'a change from outside takes it back to the beginning')

  await add('back@b.test', 3000)
  t.same(serve(4000), ['early@b.test', 'back@b.test'], 'so does a clock that was set back')

  await database.commit([{ sql: 'update queue set held = 1', parameters: [] }])
  sweep.reset()
  t.same(serve(9000), [], 'what is held is not fetched')
  reads = 0
  await Promise.all(Array.from({ length: 500 }, (_, n) => add(`r${n}@b.test`, 9000)))
  t.equal(sweep.step(9000), true, 'a page at a time')
  t.equal(sweep.step(9000), true)
  t.equal(sweep.step(9000), false, 'the third is the last')
  t.ok(reads < 12, 'and no more reads than pages need')
})

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
