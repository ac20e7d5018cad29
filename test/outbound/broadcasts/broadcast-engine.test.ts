/** The engine against a real database; delivery is what a test does with the queue. */
import { createSecretKey } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import type { Read } from '../../../src/base/storage/db/prepared.js'
import { StorageFault, type Write } from '../../../src/base/storage/db/write.js'
import { BroadcastEngine, type EngineDeps } from '../../../src/outbound/broadcasts/broadcast-engine.js'
import { cancelBroadcast, pauseBroadcast, resumeBroadcast } from '../../../src/outbound/broadcasts/broadcast-records.js'
import { ContactMessages } from '../../../src/outbound/broadcasts/contact-message.js'
import { EmailCharger } from '../../../src/workspaces/accounts/limits/quota.js'
import type { SendingDomain } from '../../../src/workspaces/domains/rows/sending-domains.js'
import { type CreatedBroadcast, createBroadcast } from '../../helpers/database/create-broadcast.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { waitUntil } from '../../helpers/wait-until.js'

const workspaceId = 'ws_a'
const start = Date.parse('2026-03-01T12:00:00.000Z')
const HOUR = 3_600_000
/** Another chunk has no room in the queue. */
const FULL = 1_900

interface Bench {
  readonly database: Database
  readonly clock: { now: number }
  readonly stopped: Set<string>
  readonly logged: string[]
  readonly suppressed: Set<string>
  readonly disk: { hasSpace: boolean }
  /** A new process: the engine before, if any, has been stopped. */
  readonly open: (more?: Partial<EngineDeps>) => Promise<BroadcastEngine>
  readonly rows: <Row>(sql: string, ...parameters: readonly unknown[]) => Promise<Row[]>
  readonly broadcast: (id: string) => Promise<Record<string, unknown>>
  /** What delivery does with all that may be attempted. */
  readonly deliver: () => Promise<number>
}

async function openBench(
  t: Test,
  limits: { readonly perDay?: number; readonly credits?: number } = {},
): Promise<Bench> {
  const { database } = await temporaryDatabase(t)
  const clock = { now: start }
  const stopped = new Set<string>()
  const suppressed = new Set<string>()
  const disk = { hasSpace: true }
  const logged: string[] = []
  const note = (about: object, text: string): void => void logged.push(`${text} ${JSON.stringify(about)}`)
  const { read, commit } = database
  const credits = limits.credits === undefined ? {} : { credits: limits.credits }
  const open: Bench['open'] = async (more = {}) => {
    stopped.clear()
    const engine = new BroadcastEngine({
      leads: () => true,
      read,
      commit,
      clock: () => clock.now,
      log: { info: note, warn: note, error: note } as EngineDeps['log'],
      charger: new EmailCharger(
        read,
        { find: () => ({ name: 'plan', limits: credits }), findOwner: async (_read, id) => id },
        () => limits.perDay ?? 1_000_000,
      ),
      suppressions: { isSuppressed: async (_, address) => suppressed.has(address) },
      domains: { findVerified: async (_, domain) => (domain === 'a.test' ? ({ domain } as SendingDomain) : undefined) },
      messages: new ContactMessages(createSecretKey(Buffer.alloc(32, 1)), 'https://mail.test'),
      runner: {
        offer: () => undefined,
        stopBroadcast: (id) => void stopped.add(id),
        resumeBroadcast: (id) => void stopped.delete(id),
        markDue: (workspace) => void logged.push(`reread ${workspace}`),
        isYielding: false,
      },
      ...more,
    })
    t.teardown(() => engine.stop())
    await engine.holdBack()
    engine.start(() => disk.hasSpace)
    return engine
  }
  const deliver = async (): Promise<number> => {
    const due = await read<{ id: string; email_id: string }>(
      'select id, email_id from queue where held = 0 and leased = 0',
      [],
    )
    await commit(due.flatMap(({ id, email_id }) => settle(id, email_id)))
    return due.length
  }
  const rows: Bench['rows'] = async (sql, ...parameters) => read(sql, parameters)
  const broadcast = async (id: string) =>
    (await rows<Record<string, unknown>>('select * from broadcasts where id = ?', id))[0] ?? {}
  return { database, clock, stopped, logged, suppressed, disk, open, rows, broadcast, deliver }
}

