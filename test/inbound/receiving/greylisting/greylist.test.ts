/** What greylisting remembers: in memory, on disk, and how much of it. */
import { createSecretKey } from 'node:crypto'
import t, { type Test } from 'tap'
import { type Address, parseAddress } from '../../../../src/base/mail/address.js'
import { type Network, parseNetwork } from '../../../../src/base/platform/ip-address.js'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { StorageFault } from '../../../../src/base/storage/db/write.js'
import { Greylist } from '../../../../src/inbound/receiving/greylisting/greylist.js'
import {
  removeExcess,
  removeOldGreylistEntries,
  storeGreylistEntry,
} from '../../../../src/inbound/receiving/greylisting/greylist-records.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'

const DAY = 86_400_000
const MINUTE = 60_000
const clock = { now: 1_800_000_000_000 }
const recipient = parseAddress('info@home.test')

const exempt = parseNetwork('203.0.113.0/24') as Network

function openGreylist(database: Database, faults = { commit: false }): { greylist: Greylist; errors: unknown[] } {
  const errors: unknown[] = []
  const greylist = new Greylist({
    read: database.read,
    commit: async (writes) => {
      if (faults.commit) throw new StorageFault('SQLITE_FULL', 'full')
      return database.commit(writes)
    },
    clock: () => clock.now,
    log: { error: (...line: unknown[]) => errors.push(line) },
    secret: createSecretKey(Buffer.alloc(32, 1)),
    settings: () => ({
      ...{ enabled: true, exempt: [exempt] },
      ...{ delay: 5 * MINUTE, retry_window: 2 * DAY, remember: 36 * DAY },
    }),
  })
  return { greylist, errors }
}

const tuple = (client: string, sender = 'ann@b.test', to = recipient) => ({
  client,
  sender: sender as Address,
  recipient: to,
})

const count = async ({ read }: Database): Promise<number> =>
  (await read<{ n: number }>('select count(*) as n from greylist_entries', []))[0]?.n ?? -1
const totals = async ({ read }: Database): Promise<object> =>
  Object.fromEntries(
    (await read<{ kind: string; entries: number }>('select kind, entries from greylist_totals', [])).map((row) => [
      row.kind,
      row.entries,
    ]),
  )

async function database(t: Test): Promise<Database> {
  return (await temporaryDatabase(t)).database
}

t.test('a domain may ask for it or against it, and exempt networks never wait', async (t) => {
  const { greylist } = openGreylist(await database(t))
  const applies = (setting: 'default' | 'on' | 'off', client = '192.0.2.1') => greylist.applies(setting, client)
  t.same([applies('default'), applies('on'), applies('off')], [true, true, false])
  t.same([applies('default', '203.0.113.9'), applies('on', '203.0.113.9')], [false, false])
})

t.test(
  'the network counts and not the address, the case of letters does not, and sender and recipient do',
  async (t) => {
    const { greylist } = openGreylist(await database(t))
    t.equal(await greylist.check(tuple('192.0.2.1')), 300)
    clock.now += 5 * MINUTE
    t.equal(await greylist.check(tuple('198.51.100.1')), 300, 'another network')
    t.equal(await greylist.check(tuple('192.0.2.1', 'bob@b.test')), 300, 'another sender')
    t.equal(
      await greylist.check(tuple('192.0.2.1', 'ann@b.test', parseAddress('other@home.test'))),
      300,
      'another recipient',
    )
    t.equal(await greylist.check(tuple('192.0.2.200', 'ANN@b.test', parseAddress('Info@home.test'))), 0)
    t.equal(await greylist.check(tuple('2001:db8:1:2::1')), 300)
    clock.now += 5 * MINUTE
    t.equal(await greylist.check(tuple('2001:db8:1:3::1')), 300, 'another /64')
    t.equal(await greylist.check(tuple('2001:db8:1:2:ffff::9')), 0)
    await greylist.stop()
  },
)

t.test('after a restart all is known that was', async (t) => {
  const stored = await database(t)
  const first = openGreylist(stored).greylist
  t.equal(await first.check(tuple('192.0.2.1')), 300)
  await first.stop()
  t.same(await totals(stored), { waiting: 1, known: 0 })
  clock.now += 5 * MINUTE
  const second = openGreylist(stored).greylist
  t.equal(await second.check(tuple('192.0.2.1')), 0)
  await second.stop()
  t.same(await totals(stored), { waiting: 0, known: 2 }, 'the tuple and its network')
  t.equal(await openGreylist(stored).greylist.check(tuple('192.0.2.1')), 0)
})

