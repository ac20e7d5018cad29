/** What is recorded of the messages of broadcasts: the recorder over a real database. */
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import { StorageFault, type Write } from '../../../src/base/storage/db/write.js'
import { nameBroadcastLink } from '../../../src/outbound/tracking/broadcast-links.js'
import type { Hit } from '../../../src/outbound/tracking/hit.js'
import { HitRecorder } from '../../../src/outbound/tracking/recorder.js'
import { sentBroadcast } from '../../helpers/database/broadcast.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const NOW = Date.UTC(2026, 10, 22)
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'
const MACHINE = 'Mozilla/5.0 (compatible; Slackbot 1.0)'
const urlOf = (place: number): string => `https://example.com/${place}`

interface World {
  readonly database: Database
  readonly recorder: HitRecorder
  readonly emailId: string
  /** The commit of the next batch is made, and its answer lost. */
  readonly loseAnswer: () => void
  readonly commits: () => number
  /** Waits until the batch is stored. */
  readonly flush: () => Promise<void>
}

async function createWorld(t: Test, links = 5): Promise<World> {
  const { database } = await temporaryDatabase(t)
  const urls = Array.from({ length: links }, (_, place) => urlOf(place))
  const at = NOW - 120_000
  const sent = await sentBroadcast(database.read, {
    ...{ workspaceId: 'ws_1', to: ['bob@b.test'], at, links: urls, deliveredAt: NOW - 60_000 },
  })
  await database.commit(sent.writes)
  let [lost, commits] = [false, 0]
  const commit = async (writes: readonly Write[]): Promise<void> => {
    commits += 1
    await database.commit(writes)
    if (!lost) return
    lost = false
    throw new StorageFault('SQLITE_ABORT', 'the writer ended')
  }
  const log = { warn: () => undefined, error: (fields: unknown) => t.fail('an error was logged', { fields }) }
  const recorder = new HitRecorder({ read: database.read, commit, clock: () => NOW, log, retryDelay: 5 })
  t.teardown(() => recorder.stop())
  return {
    ...{ database, recorder, emailId: sent.messages[0]?.emailId ?? '', commits: () => commits },
    loseAnswer: () => {
      lost = true
    },
    // At its end a recorder stores what waits, and it can be used again.
    flush: () => recorder.stop(),
  }
}

type Requester = Partial<Pick<Hit, 'address' | 'userAgent' | 'at'>>

const person = { userAgent: BROWSER, address: '192.0.2.1', at: NOW }

const openOf = ({ emailId }: World, by: Requester = {}): Hit => ({ kind: 'open', emailId, ...person, ...by })

function clickOf({ emailId }: World, place: number, by: Requester = {}): Hit {
  const url = urlOf(place)
  return { kind: 'click', emailId, linkId: nameBroadcastLink(url), url, referer: null, ...person, ...by }
}

interface Row {
  readonly type: string
  readonly machine: 0 | 1
  readonly url: string | null
}

async function eventsOf({ database }: World): Promise<Row[]> {
  const rows = await database.read<{ type: string; data: string }>(
    `select type, data from events where type in ('email.opened', 'email.clicked') order by seq`,
    [],
  )
  return rows.map(({ type, data }) => {
    const { machine, url = null } = JSON.parse(data) as { machine: boolean; url?: string }
    return { type, machine: machine ? 1 : 0, url }
  })
}

const timesOf = async ({ database }: World): Promise<unknown> =>
  (await database.read('select opened_at, clicked_at from emails', []))[0]
const countsOf = async ({ database }: World): Promise<unknown> =>
  (await database.read('select unique_opens, unique_clicks from broadcast_counts', []))[0]

t.test('two in one batch, and later ones, count once', async (t) => {
  const world = await createWorld(t)
  for (const round of [0, 1]) {
    world.recorder.record(openOf(world, { at: NOW + round }))
    world.recorder.record(openOf(world, { at: NOW + round, address: '192.0.2.2' }))
    world.recorder.record(clickOf(world, 0, { at: NOW + round }))
    world.recorder.record(clickOf(world, 1, { at: NOW + round, address: '192.0.2.2' }))
    await world.flush()
  }
  t.same(await eventsOf(world), [
    { type: 'email.opened', machine: 0, url: null },
    { type: 'email.clicked', machine: 0, url: urlOf(0) },
  ])
  t.same(await timesOf(world), { opened_at: NOW, clicked_at: NOW })
  t.same(await countsOf(world), { unique_opens: 1, unique_clicks: 1 })
  t.equal(world.commits(), 1, 'what repeats makes no commit')
})

t.test('one event of a machine each, which sets nothing, and a person after it counts', async (t) => {
  const world = await createWorld(t)
  for (const round of [0, 1]) {
    for (const hit of [openOf(world, { userAgent: MACHINE }), clickOf(world, 0, { userAgent: MACHINE })]) {
      world.recorder.record(hit)
      world.recorder.record(hit)
    }
    await world.flush()
    t.same(await eventsOf(world), [
      { type: 'email.opened', machine: 1, url: null },
      { type: 'email.clicked', machine: 1, url: urlOf(0) },
    ])
    t.same(
      [await timesOf(world), await countsOf(world)],
      [
        { opened_at: null, clicked_at: null },
        { unique_opens: 0, unique_clicks: 0 },
      ],
      `round ${round}`,
    )
  }
  world.recorder.record(openOf(world))
  world.recorder.record(clickOf(world, 3))
  await world.flush()
  t.same((await eventsOf(world)).slice(2), [
    { type: 'email.opened', machine: 0, url: null },
    { type: 'email.clicked', machine: 0, url: urlOf(3) },
  ])
  t.same(await timesOf(world), { opened_at: NOW, clicked_at: NOW })
})