const settle = (id: string, emailId: string): Write[] => [
  { sql: 'delete from queue where id = ?', parameters: [id] },
  { sql: `update recipients set status = 'delivered' where id = ?`, parameters: [id] },
  { sql: `update emails set status = 'delivered' where id = ?`, parameters: [emailId] },
]

const addresses = (count: number): string[] => Array.from({ length: count }, (_, n) => `r${n}@b.test`)

function create({ database }: Bench, count: number, more: Partial<Parameters<typeof createBroadcast>[1]> = {}) {
  return createBroadcast(database, { workspaceId, contacts: addresses(count), at: start, ...more })
}

/** Delivers until the broadcast is finished. */
async function runToEnd(bench: Bench, { id }: CreatedBroadcast): Promise<void> {
  await waitUntil('the broadcast is finished', async () => {
    await bench.deliver()
    return (await bench.broadcast(id))['finished_at'] !== null
  })
}

const countSent = async ({ rows }: Bench): Promise<number> =>
  (await rows<{ count: number }>('select count(*) as count from broadcast_messages'))[0]?.count ?? 0

/** Entries that may be attempted. */
const countFree = async ({ rows }: Bench): Promise<number> =>
  (await rows('select 1 from queue where held = 0 and leased = 0')).length

t.test('each contact gets one email, and the counts follow', async (t) => {
  const bench = await openBench(t)
  const made = await create(bench, 250)
  await bench.open()
  await runToEnd(bench, made)
  t.match(await bench.broadcast(made.id), { status: 'sent', expanded: 1, cursor: made.contactIds.at(-1) })
  t.same((await bench.rows('select distinct contact_id from broadcast_messages')).length, 250)
  const last = await waitUntil('the end is logged', () => bench.logged.find((line) => line.includes('is sent')))
  t.match(last, /^a broadcast is sent .*"recipients":250,"sent":250,"delivered":250,"bounced":0/)
  t.match(await bench.rows('select * from broadcast_counts'), [{ recipients: 250, queued: 0, delivered: 250 }])
  const [email] = await bench.rows<Record<string, unknown>>('select * from emails order by id limit 1')
  t.match(email, { source: 'rest', priority: 'low', from_domain: 'a.test', track_opens: 1, track_clicks: 1 })
  t.match(email?.['message_id'], /^<bc-[0-9a-f-]{36}@mail\.service\.test>$/)
  t.match(email?.['subject'], /^News for Contact \d+$/)
  t.equal((await bench.rows(`select 1 from events where type = 'email.queued'`)).length, 250)
  t.match(await bench.rows('select kind, count from usage order by kind'), [
    { kind: 'domain:a.test', count: 250 },
    { kind: 'emails', count: 250 },
  ])
})

t.test('contacts that unsubscribe, are suppressed, are no address, or came later are left out', async (t) => {
  const bench = await openBench(t)
  const made = await create(bench, 8)
  const [gone, unsubscribed, late, broken] = made.contactIds
  bench.suppressed.add('r4@b.test')
  await bench.database.commit([
    { sql: 'delete from contacts where id = ?', parameters: [gone] },
    { sql: 'update contacts set subscribed = 0 where id = ?', parameters: [unsubscribed] },
    { sql: 'update contacts set created_at = ? where id = ?', parameters: [start + 1, late] },
    { sql: `update contacts set email = 'nobody' where id = ?`, parameters: [broken] },
    { sql: `update contacts set email = 'New@b.test' where id = ?`, parameters: [made.contactIds[5]] },
  ])
  await bench.open()
  await runToEnd(bench, made)
  const sent = await bench.rows<{ address: string }>('select address from broadcast_messages order by contact_id')
  t.same(
    sent.map(({ address }) => address),
    ['New@b.test', 'r6@b.test', 'r7@b.test'],
  )
})

t.test('a broadcast whose contacts are all left out is sent', async (t) => {
  const bench = await openBench(t)
  const made = await create(bench, 3)
  for (const address of addresses(3)) bench.suppressed.add(address)
  await bench.open()
  await waitUntil('the broadcast is finished', async () => (await bench.broadcast(made.id))['finished_at'] !== null)
  t.match(await bench.broadcast(made.id), { status: 'sent', expanded: 1 })
  t.equal(await countSent(bench), 0)
})

