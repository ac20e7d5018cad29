/** Whose turn it is, in memory; and how the sweep keeps memory supplied from the database. */

import t from 'tap'
import type { Address, DomainName } from '../../../../src/base/mail/address.js'
import { type LaneLimits, Lanes } from '../../../../src/outbound/delivery/queue/lanes.js'
import type { QueueEntry } from '../../../../src/records/messages/queue/queue.js'
import { ownOwners } from '../../../helpers/free-pace.js'

const roomy: LaneLimits = { total: 100, perHost: 10, perLane: 400, perWorkspace: 4000 }
const minute = 60_000

const unpaced = { mayBegin: () => true, noteBulk: () => undefined, noteOther: () => undefined }

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
    broadcast_id: null,
  }
}

function fillLanes(places: Readonly<Record<string, number>>, limits: Partial<LaneLimits> = {}): Lanes {
  const lanes = new Lanes(() => ({ ...roomy, ...limits }), unpaced, ownOwners)
  for (const [place, count] of Object.entries(places)) {
    for (let n = 0; n < count; n += 1) lanes.add(entry(place))
  }
  return lanes
}

/** Workspace and domain of the next entries that may start. */
function takeAll(lanes: Lanes, limit = Number.POSITIVE_INFINITY): string[] {
  const places: string[] = []
  while (places.length < limit) {
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
    takeAll(fillLanes({ 'a/x': 2 }, { total: 1, perHost: 1 })),
    ['a/x'],
    'the only session may be given to any workspace',
  )
})

t.test('an attempt that has ended makes room', async (t) => {
  const lanes = new Lanes(() => ({ ...roomy, total: 1 }), unpaced, ownOwners)
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
  const lanes = new Lanes(() => roomy, unpaced, ownOwners)
  for (const priority of [2, 1, 0, 2, 1, 0] as const) lanes.add(entry('a/x', priority))
  t.same(
    Array.from({ length: 6 }, () => lanes.take()?.priority),
    [0, 0, 1, 1, 2, 2],
  )
})

