/**
 * Several nodes that write to one database: limits are exact, totals are what counting gives, and no batch waits for
 * another in a circle.
 *
 * Runs alone: it sets the engine of its process.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { announceChange, readAnnouncedChange } from '../../../../src/base/storage/db/change-acknowledgement.js'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { TableChanges } from '../../../../src/base/storage/db/table-changes.js'
import { takeTurn, tryCommit, type Write } from '../../../../src/base/storage/db/write.js'
import { CACHED_FILE_ROW_BYTES } from '../../../../src/base/storage/schema/content.js'
import { toJson } from '../../../../src/base/storage/tables/columns.js'
import { markClicked, markOpened } from '../../../../src/outbound/tracking/hit-email.js'
import { emailById } from '../../../../src/records/messages/email/email.js'
import { countEmails } from '../../../../src/records/messages/email-list.js'
import type { QueueEntry } from '../../../../src/records/messages/queue/queue.js'
import { settleAccepted, settleBounced } from '../../../../src/records/messages/queue/settle.js'
import { heldBytesOf, requireRoom } from '../../../../src/workspaces/accounts/limits/inbound-bytes.js'
import { addWithinBounds, sumSince } from '../../../../src/workspaces/accounts/limits/usage.js'
import { appendChunk } from '../../../../src/workspaces/content/cached-files.js'
import { arbitraryHistory } from '../../../helpers/database/arbitrary-history.js'
import { bulkEmail } from '../../../helpers/database/bulk.js'
import { History } from '../../../helpers/database/email-history.js'
import { expectedMetrics, storedMetrics } from '../../../helpers/database/expected-metrics.js'
import { Nodes } from '../../../helpers/database/nodes.js'
import {
  openTestPostgres,
  openTestStore,
  stopServer,
  temporaryPostgres,
} from '../../../helpers/database/postgres-database.js'
import { rowOf } from '../../../helpers/database/rows.js'
import { withoutPostgres } from '../../../helpers/programs/postgres.js'
import { waitUntil } from '../../../helpers/wait-until.js'

t.teardown(stopServer)

const skip = withoutPostgres
const charge = (owner: string, count: number, atMost: number): Write =>
  addWithinBounds({ workspace_id: owner, kind: 'k', bucket: 1, count }, [
    { kind: 'other', since: 0, atMost: 0 },
    { kind: 'k', since: 0, atMost: atMost - count },
  ])

t.test('a bound is reached exactly, whoever charges', { skip }, async (t) => {
  const nodes = await Nodes.open(t)
  const owners = ['usr_1', 'usr_2', 'usr_3']
  const bound = 60
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(2), fc.nat(2), fc.integer({ min: 1, max: 4 })), { minLength: 90, maxLength: 90 }),
      async (charges) => {
        await nodes.commit([{ sql: 'delete from usage', parameters: [] }])
        const commitBoth = (one: string, other: string, count: number) =>
          tryCommit(nodes.commit([charge(one, count, bound), ...(one === other ? [] : [charge(other, count, bound)])]))
        await Promise.all(
          charges.map(([one, other, count]) => commitBoth(owners[one] ?? '', owners[other] ?? '', count)),
        )
        for (const owner of owners) {
          await Promise.all(Array.from({ length: bound }, () => tryCommit(nodes.commit([charge(owner, 1, bound)]))))
          assert.equal(await sumSince(nodes.read, owner, 'k', 0), bound)
        }
      },
    ),
    { numRuns: 5, endOnFailure: true },
  )
  const [row] = await nodes.read<{ slots: number }>('select count(distinct slot) as slots from usage', [])
  t.equal(row?.slots, nodes.all.length, 'each has rows of its own')
  t.equal(await nodes.countDeadlocks(), 0)
})

t.test('a command charges within the same bound', { skip }, async (t) => {
  const url = await temporaryPostgres(t)
  const node = await openTestPostgres(t, url)
  const command = await openTestStore(t, url)
  const outcomes = await Promise.all(
    Array.from({ length: 60 }, (_, at) => tryCommit((at % 2 === 0 ? node : command).commit([charge('usr_1', 1, 20)]))),
  )
  t.equal(outcomes.filter((isMade) => isMade).length, 20)
})

t.test('room for inbound mail and for files is used exactly, by all workspaces of an owner', { skip }, async (t) => {
  const nodes = await Nodes.open(t)
  const row = rowOf(nodes.read)
  const workspaces = ['ws_1', 'ws_2', 'ws_3']
  for (const workspace_id of workspaces) {
    await nodes.commit([
      await row('members', { workspace_id, user_id: 'usr_1', role: 'owner' }),
      await row('cached_files', { workspace_id, key: 'k', size: 0, complete: 0 }),
    ])
  }
  const mail = { size: 1_000, envelope_to: toJson([]) }
  const bytes = heldBytesOf({ ...mail, size: 0 })
  const rows = await Promise.all(
    Array.from({ length: 60 }, async (_, at) => {
      const workspaceId = workspaces[at % 3] ?? ''
      const room = { workspaceId, owner: 'usr_1', bytes, limit: 20 * bytes + 5 }
      return [requireRoom(room), await row('inbound_emails', { id: `m${at}`, workspace_id: workspaceId, ...mail })]
    }),
  )
  const stored = await Promise.all(rows.map((writes) => tryCommit(nodes.commit(writes))))
  t.equal(stored.filter((isMade) => isMade).length, 20)

  const room = { owner: 'usr_1', maxBytes: 3 * CACHED_FILE_ROW_BYTES + 100 }
  const chunks = Array.from({ length: 60 }, (_, place) =>
    appendChunk({ workspaceId: workspaces[place % 3] ?? '', key: 'k' }, { place, bytes: Buffer.alloc(7) }, room),
  )
  const appended = await Promise.all(chunks.map((writes) => tryCommit(nodes.commit(writes))))
  t.equal(appended.filter((isMade) => isMade).length, 14)
  t.equal(await nodes.countDeadlocks(), 0)
})

t.test('each node finds what the others have changed, and announcements of all of them', { skip }, async (t) => {
  const nodes = await Nodes.open(t)
  const row = rowOf(nodes.read)
  const changes = new TableChanges(nodes.read, [])
  await changes.follow(async () => undefined)
  for (let announced = 1; announced <= 4; announced += 1) {
    await nodes.commit([announceChange(), await row('api_keys', { id: `key_${announced}` })])
    t.equal(await readAnnouncedChange(nodes.read), announced)
    await changes.follow(async (changed) => void t.same([...changed], ['api_keys', 'commands']))
  }
})

t.test('totals of several slots are those of any history', { skip }, async (t) => {
  await fc.assert(
    fc.asyncProperty(arbitraryHistory, async (steps) => {
      const nodes = await Nodes.open(t)
      const history = new History(nodes.asOne)
      await history.run(steps)
      assert.deepEqual(await storedMetrics(nodes.read), expectedMetrics(history))
      await expectCounts(nodes)
    }),
    { numRuns: 3, endOnFailure: true },
  )
})

/** Totals equal the rows that they count. */
async function expectCounts({ read }: Pick<Database, 'read'>): Promise<void> {
  const emails = await read<{ workspace_id: string; status: string; broadcast_id: string | null }>(
    'select workspace_id, status, broadcast_id from emails',
    [],
  )
  for (const workspaceId of ['ws_1', 'ws_2']) {
    for (const status of ['queued', 'delivered', 'sent', 'cancelled', 'complained'] as const) {
      const listed = emails.filter(
        (email) => email.workspace_id === workspaceId && email.status === status && email.broadcast_id === null,
      )
      assert.equal(await countEmails(read, { workspaceId, status, broadcastId: null }), listed.length, status)
    }
  }
  const wrong = `select id from emails where recipients_delivered <> (select count(*) from recipients
      where email_id = emails.id and status = 'delivered' and complained_at is null)
    or recipients_bounced <> (select count(*) from recipients
      where email_id = emails.id and status = 'bounced' and complained_at is null)
    or recipients_queued <> (select count(*) from recipients
      where email_id = emails.id and status in ('queued', 'scheduled') and complained_at is null)`
  assert.deepEqual(await read(wrong, []), [])
}