t.test('at most 2,000 messages wait for their first attempt', async (t) => {
  const bench = await openBench(t)
  const made = await create(bench, 2_500)
  await bench.open()
  await waitUntil('the queue is full', async () => (await countSent(bench)) > FULL)
  await pause(500)
  t.ok((await countSent(bench)) <= 2_000, `${await countSent(bench)}`)
  await runToEnd(bench, made)
  t.equal(await countSent(bench), 2_500)
})

t.test('messages that wait for a host that is down leave room for others', async (t) => {
  const bench = await openBench(t)
  await create(bench, 2_100)
  await bench.open()
  await waitUntil('the queue is full', async () => (await countSent(bench)) > FULL)
  await bench.database.commit([{ sql: `update queue set waits_for = 'mx.b.test'`, parameters: [] }])
  await waitUntil('the others are in the queue', async () => (await countSent(bench)) === 2_100)
})

t.test('a scheduled broadcast starts at its time, with the contacts of that moment', async (t) => {
  const bench = await openBench(t)
  const made = await create(bench, 3, { status: 'scheduled', scheduledFor: start + HOUR })
  const engine = await bench.open()
  await engine.wake()
  await pause(300)
  t.match(await bench.broadcast(made.id), { status: 'scheduled', started_at: null })
  await bench.database.commit([{ sql: 'delete from contacts where id = ?', parameters: [made.contactIds[2]] }])
  bench.clock.now += HOUR
  await runToEnd(bench, made)
  t.match(await bench.broadcast(made.id), { status: 'sent', started_at: start + HOUR, ceiling: made.contactIds[1] })
  t.equal(await countSent(bench), 2)
})

t.test('a pause holds what waits, also over a restart, and resuming gives it back', async (t) => {
  const bench = await openBench(t)
  const { commit } = bench.database
  const made = await create(bench, 900)
  const engine = await bench.open()
  await waitUntil('messages are made', async () => (await countSent(bench)) === 900)
  await commit([
    { sql: 'update queue set held = 1 where id in (select id from queue order by id limit 1)', parameters: [] },
    { sql: 'update queue set leased = 1, attempts = 1 where id in (select max(id) from queue)', parameters: [] },
    {
      sql: 'update queue set attempts = 1 where id in (select id from queue order by id limit 5 offset 2)',
      parameters: [],
    },
    pauseBroadcast({ workspaceId, id: made.id, now: start, note: null }),
  ])
  await engine.wake()
  t.same([...bench.stopped], [made.id], 'in memory at once')
  const held = (): Promise<unknown[]> =>
    bench.rows('select held, leased, count(*) as count from queue group by 1, 2 order by 1, 2')
  await engine.stop()
  t.match((await held())[0], { held: 0, leased: 0 }, 'it was stopped in the middle')
  await bench.open()
  t.same([...bench.stopped], [made.id], 'before delivery starts')
  await waitUntil('all are held', async () => (await countFree(bench)) === 0)
  t.same(await held(), [
    { held: 0, leased: 1, count: 1 },
    { held: 1, leased: 0, count: 1 },
    { held: 2, leased: 0, count: 898 },
  ])
  await commit([{ sql: 'update queue set leased = 0 where leased = 1', parameters: [] }])
  await waitUntil('one that was deferred meanwhile is held too', async () => (await countFree(bench)) === 0)
  await waitUntil('what was hidden behind them is read', () => bench.logged.includes(`reread ${workspaceId}`))
  const resumed = await bench.open()
  await commit([resumeBroadcast({ workspaceId, id: made.id, now: start })])
  await resumed.wake()
  await waitUntil('delivery goes on', () => bench.stopped.size === 0)
  t.same(await held(), [
    { held: 0, leased: 0, count: 899 },
    { held: 1, leased: 0, count: 1 },
  ])
})

