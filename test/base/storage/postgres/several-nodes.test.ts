/**
 * Several nodes that write to one database: limits are exact, totals are what counting gives, and no batch waits for
 * another in a circle.
 *
 * Runs alone: it sets the engine of its process.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import pg from 'pg'
import t, { type Test } from 'tap'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { takeTurn, tryCommit, type Write } from '../../../../src/base/storage/db/write.js'
import { countEmails } from '../../../../src/records/messages/email-list.js'
import { emailById } from '../../../../src/records/messages/email/email.js'
import type { QueueEntry } from '../../../../src/records/messages/queue/queue.js'
import { settleAccepted, settleBounced } from '../../../../src/records/messages/queue/settle.js'
import { markClicked, markOpened } from '../../../../src/outbound/tracking/hit-email.js'
import { addWithinBounds, sumSince } from '../../../../src/workspaces/accounts/limits/usage.js'
import { arbitraryHistory } from '../../../helpers/database/arbitrary-history.js'
import { bulkEmail } from '../../../helpers/database/bulk.js'
import { History } from '../../../helpers/database/email-history.js'
import { expectedMetrics, storedMetrics } from '../../../helpers/database/expected-metrics.js'
import { openTestPostgres, openTestStore, stopServer, temporaryPostgres } from '../../../helpers/database/postgres-database.js'
import { rowOf } from '../../../helpers/database/rows.js'
import { withoutPostgres } from '../../../helpers/programs/postgres.js'
import { waitUntil } from '../../../helpers/wait-until.js'

t.teardown(stopServer)

const skip = withoutPostgres
const NAMES = ['one', 'two', 'three'] as const

class Nodes {
  private next = 0

  private constructor(
    readonly all: readonly Database[],
    private readonly store: Pick<Database, 'read'>,
    private readonly url: string,
  ) {}

  static async open(t: Test): Promise<Nodes> {
    const url = await temporaryPostgres(t)
    const all: Database[] = []
    for (const node of NAMES) all.push(await openTestPostgres(t, url, { node }))
    return new Nodes(all, await openTestStore(t, url), url)
  }

  get read(): Database['read'] {
    return this.store.read
  }

  /** Commits by one node after the other. */
  readonly commit: Database['commit'] = (writes) => this.take().commit(writes)

  /** The first node, whose commits the nodes make by turns. */
  get asOne(): Database {
    const [first] = this.all
    if (first === undefined) throw new Error('no node is open')
    return { ...first, commit: this.commit }
  }

  take(): Database {
    const node = this.all[this.next++ % this.all.length]
    if (node === undefined) throw new Error('no node is open')
    return node
  }

  /** A connection of no node. */
  async connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.url, options: '-c search_path=posthorn' })
    await client.connect()
    return client
  }

  /** The server knows all numbers of a session when it has ended. */
  async countDeadlocks(): Promise<number | undefined> {
    await Promise.all(this.all.map((node) => node.close()))
    const sessions = `select count(*) as count from pg_stat_activity where datname = current_database()
      and query like '%fence%' and pid <> pg_backend_pid()`
    await waitUntil('the writers have ended', async () => {
      const [row] = await this.read<{ count: number }>(sessions, [])
      return row?.count === 0
    })
    const sql = 'select deadlocks as count from pg_stat_database where datname = current_database()'
    return (await this.read<{ count: number }>(sql, []))[0]?.count
  }
}

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
    fc.asyncProperty(fc.array(fc.tuple(fc.nat(2), fc.nat(2), fc.integer({ min: 1, max: 4 })), { minLength: 90, maxLength: 90 }), async (charges) => {
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
    }),
    { numRuns: 5, endOnFailure: true },
  )
  const [row] = await nodes.read<{ slots: number }>('select count(distinct slot) as slots from usage', [])
  t.equal(row?.slots, NAMES.length, 'each has rows of its own')
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
    for (const id of keys) planned.push([{ sql: 'update "api_keys" set "last_used_at" = ? where "id" = ?', parameters: [at, id] }])
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
    prepare: async (row: ReturnType<typeof rowOf>) => [await row('api_keys', { id: 'a' }), await row('api_keys', { id: 'b' })],
    hold: `update api_keys set last_used_at = 1 where id = 'a'`,
    write: (id: string): Write => ({ sql: 'update "api_keys" set "last_used_at" = 2 where "id" = ?', parameters: [id] }),
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
