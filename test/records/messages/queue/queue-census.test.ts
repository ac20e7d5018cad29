/** Counts of the queue, by state, domain, reason and provider; a long queue is counted beside other work. */
import t from 'tap'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { QueueCounter } from '../../../../src/records/messages/queue/queue-census.js'
import { bulkEmail } from '../../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { testNode } from '../../../helpers/database/test-engine.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const NOW = 1_000_000

async function fill(database: Database, count: number): Promise<void> {
  const to = Array.from({ length: count }, (_, at) => `r${at}@${at % 2 === 0 ? 'even' : 'odd'}.test`)
  for (let from = 0; from < count; from += 500) {
    const { writes } = bulkEmail({ workspaceId: 'ws_1', to: to.slice(from, from + 500), at: NOW - 1_000 })
    await database.commit(writes)
  }
}

t.test('entries are counted by state, domain and reason', async (t) => {
  const { database } = await temporaryDatabase(t)
  await fill(database, 6)
  const ids = (await database.read<{ id: string }>('select id from queue order by id', [])).map(({ id }) => id)
  const change = (id: string | undefined, set: string): Promise<void> =>
    database.commit([{ sql: `update queue set ${set} where id = ?`, parameters: [id] }])
  await change(ids[0], 'held = 1')
  await change(ids[1], "attempts = 1, leased = 0, last_response = '451 4.7.1 later'")
  await change(ids[2], 'leased = 1, attempts = 1')
  await change(ids[3], `next_attempt_at = ${NOW + 60_000}`)
  await database.commit([{ sql: "update recipients set status = 'scheduled' where id = ?", parameters: [ids[3]] }])
  await change(ids[4], `next_attempt_at = ${NOW + 60_000}, waits_for = 'mx.b.test: no answer'`)
  const census = await new QueueCounter(database.read, () => NOW).count()
  t.equal(census.complete, true)
  t.same(census.all.states, { queued: 2, deferred: 1, scheduled: 1, sending: 1, held: 1 })
  t.same(
    [...census.domains].map(([domain, { total, oldestAt }]) => [domain, total, oldestAt]),
    [
      ['even.test', 3, NOW - 1_000],
      ['odd.test', 3, NOW - 1_000],
    ],
  )
  t.same(Object.fromEntries([...census.reasons].map(([reason, { total }]) => [reason, total])), {
    'held by the operator': 1,
    'answer 451 4.7.1': 1,
    'being sent': 1,
    'scheduled for later': 1,
    'waits for mx.b.test: no answer': 1,
    'not tried yet': 1,
  })
  t.same([...census.nodes], [[testNode, 6]])
})