/** Emails with three recipients each, accepted within a bound that is far. */
async function accept(nodes: Nodes, count: number): Promise<readonly string[]> {
  const accepted = Array.from({ length: count }, (_, at) => {
    const workspaceId = at % 2 === 0 ? 'ws_1' : 'ws_2'
    const to = ['a@b.test', 'b@b.test', 'c@b.test']
    return { workspaceId, ...bulkEmail({ workspaceId, to, at: Date.UTC(2026, 9, 24) + at }) }
  })
  await Promise.all(
    accepted.map(({ workspaceId, writes }) => nodes.commit([charge(workspaceId, 1, 1_000_000), ...writes])),
  )
  return (await nodes.read<{ id: string }>('select id from emails', [])).map(({ id }) => id)
}

/** Writes that settle each recipient, and one that marks a key as used among them. */
async function planWork(read: Database['read'], keys: readonly string[]): Promise<(readonly Write[])[]> {
  const entries = await read<QueueEntry>('select * from queue', [])
  const planned: (readonly Write[])[] = []
  for (const [at, entry] of entries.entries()) {
    const [email] = await emailById(read, { workspaceId: entry.workspace_id, id: entry.email_id })
    if (email === undefined) throw new Error('an entry without its email')
    const attempted = {
      ...{ entry, email, number: 1, at: 1_000, endedAt: 1_000, mx: null, address: null, tls: null },
      ...{ reached: true, response: 'r', reason: null, transcript: '' },
    }
    planned.push(at % 3 === 0 ? settleBounced(attempted, true) : settleAccepted(attempted, true))
    const hit = { workspaceId: entry.workspace_id, id: entry.email_id, at: 2_000 }
    planned.push([markOpened(hit)], [markClicked(hit)])
    for (const id of keys)
      planned.push([{ sql: 'update "api_keys" set "last_used_at" = ? where "id" = ?', parameters: [at, id] }])
  }
  return planned
}