t.test('a broadcast that is paused while another takes its step is stopped until it is resumed', async (t) => {
  const bench = await openBench(t)
  const { commit } = bench.database
  const made = [await create(bench, 60), await create(bench, 60)]
  // The engine goes by their ids.
  const [first, second] = made.toSorted((a, b) => (a.id < b.id ? -1 : 1)) as [CreatedBroadcast, CreatedBroadcast]
  const resumed: string[] = []
  let isPaused = false
  const engine = await bench.open({
    commit: async (writes) => {
      await commit(writes)
      if (isPaused) return
      isPaused = true
      await commit([pauseBroadcast({ workspaceId, id: second.id, now: start, note: null })])
      await engine.wake()
    },
    runner: {
      offer: () => undefined,
      stopBroadcast: (id) => void bench.stopped.add(id),
      resumeBroadcast: (id) => void resumed.push(id),
      markDue: () => undefined,
      isYielding: false,
    },
  })
  await waitUntil('the first goes on', async () => (await bench.broadcast(first.id))['expanded'] === 1)
  t.match(await bench.broadcast(second.id), { status: 'paused', cursor: '' })
  t.same([[...bench.stopped], resumed], [[second.id], []])
  await commit([resumeBroadcast({ workspaceId, id: second.id, now: start })])
  await engine.wake()
  t.same(resumed, [second.id])
})

t.test('what was read before a pause does not undo it', async (t) => {
  const bench = await openBench(t)
  const { read, commit } = bench.database
  const made = await create(bench, 3)
  const change = { workspaceId, id: made.id, now: start }
  let onceListed = async (): Promise<void> => undefined
  const late: Read = async (sql, parameters) => {
    const rows = await read<never>(sql, parameters)
    const act = sql.includes(`'sending', 'paused', 'cancelled'`) ? onceListed : async () => undefined
    if (act === onceListed) onceListed = async () => undefined
    await act()
    return rows
  }
  await commit([pauseBroadcast({ ...change, note: null })])
  const engine = await bench.open({ read: late })
  await commit([resumeBroadcast(change)])
  let woken: Promise<void> | null = null
  onceListed = async () => {
    await commit([pauseBroadcast({ ...change, note: null })])
    woken = engine.wake()
    await pause(20)
  }
  await engine.wake()
  await woken
  t.same([...bench.stopped], [made.id])
})

t.test('a cancellation removes what waits; what is on the wire goes', async (t) => {
  const bench = await openBench(t)
  const { commit } = bench.database
  const made = await create(bench, 2_300)
  const engine = await bench.open()
  await waitUntil('the queue is full', async () => (await countSent(bench)) > FULL)
  await commit([
    { sql: 'update queue set leased = 1, attempts = 1 where id in (select max(id) from queue)', parameters: [] },
    cancelBroadcast({ workspaceId, id: made.id, now: start }),
  ])
  await engine.wake()
  await waitUntil('one is left', async () => (await bench.rows('select 1 from queue')).length === 1)
  t.equal((await bench.broadcast(made.id))['finished_at'], null)
  await commit(
    (await bench.rows<{ id: string; email_id: string }>('select id, email_id from queue')).flatMap((row) =>
      settle(row.id, row.email_id),
    ),
  )
  await waitUntil('it is finished', async () => (await bench.broadcast(made.id))['finished_at'] !== null)
  t.match(await bench.broadcast(made.id), { status: 'cancelled' })
  const sent = await countSent(bench)
  t.ok(sent < 2_300, 'the others were never made')
  t.match(await bench.rows('select * from broadcast_counts'), [
    { recipients: sent, queued: 0, cancelled: sent - 1, delivered: 1 },
  ])
  t.same(await bench.rows('select status, count(*) as count from recipients group by 1 order by 1'), [
    { status: 'cancelled', count: sent - 1 },
    { status: 'delivered', count: 1 },
  ])
  t.equal((await bench.rows(`select 1 from events where type = 'email.failed'`)).length, 0)
  await waitUntil('nothing is kept in memory', () => bench.stopped.size === 0)
})

