/** The recorder over a real database: batches, bounds, faults of the disk, and the end. */
import t, { type Test } from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import { uuidv7 } from '../../../src/base/platform/ids.js'
import type { Database } from '../../../src/base/storage/db/database.js'
import { StorageFault, type Write } from '../../../src/base/storage/db/write.js'
import { type ClickHit, type Hit, sizeOfHit } from '../../../src/outbound/tracking/hit.js'
import { HitRecorder } from '../../../src/outbound/tracking/recorder.js'
import { bulkEmail } from '../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'
import { waitUntil } from '../../helpers/wait-until.js'

const NOW = Date.UTC(2026, 10, 22)
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'
const URL_OF_LINK = 'https://example.com/'

interface World {
  readonly database: Database
  readonly recorder: HitRecorder
  readonly emailId: string
  readonly warnings: unknown[]
  readonly errors: unknown[]
  readonly commits: () => number
  /** Statements of all commits. */
  readonly writes: () => number
  /** What commits do: the error of each, until the list is empty. */
  readonly faults: Fault[]
  readonly events: () => Promise<number>
}

interface Fault {
  readonly error: Error
  /** It was made all the same. */
  readonly stored?: true
}

async function createWorld(t: Test, options: { readonly maxWaiting?: number } = {}): Promise<World> {
  const { database } = await temporaryDatabase(t)
  const { email, writes } = bulkEmail({ workspaceId: 'ws_1', to: 'bob@b.test', at: NOW - 60_000 })
  const link = { id: 'link', workspace_id: 'ws_1', email_id: email.id, url: URL_OF_LINK, clicks: 0 }
  await database.commit([
    ...writes,
    { sql: 'update emails set track_opens = 1, track_clicks = 1', parameters: [] },
    { sql: 'update recipients set delivered_at = ?', parameters: [NOW - 30_000] },
    await rowOf(database.read)('links', link),
  ])
  const faults: Fault[] = []
  let [commits, statements] = [0, 0]
  const commit = async (given: readonly Write[]): Promise<void> => {
    commits += 1
    statements += given.length
    const fault = faults.shift()
    if (fault === undefined || fault.stored) await database.commit(given)
    if (fault !== undefined) throw fault.error
  }
  const [warnings, errors]: [unknown[], unknown[]] = [[], []]
  const log = { warn: (line: unknown) => void warnings.push(line), error: (line: unknown) => void errors.push(line) }
  const { read } = database
  const recorder = new HitRecorder({ read, commit, clock: () => NOW, log, retryDelay: 5, ...options })
  t.teardown(() => recorder.stop())
  const events = async (): Promise<number> =>
    (await read<{ count: number }>('select count(*) as count from events', []))[0]?.count ?? 0
  const before = await events()
  return {
    ...{ database, recorder, emailId: email.id, warnings, errors, faults },
    commits: () => commits,
    writes: () => statements,
    events: async () => (await events()) - before,
  }
}

const open = (emailId: string, address = '192.0.2.1'): Hit => ({
  ...{ kind: 'open', emailId, userAgent: BROWSER, address, at: NOW },
})
const click = (emailId: string): ClickHit => ({
  ...{ kind: 'click', emailId, linkId: 'link', url: URL_OF_LINK, referer: null },
  ...{ userAgent: BROWSER, address: '192.0.2.1', at: NOW },
})
const clicksOf = async ({ database }: World): Promise<unknown> =>
  (await database.read('select clicks, first_clicked_at, last_clicked_at from links', []))[0]

/** What the events of a type have, in their order. */
async function dataOf({ database }: World, type: string): Promise<readonly Record<string, unknown>[]> {
  const rows = await database.read<{ recipient: string; data: string }>(
    'select recipient, data from events where type = ? order by seq',
    [type],
  )
  return rows.map(({ recipient, data }) => ({ ...(JSON.parse(data) as object), recipient }))
}

const disk = new StorageFault('SQLITE_FULL', 'the disk is full')

t.test('hits of a moment are one commit', async (t) => {
  const world = await createWorld(t)
  for (let hit = 0; hit < 100; hit += 1)
    world.recorder.record(hit % 2 === 0 ? open(world.emailId) : click(world.emailId))
  t.equal(world.commits(), 0, 'later')
  await waitUntil('they are stored', async () => (await world.events()) === 100)
  t.equal(world.commits(), 1)
  t.same(await clicksOf(world), { clicks: 50, first_clicked_at: NOW, last_clicked_at: NOW })
})