t.test('five passed tuples in different minutes make a network known', async (t) => {
  const { greylist } = openGreylist(await database(t))
  for (let at = 0; at < 6; at += 1) await greylist.check(tuple('192.0.2.1', `sender${at}@b.test`))
  clock.now += 5 * MINUTE
  for (let at = 0; at < 5; at += 1) {
    t.equal(await greylist.check(tuple('192.0.2.9', `new${at}@b.test`)), 300)
    t.equal(await greylist.check(tuple('192.0.2.1', `sender${at}@b.test`)), 0)
    clock.now += MINUTE
  }
  t.equal(await greylist.check(tuple('192.0.2.77', 'other@c.test')), 0)
  await greylist.stop()
})

t.test('a try that was read before another one passed does not undo it', async (t) => {
  const stored = await database(t)
  const first = openGreylist(stored).greylist
  await first.check(tuple('192.0.2.1'))
  await first.stop()
  clock.now += 5 * MINUTE
  const gate = Promise.withResolvers<void>()
  let isHeld = true
  const { greylist } = openGreylist({
    ...stored,
    read: async (sql, parameters) => {
      const rows = await stored.read<never>(sql, parameters)
      if (isHeld) await gate.promise
      return rows
    },
  })
  const late = greylist.check(tuple('192.0.2.1'))
  await new Promise((resolve) => setImmediate(resolve))
  isHeld = false
  t.equal(await greylist.check(tuple('192.0.2.1')), 0)
  clock.now += 3 * DAY
  gate.resolve()
  t.equal(await late, 0, 'it would have come too late for a tuple that still waits')
  t.equal(await greylist.check(tuple('192.0.2.1')), 0)
  await greylist.stop()
})

t.test('a network adds 300 tuples in a minute; others are not affected', async (t) => {
  const stored = await database(t)
  const { greylist } = openGreylist(stored)
  for (let at = 0; at < 1_000; at += 1) t.equal(await greylist.check(tuple('192.0.2.1', `s${at}@b.test`)), 300)
  t.equal(await greylist.check(tuple('198.51.100.1')), 300)
  await greylist.stop()
  t.equal(await count(stored), 301)
})

t.test('what the database does not take is kept, and logged once', async (t) => {
  const stored = await database(t)
  const faults = { commit: true }
  const { greylist, errors } = openGreylist(stored, faults)
  await greylist.check(tuple('192.0.2.1'))
  await greylist.stop()
  await greylist.stop()
  t.equal(errors.length, 1)
  clock.now += 5 * MINUTE
  t.equal(await greylist.check(tuple('192.0.2.1')), 0, 'known in memory')
  faults.commit = false
  await greylist.stop()
  t.equal(await count(stored), 2)
})

t.test('beyond the limit the oldest of each kind go', async (t) => {
  const stored = await database(t)
  const entries = Array.from({ length: 10 }, (_, at) => ({ key: `k${at}`, firstAt: at, seenAt: at, passes: at % 2 }))
  await stored.commit(entries.map(storeGreylistEntry))
  t.same(await removeExcess(stored.read, 5), [])
  await stored.commit(await removeExcess(stored.read, 3))
  const left = (await stored.read<{ key: string }>('select key from greylist_entries order by key', [])).map(
    ({ key }) => key,
  )
  t.same(left, ['k4', 'k5', 'k6', 'k7', 'k8', 'k9'])
  t.same(await totals(stored), { waiting: 3, known: 3 })
})

t.test('what has expired is removed', async (t) => {
  const stored = await database(t)
  const entries = Array.from({ length: 10 }, (_, at) => ({ key: `k${at}`, firstAt: at, seenAt: at, passes: at % 2 }))
  await stored.commit(entries.map(storeGreylistEntry))
  t.equal(await removeOldGreylistEntries(stored, { waitingBefore: 5, knownBefore: 2 }), false)
  const left = (await stored.read<{ key: string }>('select key from greylist_entries order by key', [])).map(
    ({ key }) => key,
  )
  t.same(left, ['k3', 'k5', 'k6', 'k7', 'k8', 'k9'])
  t.same(await totals(stored), { waiting: 2, known: 4 })
})