t.test('work on the same emails by all nodes ends without a circle, with the right totals', { skip }, async (t) => {
  const nodes = await Nodes.open(t)
  const row = rowOf(nodes.read)
  const keys = ['key_1', 'key_2', 'key_3']
  for (const id of keys) await nodes.commit([await row('api_keys', { id })])
  await accept(nodes, 120)
  const planned = await planWork(nodes.read, keys)
  const [mixed = []] = fc.sample(fc.shuffledSubarray(planned, { minLength: planned.length }), 1)
  // Portions, so that batches of all nodes are under way at once.
  for (let from = 0; from < mixed.length; from += 90) {
    await Promise.all(mixed.slice(from, from + 90).map((writes) => nodes.commit(writes)))
  }
  await expectCounts(nodes)
  const sums = await nodes.read<Record<string, number>>(
    `select sum(recipients_delivered) as delivered, sum(recipients_bounced) as bounced, sum(unique_opens) as opens,
      sum(unique_clicks) as clicks from email_metrics where domain = '' and tag = ''`,
    [],
  )
  t.same(sums, [{ delivered: 240, bounced: 120, opens: 120, clicks: 120 }])
  t.same(await nodes.read(`select sum(count) as used from usage where kind = 'k'`, []), [{ used: 120 }])
  t.equal(await nodes.countDeadlocks(), 0)
})

t.test('commits that name one turn see each other, and write their rows in any order', { skip }, async (t) => {
  const nodes = await Nodes.open(t)
  const add = (key: string): Write => ({
    sql: `insert into service_state (key, value) values (?, '1')
      on conflict (key) do update set value = cast(cast(service_state.value as bigint) + 1 as text)`,
    parameters: [key],
  })
  const keys = ['a', 'b', 'c', 'd', 'e', 'f']
  await Promise.all(
    Array.from({ length: 240 }, (_, at) => {
      const [order = []] = fc.sample(fc.shuffledSubarray(keys, { minLength: keys.length }), { numRuns: 1, seed: at })
      return nodes.commit(takeTurn('keys', order.map(add)))
    }),
  )
  const stored = await nodes.read(`select key, value from service_state where length(key) = 1 order by key`, [])
  t.same(
    stored,
    keys.map((key) => ({ key, value: '240' })),
  )
  t.equal(await nodes.countDeadlocks(), 0)
})

/** Waits until so many sessions wait for a lock. */
const waitForWaiting = (nodes: Nodes, count: number): Promise<unknown> =>
  waitUntil(`${count} sessions wait`, async () => {
    const sql = `select count(*) as count from pg_stat_activity where datname = current_database()
      and wait_event_type = 'Lock'`
    return (await nodes.read<{ count: number }>(sql, []))[0]?.count === count
  })

for (const { what, prepare, hold, write } of [
  {
    what: 'turns',
    prepare: async () => [],
    hold: `insert into turns (name) values ('a')`,
    write: (turn: string): Write => ({ sql: 'select 1', parameters: [], turn }),
  },
  {
    what: 'rows',
    prepare: async (row: ReturnType<typeof rowOf>) => [
      await row('api_keys', { id: 'a' }),
      await row('api_keys', { id: 'b' }),
    ],
    hold: `update api_keys set last_used_at = 1 where id = 'a'`,
    write: (id: string): Write => ({
      sql: 'update "api_keys" set "last_used_at" = 2 where "id" = ?',
      parameters: [id],
    }),
  },
]) {
  t.test(`${what} that two commits need in different orders are taken in one`, { skip }, async (t) => {
    const nodes = await Nodes.open(t)
    await nodes.commit(await prepare(rowOf(nodes.read)))
    const holder = await nodes.connect()
    await holder.query('begin')
    await holder.query(hold)
    const first = nodes.commit([write('a'), write('b')])
    await waitForWaiting(nodes, 1)
    // In the order of its writes it would take b, for which the first one would wait when it has a.
    const second = nodes.commit([write('b'), write('a')])
    await waitForWaiting(nodes, 2)
    await holder.query('commit')
    await holder.end()
    await Promise.all([first, second])
    t.equal(await nodes.countDeadlocks(), 0)
  })
}