t.test('a batch whose answer was lost counts once', async (t) => {
  const world = await createWorld(t)
  world.loseAnswer()
  world.recorder.record(openOf(world))
  world.recorder.record(clickOf(world, 0))
  await new Promise((resolve) => setTimeout(resolve, 200))
  await world.flush()
  t.equal((await eventsOf(world)).length, 2)
  t.same(await countsOf(world), { unique_opens: 1, unique_clicks: 1 })
})

t.test('a click that a sweep shows to be a machine’s is taken back', async (t) => {
  for (const [name, together] of [
    ['in one commit', true],
    ['in two commits', false],
  ] as const) {
    const world = await createWorld(t)
    world.recorder.record(clickOf(world, 0))
    if (!together) {
      await world.flush()
      t.same(await countsOf(world), { unique_opens: 0, unique_clicks: 1 })
    }
    for (const place of [0, 1, 2, 3]) world.recorder.record(clickOf(world, place))
    await world.flush()
    t.same(await eventsOf(world), [{ type: 'email.clicked', machine: 1, url: urlOf(0) }], name)
    t.same(
      [await timesOf(world), await countsOf(world)],
      [
        { opened_at: null, clicked_at: null },
        { unique_opens: 0, unique_clicks: 0 },
      ],
      name,
    )
    world.recorder.record(clickOf(world, 4, { address: '198.51.100.7', at: NOW + 5 }))
    await world.flush()
    t.same(
      (await eventsOf(world)).slice(1),
      [{ type: 'email.clicked', machine: 0, url: urlOf(4) }],
      'a person afterwards',
    )
    t.same(
      [await timesOf(world), await countsOf(world)],
      [
        { opened_at: null, clicked_at: NOW + 5 },
        { unique_opens: 0, unique_clicks: 1 },
      ],
      name,
    )
  }
})

t.test(
  'a click that was recorded as a person’s stays beside that of a machine, and sweeps without end add few',
  async (t) => {
    const world = await createWorld(t)
    world.recorder.record(clickOf(world, 4, { userAgent: MACHINE, address: '198.51.100.7' }))
    for (let round = 1; round <= 20; round += 1) {
      for (const place of [0, 1, 2]) world.recorder.record(clickOf(world, place, { address: `192.0.2.${round}` }))
      if (round % 3 === 0) await world.flush()
      if (round === 3)
        t.same(
          (await eventsOf(world)).map(({ machine }) => machine),
          [1, 1, 1, 1],
        )
    }
    await world.flush()
    t.same(
      (await eventsOf(world)).map(({ machine }) => machine),
      [1, 1, 1, 1, 1, 0],
      'from then on a click stays a person’s',
    )
    t.same(await countsOf(world), { unique_opens: 0, unique_clicks: 1 })
  },
)

t.test('a broadcast with few links has no sweeps', async (t) => {
  const world = await createWorld(t, 3)
  for (const place of [0, 1, 2]) world.recorder.record(clickOf(world, place))
  await world.flush()
  t.same(await eventsOf(world), [{ type: 'email.clicked', machine: 0, url: urlOf(0) }])
})

t.test(
  'whatever is requested: at most one event of a person each, few of machines, and the times and counts are those of persons',
  async (t) => {
    const world = await createWorld(t)
    const { database, emailId } = world
    const step = fc.oneof(
      { weight: 1, arbitrary: fc.constant('flush' as const) },
      {
        weight: 6,
        arbitrary: fc.record({
          place: fc.constantFrom(null, 0, 1, 2, 3, 4),
          address: fc.constantFrom('192.0.2.1', '192.0.2.2', '2001:db8::1'),
          userAgent: fc.constantFrom(BROWSER, BROWSER, MACHINE),
          wait: fc.constantFrom(0, 10, 4_000, 20_000),
        }),
      },
    )
    // Sweeps remember clicks: each history has its own day.
    let day = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        day += 1
        let at = NOW + day * 86_400_000
        await database.commit([
          { sql: `delete from events where type in ('email.opened', 'email.clicked')`, parameters: [] },
          { sql: 'update emails set opened_at = null, clicked_at = null', parameters: [] },
          { sql: 'update broadcast_counts set unique_opens = 0, unique_clicks = 0', parameters: [] },
        ])
        for (const one of steps) {
          if (one === 'flush') {
            await world.flush()
            continue
          }
          at += one.wait
          const by = { address: one.address, userAgent: one.userAgent, at }
          world.recorder.record(one.place === null ? openOf(world, by) : clickOf(world, one.place, by))
        }
        await world.flush()
        for (const [type, column, count] of [
          ['email.opened', 'opened_at', 'unique_opens'],
          ['email.clicked', 'clicked_at', 'unique_clicks'],
        ]) {
          const events = (await eventsOf(world)).filter((event) => event.type === type)
          const [persons, machines] = [0, 1].map(
            (machine) => events.filter((event) => event.machine === machine).length,
          )
          const [row] = await database.read<{ at: number | null; counted: number }>(
            `select emails.${column} as at, broadcast_counts.${count} as counted from emails, broadcast_counts where emails.id = ?`,
            [emailId],
          )
          if ((persons ?? 0) > 1 || (machines ?? 0) > (type === 'email.opened' ? 1 : 5))
            throw new Error(JSON.stringify(events))
          if ((row?.at !== null) !== (persons === 1)) throw new Error(`${column} ${row?.at}: ${JSON.stringify(events)}`)
          if (row?.counted !== persons) throw new Error(`${count} ${row?.counted}: ${JSON.stringify(events)}`)
        }
      }),
      { numRuns: 60 },
    )
  },
)