t.test('entries are counted by provider, and by reason within each', async (t) => {
  const { database } = await temporaryDatabase(t)
  const to = ['gmail.com', 'gmail.com', 'gmail.com', 'gmail.com', 'a.test', 'a.test', 'a.test', 'b.test']
  const { writes } = bulkEmail({ workspaceId: 'ws_1', to: to.map((domain, at) => `r${at}@${domain}`), at: NOW - 1_000 })
  await database.commit(writes)
  const ids = (await database.read<{ id: string }>('select id from queue order by id', [])).map(({ id }) => id)
  const change = (at: number, table: string, set: string): Promise<void> =>
    database.commit([{ sql: `update ${table} set ${set} where id = ?`, parameters: [ids[at]] }])
  const later = `attempts = 1, next_attempt_at = ${NOW + 60_000}`
  await change(1, 'queue', `${later}, last_response = '451 first', enqueued_at = ${NOW - 9_000}`)
  await change(1, 'recipients', "reason = 'greylisted', mx = 'aspmx.l.google.com'")
  await change(2, 'queue', `${later}, last_response = '451 second'`)
  await change(2, 'recipients', "reason = 'greylisted', mx = 'aspmx.l.google.com'")
  await change(3, 'queue', "held = 4, waits_for = 'hold rule hr_1 (to gmail.com)'")
  await change(4, 'queue', 'held = 1')
  await change(5, 'queue', 'held = 2')
  await change(6, 'queue', 'held = 3')
  await change(7, 'queue', 'leased = 1, attempts = 1')
  await change(7, 'recipients', "mx = 'b-test.mail.protection.outlook.com'")
  const { providers } = await new QueueCounter(database.read, () => NOW).count()
  t.same(
    [...providers].map(([provider, { total, due, waiting, releasable, states, oldestAt, reasons }]) => ({
      ...{ provider, total, due, waiting, sending: states.sending, held: states.held, releasable, oldestAt },
      reasons: [...reasons].map(([reason, group]) => ({ reason, total: group.total, lastReply: group.lastReply })),
    })),
    [
      {
        ...{ provider: 'google', total: 4, due: 1, waiting: 2, sending: 0, held: 1, releasable: 0 },
        oldestAt: NOW - 9_000,
        reasons: [
          { reason: 'not-tried', total: 1, lastReply: null },
          { reason: 'greylisted', total: 2, lastReply: '451 second' },
          { reason: 'hold-rule', total: 1, lastReply: 'hold rule hr_1 (to gmail.com)' },
        ],
      },
      {
        ...{ provider: 'other', total: 3, due: 0, waiting: 0, sending: 0, held: 3, releasable: 2 },
        oldestAt: NOW - 1_000,
        reasons: [
          { reason: 'held', total: 1, lastReply: null },
          { reason: 'paused-broadcast', total: 1, lastReply: null },
          { reason: 'held-by-workspace', total: 1, lastReply: null },
        ],
      },
      {
        ...{ provider: 'microsoft', total: 1, due: 0, waiting: 0, sending: 1, held: 0, releasable: 0 },
        oldestAt: NOW - 1_000,
        reasons: [{ reason: 'sending', total: 1, lastReply: null }],
      },
    ],
  )
})

t.test('entries are counted by age, those for later as none', async (t) => {
  const { database } = await temporaryDatabase(t)
  await fill(database, 7)
  const ids = (await database.read<{ id: string }>('select id from queue order by id', [])).map(({ id }) => id)
  const now = 10 * 86_400_000
  const [minute, hour] = [60_000, 3_600_000]
  const ages = [5 * minute, 5 * minute + 1, hour, hour + 1, 2 * 24 * hour, 5 * 24 * hour, -hour]
  for (const [at, age] of ages.entries()) {
    await database.commit([{ sql: 'update queue set enqueued_at = ? where id = ?', parameters: [now - age, ids[at]] }])
  }
  const census = await new QueueCounter(database.read, () => now).count()
  t.same(census.ages, { '5m': 5, '1h': 3, '4h': 2, '1d': 2, '3d': 1 })
})

t.test('a long queue is counted in steps, once for all callers', async (t) => {
  const { database } = await temporaryDatabase(t)
  await fill(database, 1_600)
  let reads = 0
  const read: Database['read'] = async (...given) => {
    reads += 1
    return database.read(...given)
  }
  const counter = new QueueCounter(read, () => NOW)
  const [one, other] = await Promise.all([counter.count(), counter.count()])
  await waitUntil('the count is complete', () => one.complete)
  t.equal(reads, 7, 'each read has at most 250 entries')
  t.equal(one.all.total, 1_600)
  t.equal(other, one)
})

t.test('a count that fails is the error of its caller, and the next one counts again', async (t) => {
  const { database } = await temporaryDatabase(t)
  let broken = true
  const read: Database['read'] = async (...given) => {
    if (broken) throw new Error('no database')
    return database.read(...given)
  }
  const counter = new QueueCounter(read, () => NOW)
  await t.rejects(counter.count(), /no database/)
  broken = false
  t.match(await counter.count(), { complete: true, all: { total: 0 } })
})