t.test('a limit of the day lets as many out as fit, and the rest goes when there is room', async (t) => {
  const bench = await openBench(t, { perDay: 120 })
  const made = await create(bench, 300)
  await bench.open()
  await waitUntil('it waits', async () => (await bench.broadcast(made.id))['waits_until'] !== null)
  t.equal(await countSent(bench), 120)
  t.match(await bench.broadcast(made.id), {
    status: 'sending',
    waits_until: start + 24 * HOUR,
    note: '120 emails in a day from a.test: 0 left',
  })
  for (const sent of [240, 300]) {
    bench.clock.now += 24 * HOUR
    await waitUntil('the next ones go', async () => (await countSent(bench)) === sent)
  }
  await runToEnd(bench, made)
  t.match(await bench.broadcast(made.id), { status: 'sent', waits_until: null, note: null })
  t.equal((await bench.rows('select distinct contact_id from broadcast_messages')).length, 300)
})

t.test(
  'without credits, and without its domain, a broadcast is paused with a note, and tries again when resumed',
  async (t) => {
    const bench = await openBench(t, { credits: 30 })
    const made = await create(bench, 50)
    const engine = await bench.open()
    await waitUntil('it is paused', async () => (await bench.broadcast(made.id))['status'] === 'paused')
    t.match(await bench.broadcast(made.id), { note: '30 emails altogether: 0 left' })
    t.equal(await countSent(bench), 30)
    await bench.database.commit([
      { sql: 'update usage set count = 10', parameters: [] },
      resumeBroadcast({ workspaceId, id: made.id, now: start }),
    ])
    await engine.wake()
    await runToEnd(bench, made)
    t.match(await bench.broadcast(made.id), { status: 'sent', note: null })
    const foreign = await create(bench, 2, { from: 'news@other.test' })
    await waitUntil('it is paused', async () => (await bench.broadcast(foreign.id))['status'] === 'paused')
    t.match(await bench.broadcast(foreign.id), { note: 'other.test is not a verified domain of this workspace' })
  },
)

t.test('a change of some broadcast does not make those that wait for a limit try again', async (t) => {
  const bench = await openBench(t, { perDay: 30 })
  const made = await create(bench, 50)
  const engine = await bench.open()
  const waits = (): number => bench.logged.filter((line) => line.startsWith('a broadcast waits')).length
  await waitUntil('it waits', () => waits() === 1)
  await bench.database.commit([{ sql: 'update usage set count = 0', parameters: [] }])
  for (let n = 0; n < 5; n += 1) {
    await engine.wake()
    await pause(20)
  }
  t.equal(await countSent(bench), 30)
  await engine.recheck()
  await runToEnd(bench, made)
  t.equal(await countSent(bench), 50, 'a limit was raised')
})

t.test('while the disk is nearly full no messages are made', async (t) => {
  const bench = await openBench(t)
  const made = await create(bench, 120)
  bench.disk.hasSpace = false
  await bench.open()
  await pause(300)
  t.same([await countSent(bench), (await bench.broadcast(made.id))['status']], [0, 'sending'])
  bench.disk.hasSpace = true
  await runToEnd(bench, made)
  t.equal(await countSent(bench), 120)
})

t.test('a crash at any commit neither skips nor doubles a contact', async (t) => {
  const bench = await openBench(t)
  const { commit } = bench.database
  const made = await create(bench, 450)
  let crashes = 0
  for (let survived = 0; (await bench.broadcast(made.id))['finished_at'] === null; survived += 1) {
    let left = survived % 3
    let isDead = false
    /** The process dies before the commit, or after it: then nobody learns that it was made. */
    const dying = async (writes: readonly Write[]): Promise<void> => {
      if (isDead) throw new StorageFault('SQLITE_IOERR', 'dead')
      left -= 1
      if (left < 0) isDead = true
      if (isDead && survived % 2 === 0) throw new StorageFault('SQLITE_IOERR', 'dead')
      await commit(writes)
      if (isDead) throw new StorageFault('SQLITE_IOERR', 'dead')
    }
    const engine = await bench.open({ commit: dying })
    await waitUntil('the process dies, or all is done', async () => {
      if (crashes > 4) await bench.deliver()
      return isDead || (await bench.broadcast(made.id))['finished_at'] !== null
    })
    await engine.stop()
    crashes += 1
  }
  t.ok(crashes > 5, `${crashes} crashes`)
  t.equal(await countSent(bench), 450)
  t.match(await bench.rows('select * from broadcast_counts'), [{ recipients: 450, delivered: 450 }])
})
