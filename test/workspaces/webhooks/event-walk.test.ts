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

function openWalk(world: World, end: number | null = null): { walk: EventWalk; take: () => Promise<WalkEvent | null> } {
  const accepts = ({ type }: LoggedEvent): boolean => type === 'email.delivered'
  const walk = new EventWalk({
    ...{ id: 'wh_1', workspaceId: 'ws_1', slot: 0, cursor: world.cursor },
    ...{ end, idTime: null, accepts },
  })
  const readEvents = async (_: string, after: number): Promise<readonly LoggedEvent[]> =>
    world.events.filter(({ seq }) => seq > after).slice(0, PAGE_SIZE)
  const isStored = async (id: string): Promise<boolean> => world.stored.has(id)
  const take = async (): Promise<WalkEvent | null> => {
    while (walk.mayTake) {
      const taken = await walk.take({ events: { after: readEvents }, isStored })
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
  const property = fc.asyncProperty(
    fc.array(step, { maxLength: 30 }),
    fc.integer({ min: 1, max: 60 }),
    async (steps, count) => {
      const world: World = {
        events: Array.from({ length: count }, (_, at) => buildEvent(at + 1)),
        stored: new Set(),
        cursor: 0,
      }
      const attempts = new Map<number, number>()
      let lost = 0
      let { walk, take } = openWalk(world)
      let underWay: WalkEvent[] = []
      const takeSome = async (limit: number): Promise<void> => {
        for (let at = 0; at < limit; at += 1) {
          const taken = await take()
          if (taken === null) return
          underWay.push(taken)
          attempts.set(taken.event.seq, (attempts.get(taken.event.seq) ?? 0) + 1)
        }
      }
      for (const { settle, take: some, crash } of steps) {
        await takeSome(some)
        // From the end, so that later events are settled before earlier ones.
        if (underWay.length > 0) commit(world, walk, underWay.splice(-settle, settle))
        if (!crash) continue
        lost += underWay.length
        underWay = []
        ;({ walk, take } = openWalk(world))
      }
      await takeSome(Number.POSITIVE_INFINITY)
      commit(world, walk, underWay)
      const expected = world.events.filter(({ type }) => type === 'email.delivered')
      const total = [...attempts.values()].reduce((sum, each) => sum + each, 0)
      return (
        expected.every(({ seq }) => attempts.has(seq)) &&
        attempts.size === expected.length &&
        total <= expected.length + lost &&
        world.cursor === count
      )
    },
  )
  await fc.assert(property)
  t.pass()
})

t.test('what is given back comes again before newer events', async (t) => {
  const world: World = {
    events: Array.from({ length: 20 }, (_, at) => buildEvent(at + 1)),
    stored: new Set(),
    cursor: 0,
  }
  const { walk, take } = openWalk(world)
  const taken = [await take(), await take(), await take()].flatMap((each) => (each === null ? [] : [each]))
  for (const each of taken.toReversed()) walk.giveBack(each)
  t.equal(walk.cursorAfter(new Set()), 0, 'the cursor stays before them')
  t.same([await take(), await take(), await take()], taken)
})

t.test('an event is not passed when the database fails while it is looked up', async (t) => {
  const events = Array.from({ length: 5 }, (_, at) => buildEvent(at + 1))
  const world: World = { events, stored: new Set(), cursor: 0 }
  const { walk, take } = openWalk(world)
  let faults = 2
  const readEvents = async (_: string, after: number): Promise<readonly LoggedEvent[]> =>
    events.filter(({ seq }) => seq > after)
  const isStored = async (): Promise<boolean> => {
    faults -= 1
    if (faults >= 0) throw new Error('the disk fails')
    return false
  }
  await t.rejects(() => walk.take({ events: { after: readEvents }, isStored }))
  await t.rejects(() => walk.take({ events: { after: readEvents }, isStored }))
  t.equal((await walk.take({ events: { after: readEvents }, isStored }))?.event.seq, 1)
  t.equal((await take())?.event.seq, 2)
})

t.test('an event that comes while a page is read is not missed', async (t) => {
  const events = [buildEvent(1)]
  const { walk } = openWalk({ events, stored: new Set(), cursor: 0 })
  const isStored = async (): Promise<boolean> => false
  const readEvents = async (_: string, after: number): Promise<readonly LoggedEvent[]> => {
    const page = events.filter(({ seq }) => seq > after)
    if (after === 1) {
      events.push(buildEvent(2))
      walk.wake()
    }
    return page
  }
  const take = async () => (await walk.take({ events: { after: readEvents }, isStored }))?.event.seq
  t.equal(await take(), 1)
  t.equal(await take(), undefined, 'the page was read before the event')
  t.ok(walk.mayTake)
  t.equal(await take(), 2)
})

t.test('a walk goes no further than 1,000 events beyond the oldest that is not settled', async (t) => {
  const world: World = {
    events: Array.from({ length: 3_000 }, (_, at) => buildEvent(at + 1)),
    stored: new Set(),
    cursor: 0,
  }
  const { walk, take } = openWalk(world)
  const taken: WalkEvent[] = []
  for (let next = await take(); next !== null; next = await take()) taken.push(next)
  t.equal(taken.length, 1_000)
  commit(world, walk, taken.slice(1))
  t.equal(await take(), null)
  t.equal(world.cursor, 0)
  commit(world, walk, taken.slice(0, 1))
  t.ok(await take())
})

t.test('a walk with an end is complete when the last event of the range is settled', async (t) => {
  const world: World = {
    events: Array.from({ length: 30 }, (_, at) => buildEvent(at + 1)),
    stored: new Set(),
    cursor: 9,
  }
  const { walk, take } = openWalk(world, 20)
  const taken: WalkEvent[] = []
  for (let next = await take(); next !== null; next = await take()) taken.push(next)
  t.same(
    taken.map(({ event }) => event.seq),
    [10, 11, 13, 14, 16, 17, 19, 20],
  )
  t.notOk(walk.isComplete)
  t.ok(walk.isCompleteAfter(new Set(taken.map(({ event }) => event.seq))))
  commit(world, walk, taken)
  t.ok(walk.isComplete)
})