t.test('no class waits for ever behind another', async (t) => {
  const lanes = new Lanes(() => roomy, unpaced, ownOwners)
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

t.test('domains that turn out to lie at one host share its room, and hold none while they wait', async (t) => {
  const lanes = new Lanes(() => ({ ...roomy, total: 100, perHost: 3 }), unpaced, ownOwners)
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
  t.equal(
    learned.includes(lanes.take()?.domain as DomainName),
    true,
    'its room goes to an entry that waits for that host',
  )
  t.equal(
    takeAll(lanes).every((place) => !learned.includes(place.slice(2) as DomainName)),
    true,
    'and to one alone',
  )
})

t.test('the more workspaces wait, the less of each is in memory', async (t) => {
  const lanes = new Lanes(() => ({ ...roomy, perLane: 10, perWorkspace: 4000 }), unpaced, ownOwners)
  let inside = 0
  for (let workspace = 0; workspace < 500; workspace += 1) {
    for (let n = 0; n < 100; n += 1) if (lanes.add(entry(`w${workspace}/d${n}`))) inside += 1
  }
  t.ok(inside < 45_000, `${inside} of 50,000`)
  t.equal(lanes.add(entry('new/x')), true, 'a newcomer finds room')
})

t.test('what finds its lane full stays out, and is asked for when the lane is half empty', async (t) => {
  const lanes = fillLanes({ 'a/x': 4 }, { perLane: 4, total: 4, perHost: 3 })
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
  const limits = { perLane: 4, perWorkspace: 8, total: 100, perHost: 50 }
  const lanes = fillLanes({ 'a/x': 4, 'a/y': 4 }, limits)
  t.equal(lanes.add(entry('a/z')), false)
  t.equal(lanes.hasRoom('a'), false)
  t.equal(lanes.hasRoom('b'), true)
  takeAll(lanes, 3)
  t.equal(lanes.takeShortLane(), null, 'room for a few is no reason to read')
  takeAll(lanes, 1)
  t.same(lanes.takeShortLane(), { workspaceId: 'a', domain: 'z', priority: 1 })
})

t.test('what is over leaves nothing in memory', async (t) => {
  const lanes = new Lanes(() => ({ ...roomy, perLane: 2 }), unpaced, ownOwners)
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
  const inside = lanes as unknown as Sizes<'workspaces' | 'entryIds'> & {
    readonly hosts: Sizes<'placeByEntry' | 'states'>
  }
  const { workspaces, entryIds, hosts } = inside
  t.same([workspaces.size, entryIds.size, hosts.placeByEntry.size, hosts.states.size], [0, 0, 0, 0])
})

const ofBroadcast = (place: string, broadcastId: string): QueueEntry => ({
  ...entry(place, 2),
  broadcast_id: broadcastId,
})

t.test('a stopped broadcast is dropped and stays out, and other mail of its lane goes on', async (t) => {
  const lanes = new Lanes(() => roomy, unpaced, ownOwners)
  for (let n = 0; n < 5; n += 1) lanes.add(ofBroadcast('a/x', 'stopped'))
  const [other, plain] = [ofBroadcast('a/x', 'other'), entry('a/x', 2)]
  lanes.add(other)
  lanes.add(plain)
  const taken = lanes.take()
  t.equal(lanes.stopBroadcast('stopped').length, 4, 'one is under way')
  t.equal(taken !== null && lanes.isStopped(taken), true, 'and will not be attempted')
  t.equal(lanes.add(ofBroadcast('a/x', 'stopped')), true, 'it stays in the database, and its lane is not short')
  t.same([lanes.take(), lanes.take(), lanes.take()], [other, plain, null])
  lanes.resumeBroadcast('stopped')
  lanes.add(ofBroadcast('a/x', 'stopped'))
  t.equal(lanes.take()?.broadcast_id, 'stopped')
})

t.test('broadcasts get half of the attempts, and other mail is next whatever waits of them', async (t) => {
  const lanes = new Lanes(() => ({ ...roomy, total: 10, perHost: 1000 }), unpaced, ownOwners)
  for (let n = 0; n < 20; n += 1) lanes.add(ofBroadcast(`${n % 2 === 0 ? 'a' : 'b'}/d${n}`, 'news'))
  t.equal(takeAll(lanes).length, 5)
  const mail = entry('a/x')
  t.equal(lanes.isFreeFor(mail), true, 'its first attempt may be counted with its acceptance')
  lanes.add(mail)
  t.equal(lanes.take(), mail)
})

t.test('a broadcast whose hosts all hang leaves places to those of other workspaces', async (t) => {
  const lanes = new Lanes(() => ({ ...roomy, total: 16, perHost: 1000 }), unpaced, ownOwners)
  const hanging = Array.from({ length: 20 }, (_, n) => ofBroadcast(`a/d${n}`, 'news'))
  for (const one of hanging) lanes.add(one)
  t.equal(takeAll(lanes).length, 6)
  lanes.add(ofBroadcast('b/x', 'other news'))
  t.same(takeAll(lanes), ['b/x'])
  for (const one of hanging.slice(0, 3)) lanes.endAttempt(one)
  t.equal(takeAll(lanes).length, 3, 'what ends makes room')
})

t.test('a broadcast that has to yield waits, and says so', async (t) => {
  const lanes = new Lanes(() => roomy, { ...unpaced, mayBegin: () => false }, ownOwners)
  lanes.add(ofBroadcast('a/x', 'news'))
  t.same([lanes.take(), lanes.waitsForPace], [null, true])
  const mail = entry('a/x')
  lanes.add(mail)
  t.equal(lanes.take(), mail)
})

t.test('many domains behind one busy host leave turns and room to other mail of their workspace', async (t) => {
  const lanes = new Lanes(() => ({ ...roomy, perHost: 2, perLane: 100, perWorkspace: 1000 }), unpaced, ownOwners)
  for (let n = 0; n < 900; n += 1) lanes.add(entry(`a/d${n}`))
  let under = 0
  for (let next = lanes.take(); next !== null; next = lanes.take()) if (lanes.bind(next, 'mx')) under += 1
  t.equal(under, 2, 'all but one of the sessions of the host, and as many entries behind them')
  const fresh = entry('a/free')
  t.ok(lanes.isFreeFor(fresh), 'what waits for a busy host is not before it')
  t.ok(lanes.add(fresh))
  t.equal(lanes.take(), fresh)
  t.notOk(lanes.add(entry('a/d1')), 'the host has its half of the memory')
  t.equal(lanes.takeShortLane(), null, 'and its lanes are not refilled')
  for (let n = 0; n < 50; n += 1) t.ok(lanes.add(entry('a/other')))
})

t.test('workspaces of one owner share turns, slots and hosts', async (t) => {
  const owners = { ownerOf: (workspaceId: string) => workspaceId.replace(/\d/, '') }
  const lanes = new Lanes(() => ({ ...roomy, total: 4, perHost: 3 }), unpaced, owners)
  for (let n = 0; n < 9; n += 1) lanes.add(entry(`a${n}/x`))
  lanes.add(entry('b1/y'))
  lanes.add(entry('b1/x'))
  t.same(takeAll(lanes), ['a0/x', 'b1/y', 'a1/x', 'b1/x'])
  const hosts = new Lanes(() => ({ ...roomy, perHost: 2 }), unpaced, owners)
  for (let n = 0; n < 9; n += 1) hosts.add(entry(`a${n}/x`))
  t.equal(takeAll(hosts).length, 2, 'all but one of the sessions of the host, and as many entries behind them')
})

t.test('an entry takes the slot of an attempt that lasts, and until one does says that it waits', async (t) => {
  const time = { now: 0 }
  const lanes = new Lanes(
    () => ({ ...roomy, total: 2, perHost: 1000 }),
    unpaced,
    ownOwners,
    undefined,
    () => time.now,
  )
  for (let n = 0; n < 9; n += 1) lanes.add(entry('a/stalls'))
  t.same(takeAll(lanes), ['a/stalls', 'a/stalls'])
  t.equal(lanes.waitsForSlot, true)
  lanes.add(entry('b/x'))
  t.same(takeAll(lanes), ['b/x'], 'an owner without attempts waits for nobody')
  lanes.add(entry('b/x'))
  t.same(takeAll(lanes), [])
  time.now = 1_000
  t.same(takeAll(lanes, 2), ['a/stalls', 'b/x'])
  t.equal(lanes.active, 5, 'those that lost their slots go on')
})
