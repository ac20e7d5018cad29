/** The cursor over the events: nothing is lost, whatever the order of outcomes and wherever a crash comes. */
import fc from 'fast-check'
import t from 'tap'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import type { LoggedEvent } from '../../../src/workspaces/webhooks/event-pages.js'
import { EventWalk, type WalkEvent } from '../../../src/workspaces/webhooks/event-walk.js'

const PAGE_SIZE = 7

function buildEvent(seq: number): LoggedEvent {
  const type = seq % 3 === 0 ? 'email.queued' : 'email.delivered'
  return { seq, id: `evt_${seq}`, type, created_at: seq, data: toJson({}) }
}

interface World {
  readonly events: readonly LoggedEvent[]
  /** Ids of deliveries on disk. */
  readonly stored: Set<string>
  cursor: number
}

function openWalk(world: World, end: number | null = null): { walk: EventWalk; take: () => WalkEvent | null } {
  const accepts = ({ type }: LoggedEvent): boolean => type === 'email.delivered'
  const walk = new EventWalk({ id: 'wh_1', workspaceId: 'ws_1', cursor: world.cursor, end, idTime: null, accepts })
  const readEvents = (_: string, after: number): readonly LoggedEvent[] =>
    world.events.filter(({ seq }) => seq > after).slice(0, PAGE_SIZE)
  const isStored = (id: string): boolean => world.stored.has(id)
  const take = (): WalkEvent | null => {
    while (walk.mayTake) {
      const taken = walk.take({ events: { after: readEvents }, isStored })
      if (taken !== null) return taken
    }
    return null
  }
  return { walk, take }
}

function commit(world: World, walk: EventWalk, deliveries: readonly WalkEvent[]): void {
  const done = new Set(deliveries.map(({ event }) => event.seq))
  world.cursor = walk.cursorAfter(done)
  for (const { deliveryId } of deliveries) world.stored.add(deliveryId)
  walk.settle(done, world.cursor)
}

t.test('with any outcomes and crashes each event is attempted, and only those under way twice', async (t) => {
  const step = fc.record({ settle: fc.nat({ max: 5 }), take: fc.nat({ max: 9 }), crash: fc.boolean() })
  const property = fc.property(fc.array(step, { maxLength: 30 }), fc.integer({ min: 1, max: 60 }), (steps, count) => {
    const world: World = {
      events: Array.from({ length: count }, (_, at) => buildEvent(at + 1)),
      stored: new Set(),
      cursor: 0,
    }
    const attempts = new Map<number, number>()
    let lost = 0
    let { walk, take } = openWalk(world)
    let underWay: WalkEvent[] = []
    const takeSome = (limit: number): void => {
      for (let at = 0; at < limit; at += 1) {
        const taken = take()
        if (taken === null) return
        underWay.push(taken)
        attempts.set(taken.event.seq, (attempts.get(taken.event.seq) ?? 0) + 1)
      }
    }
    for (const { settle, take: some, crash } of steps) {
      takeSome(some)
      // From the end, so that later events are settled before earlier ones.
      if (underWay.length > 0) commit(world, walk, underWay.splice(-settle, settle))
      if (!crash) continue
      lost += underWay.length
      underWay = []
      ;({ walk, take } = openWalk(world))
    }
    takeSome(Number.POSITIVE_INFINITY)
    commit(world, walk, underWay)
    const expected = world.events.filter(({ type }) => type === 'email.delivered')
    const total = [...attempts.values()].reduce((sum, each) => sum + each, 0)
    return (
      expected.every(({ seq }) => attempts.has(seq)) &&
      attempts.size === expected.length &&
      total <= expected.length + lost &&
      world.cursor === count
    )
  })
  fc.assert(property)
  t.pass()
})

t.test('what is given back comes again before newer events', async (t) => {
  const world: World = {
    events: Array.from({ length: 20 }, (_, at) => buildEvent(at + 1)),
    stored: new Set(),
    cursor: 0,
  }
  const { walk, take } = openWalk(world)
  const taken = [take(), take(), take()].flatMap((each) => (each === null ? [] : [each]))
  for (const each of taken.toReversed()) walk.giveBack(each)
  t.equal(walk.cursorAfter(new Set()), 0, 'the cursor stays before them')
  t.same([take(), take(), take()], taken)
})

t.test('an event is not passed when the database fails while it is looked up', async (t) => {
  const events = Array.from({ length: 5 }, (_, at) => buildEvent(at + 1))
  const world: World = { events, stored: new Set(), cursor: 0 }
  const { walk, take } = openWalk(world)
  let faults = 2
  const readEvents = (_: string, after: number): readonly LoggedEvent[] => events.filter(({ seq }) => seq > after)
  const isStored = (): boolean => {
    faults -= 1
    if (faults >= 0) throw new Error('the disk fails')
    return false
  }
  t.throws(() => walk.take({ events: { after: readEvents }, isStored }))
  t.throws(() => walk.take({ events: { after: readEvents }, isStored }))
  t.equal(walk.take({ events: { after: readEvents }, isStored })?.event.seq, 1)
  t.equal(take()?.event.seq, 2)
})

t.test('a walk goes no further than 1,000 events beyond the oldest that is not settled', async (t) => {
  const world: World = {
    events: Array.from({ length: 3_000 }, (_, at) => buildEvent(at + 1)),
    stored: new Set(),
    cursor: 0,
  }
  const { walk, take } = openWalk(world)
  const taken: WalkEvent[] = []
  for (let next = take(); next !== null; next = take()) taken.push(next)
  t.equal(taken.length, 1_000)
  commit(world, walk, taken.slice(1))
  t.equal(take(), null)
  t.equal(world.cursor, 0)
  commit(world, walk, taken.slice(0, 1))
  t.ok(take())
})

t.test('a walk with an end is complete when the last event of the range is settled', async (t) => {
  const world: World = {
    events: Array.from({ length: 30 }, (_, at) => buildEvent(at + 1)),
    stored: new Set(),
    cursor: 9,
  }
  const { walk, take } = openWalk(world, 20)
  const taken: WalkEvent[] = []
  for (let next = take(); next !== null; next = take()) taken.push(next)
  t.same(
    taken.map(({ event }) => event.seq),
    [10, 11, 13, 14, 16, 17, 19, 20],
  )
  t.notOk(walk.isComplete)
  t.ok(walk.isCompleteAfter(new Set(taken.map(({ event }) => event.seq))))
  commit(world, walk, taken)
  t.ok(walk.isComplete)
})