t.test('more hits are batches in their order', async (t) => {
  const world = await createWorld(t)
  for (let hit = 0; hit < 450; hit += 1) world.recorder.record({ ...open(world.emailId), at: NOW + hit })
  await world.recorder.stop()
  t.equal(await world.events(), 450)
  t.equal(world.commits(), 5)
  const opened = await world.database.read<{ opened_at: number }>('select opened_at from emails', [])
  t.same(opened, [{ opened_at: NOW }], 'the first open counts')
  const times = (await dataOf(world, 'email.opened')).map(({ opened_at }) => String(opened_at))
  t.same(times, times.toSorted())
})

t.test('what does not fit in memory is left out and counted', async (t) => {
  const world = await createWorld(t, { maxWaiting: 10 * sizeOfHit(open('')) })
  for (let hit = 0; hit < 25; hit += 1) world.recorder.record(open(world.emailId))
  await world.recorder.stop()
  t.equal(await world.events(), 10)
  t.same(world.warnings, [{ left_out: 1 }, { left_out: 14 }])
})

t.test('a long URL takes the room of many hits, until it is recorded', async (t) => {
  const long: ClickHit = { ...click(''), url: `https://example.com/${'x'.repeat(8_000)}` }
  const world = await createWorld(t, { maxWaiting: sizeOfHit(long) })
  for (let round = 1; round <= 2; round += 1) {
    world.recorder.record({ ...long, emailId: world.emailId })
    world.recorder.record(open(world.emailId))
    await waitUntil('it is stored', async () => (await world.events()) === round)
  }
  await world.recorder.stop()
  t.equal(await world.events(), 2)
  t.same(world.warnings, [{ left_out: 1 }, { left_out: 1 }])
})

t.test('an email records a burst of opens and of clicks, and an address of both', async (t) => {
  const world = await createWorld(t)
  for (let hit = 0; hit < 1_001; hit += 1) world.recorder.record(open(world.emailId))
  for (let hit = 0; hit < 1_001; hit += 1) world.recorder.record(click(world.emailId))
  for (let hit = 0; hit < 3_000; hit += 1) world.recorder.record(open(uuidv7(NOW)))
  await world.recorder.stop()
  t.equal(await world.events(), 2_000)
  t.same(world.warnings, [{ left_out: 1 }, { left_out: 3 }], 'the 5,000 of the address end with its next to last hit')
})

t.test('clicks on a long URL count as several', async (t) => {
  const world = await createWorld(t)
  const long = { ...click(world.emailId), url: `https://example.com/${'x'.repeat(8_000)}` }
  for (let hit = 0; hit < 200; hit += 1) world.recorder.record(long)
  await world.recorder.stop()
  t.equal(await world.events(), Math.ceil(1_000 / Math.ceil(sizeOfHit(long) / 1_024)))
})

t.test('a flood of made-up ids does not make an email record more', async (t) => {
  const world = await createWorld(t, { maxWaiting: 100_000_000 })
  const addresses = Array.from({ length: 20 }, (_, place) => `198.51.100.${place}`)
  for (let hit = 0; hit < 1_000; hit += 1) world.recorder.record(open(world.emailId))
  for (const address of addresses)
    for (let hit = 0; hit < 3_000; hit += 1) world.recorder.record(open(uuidv7(NOW), address))
  for (let hit = 0; hit < 10; hit += 1) world.recorder.record(open(world.emailId))
  await world.recorder.stop()
  t.equal(await world.events(), 1_000)
})

t.test('many sweeps of an email in one commit count its clicks again once', async (t) => {
  const world = await createWorld(t)
  const { commit, read } = world.database
  const newRow = rowOf(read)
  await commit(
    await Promise.all(
      ['b', 'c', 'd'].map((id) =>
        newRow('links', { id, workspace_id: 'ws_1', email_id: world.emailId, url: `${URL_OF_LINK}${id}`, clicks: 0 }),
      ),
    ),
  )
  const clickOn = (linkId: string, place: number): Hit => ({
    ...{ kind: 'click', emailId: world.emailId, linkId, url: `${URL_OF_LINK}${linkId}`, referer: null },
    ...{ userAgent: BROWSER, address: `198.51.100.${place}`, at: NOW },
  })
  for (let place = 0; place < 30; place += 1) {
    for (const id of ['b', 'c', 'd']) world.recorder.record(clickOn(id, place))
  }
  world.recorder.record(clickOn('b', 200))
  await world.recorder.stop()
  t.equal(world.commits(), 1)
  t.ok(world.writes() < 91 + 91 + 91 + 30, 'events, counts and marks, without 30 times three statements')
  t.same(await read('select id, clicks from links where clicks > 0', []), [{ id: 'b', clicks: 1 }])
  const machines = (await dataOf(world, 'email.clicked')).map(({ machine }) => machine)
  t.same(machines.toSorted(), [false, ...Array.from({ length: 90 }, () => true)])
})

t.test('unknown emails store nothing, not even a commit', async (t) => {
  const world = await createWorld(t)
  for (let hit = 0; hit < 10; hit += 1) world.recorder.record(open(uuidv7(NOW)))
  await world.recorder.stop()
  t.equal(world.commits(), 0)
})

t.test('an email that is removed meanwhile gets no event', async (t) => {
  const world = await createWorld(t)
  const { commit } = world.database
  world.recorder.record(open(world.emailId))
  await commit([{ sql: `update emails set workspace_id = 'ws_2'`, parameters: [] }])
  const late: Write[] = []
  const reading = new HitRecorder({
    read: world.database.read,
    commit: async (writes) => {
      late.push(...writes)
    },
    ...{ clock: () => NOW, log: { warn: () => undefined, error: () => undefined } },
  })
  reading.record(open(world.emailId))
  await reading.stop()
  await commit([{ sql: 'delete from emails', parameters: [] }])
  await commit(late)
  await world.recorder.stop()
  t.equal(await world.events(), 0)
})

t.test('after a fault of the disk a batch is tried until it is stored, once', async (t) => {
  const world = await createWorld(t)
  world.faults.push({ error: disk }, { error: disk })
  world.recorder.record(open(world.emailId))
  await waitUntil('it is stored', async () => (await world.events()) === 1)
  world.faults.push({ error: new StorageFault('SQLITE_ABORT', 'the writer ended'), stored: true })
  world.recorder.record(click(world.emailId))
  await waitUntil('the second is tried', () => world.commits() === 4)
  world.recorder.record(open(world.emailId))
  await waitUntil('the third is stored', async () => (await world.events()) === 3)
  t.same(await clicksOf(world), { clicks: 1, first_clicked_at: NOW, last_clicked_at: NOW }, 'no commit is made twice')
  t.same(world.errors, [])
})

t.test('hits that cannot be stored at the end, or because of a bug, are in the log', async (t) => {
  const world = await createWorld(t)
  const bug = new Error('no such table')
  world.faults.push({ error: bug })
  world.recorder.record(open(world.emailId))
  await waitUntil('it is given up', () => world.errors.length === 1)
  world.recorder.record(open(world.emailId))
  await waitUntil('the next is stored', async () => (await world.events()) === 1)
  world.faults.push({ error: disk }, { error: disk }, { error: disk })
  world.recorder.record(open(world.emailId))
  world.recorder.record(open(world.emailId))
  await world.recorder.stop()
  t.same(world.errors, [
    { err: bug, hits: 1 },
    { err: disk, hits: 2 },
  ])
  t.equal(await world.events(), 1)
})

t.test('a click while the message is being handed over is a machine', async (t) => {
  const world = await createWorld(t)
  const { email, writes } = bulkEmail({ workspaceId: 'ws_1', to: 'bob@b.test', at: NOW - 60_000 })
  await world.database.commit([
    ...writes,
    { sql: 'update emails set track_clicks = 1 where id = ?', parameters: [email.id] },
  ])
  for (const leased of [0, 1]) {
    await world.database.commit([
      { sql: 'update queue set leased = ? where email_id = ?', parameters: [leased, email.id] },
    ])
    const before = await world.events()
    world.recorder.record(click(email.id))
    await waitUntil('it is stored', async () => (await world.events()) > before)
  }
  t.same(
    (await dataOf(world, 'email.clicked')).map(({ machine }) => machine),
    [false, true],
  )
})

t.test('several recipients: the first that is not suppressed, and the latest delivery', async (t) => {
  const world = await createWorld(t)
  const to = ['gone@b.test', 'ann@b.test', 'bob@b.test'].map((address) => parseAddress(address))
  const { email, writes } = bulkEmail({ workspaceId: 'ws_1', to, suppressed: ['gone@b.test'], at: NOW - 60_000 })
  await world.database.commit([
    ...writes,
    { sql: 'update emails set track_clicks = 1 where id = ?', parameters: [email.id] },
    { sql: `update recipients set delivered_at = ? where address = 'ann@b.test'`, parameters: [NOW - 30_000] },
    { sql: `update recipients set delivered_at = ? where address = 'bob@b.test'`, parameters: [NOW - 1_000] },
  ])
  world.recorder.record(click(email.id))
  world.recorder.record({ ...click(email.id), at: NOW + 1_000 })
  await world.recorder.stop()
  const found = await dataOf(world, 'email.clicked')
  t.same(
    found.map(({ recipient, machine }) => [recipient, machine]),
    [
      ['ann@b.test', true],
      ['ann@b.test', false],
    ],
  )
})
