/**
 * Two nodes on one database: each finds and leases its own entries, and acts on any node reach the entries of both.
 *
 * Runs alone: it sets the engine of its process.
 */
import t, { type Test } from 'tap'
import { parseDomainName } from '../../../../src/base/mail/address.js'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { type FollowedTable, TableChanges } from '../../../../src/base/storage/db/table-changes.js'
import { WriteConflict } from '../../../../src/base/storage/db/write.js'
import { changeEntries } from '../../../../src/records/messages/queue/change-entries.js'
import {
  dueEntriesOfWorkspace,
  dueIdsOfLane,
  nextWorkspaceInQueue,
  ownEntryById,
} from '../../../../src/records/messages/queue/due-entries.js'
import { readExpiredLeases } from '../../../../src/records/messages/queue/expired-leases.js'
import { failMailOfDomain } from '../../../../src/records/messages/queue/fail-domain.js'
import { changeOwnEntries } from '../../../../src/records/messages/queue/own-acts.js'
import { entryById, leaseEntry, postponeLane, recoverLeases } from '../../../../src/records/messages/queue/queue.js'
import { listEntries } from '../../../../src/records/messages/queue/queue-admin.js'
import { countQueue } from '../../../../src/records/messages/queue/queue-counts.js'
import { listQueueNodes } from '../../../../src/records/messages/queue/queue-nodes.js'
import { cancelScheduled, sendScheduledNow } from '../../../../src/records/messages/scheduled-change.js'
import { bulkEmail } from '../../../helpers/database/bulk.js'
import { openTestPostgres, stopServer, temporaryPostgres } from '../../../helpers/database/postgres-database.js'
import { withoutPostgres } from '../../../helpers/programs/postgres.js'

t.teardown(stopServer)

const skip = withoutPostgres
const domain = parseDomainName('b.test')
const actor = { id: 'operator', keyId: null }

interface Nodes {
  readonly one: Database
  readonly two: Database
  /** The ids of an entry of each. */
  readonly ids: { readonly one: string; readonly two: string }
}

async function addEntry({ commit }: Database, scheduledFor: number | null = null): Promise<string> {
  const { entries, writes } = bulkEmail({ workspaceId: 'ws_1', to: 'x@b.test', at: 1000, scheduledFor })
  await commit(writes)
  return entries[0]?.id ?? ''
}

async function openNodes(t: Test): Promise<Nodes> {
  const url = await temporaryPostgres(t)
  const one = await openTestPostgres(t, url)
  const two = await openTestPostgres(t, url, { node: 'two' })
  return { one, two, ids: { one: await addEntry(one), two: await addEntry(two) } }
}

async function leaseOf({ read }: Database, id: string, node: string) {
  const [entry] = await entryById(read, { id })
  const { attempts = 0, next_attempt_at: dueAt = 0 } = entry ?? {}
  return leaseEntry({ id, node, attempts, dueAt, until: 9_000 })
}

/** What has changed since the last call, as a node sees it. */
async function follow({ read }: Database): Promise<() => Promise<readonly FollowedTable[]>> {
  const changes = new TableChanges(read, [])
  const look = async (): Promise<readonly FollowedTable[]> => {
    let found: readonly FollowedTable[] = []
    await changes.follow(async (changed) => {
      found = [...changed]
    })
    return found
  }
  await look()
  return look
}

t.test('each finds its own entries, and leases no others', { skip }, async (t) => {
  const { one, two, ids } = await openNodes(t)
  const { read } = one
  const due = { workspaceId: 'ws_1', now: 2_000, limit: 10 }
  for (const node of ['one', 'two'] as const) {
    const entries = await dueEntriesOfWorkspace(read, { ...due, node, afterTime: 0, afterId: '' })
    t.same(
      entries.map(({ id }) => id),
      [ids[node]],
    )
    t.same(await dueIdsOfLane(read, { ...due, node, domain, priority: 1 }), [{ id: ids[node] }])
    t.match(await nextWorkspaceInQueue(read, { node, after: '' }), [{ workspace_id: 'ws_1' }])
  }
  t.same(await nextWorkspaceInQueue(read, { node: 'three', after: '' }), [])
  t.same(await ownEntryById(read, { id: ids.two, node: 'one' }), [])
  await t.rejects(one.commit([await leaseOf(one, ids.two, 'one')]), WriteConflict)
  await two.commit([await leaseOf(two, ids.two, 'two')])
  await one.commit([await leaseOf(one, ids.one, 'one')])
  t.match(await readExpiredLeases(read, { node: 'two', now: 9_000 }), { count: 1, oldestId: ids.two })
  await one.commit([recoverLeases({ node: 'one', at: 3_000 })])
  t.match(await entryById(read, { id: ids.one }), [{ leased: 0 }])
  t.match(await entryById(read, { id: ids.two }), [{ leased: 1 }], 'the start of one leaves the leases of the other')
})

t.test('a lease misses after another node has taken the entry over, which finds it then', { skip }, async (t) => {
  const { one, two, ids } = await openNodes(t)
  const lease = await leaseOf(one, ids.one, 'one')
  await two.commit([{ sql: "update queue set node = 'two' where node = 'one'", parameters: [] }])
  await t.rejects(one.commit([lease]), WriteConflict)
  const query = { node: 'two', workspaceId: 'ws_1', afterTime: 0, afterId: '', now: 2_000, limit: 10 }
  t.equal((await dueEntriesOfWorkspace(two.read, query)).length, 2)
})

t.test('a lane of one node is postponed without that of the other', { skip }, async (t) => {
  const { one, ids } = await openNodes(t)
  const limits = { firstLimit: 90_000, lastLimit: 90_000, waitsFor: 'mx.b.test (down)', maxEntries: 10 }
  const lane = { node: 'one', workspaceId: 'ws_1', domain, priority: 1 } as const
  await one.commit([postponeLane({ ...lane, ...limits, now: 2_000, until: 8_000 })])
  t.match(await entryById(one.read, { id: ids.one }), [{ next_attempt_at: 8_000 }])
  t.match(await entryById(one.read, { id: ids.two }), [{ next_attempt_at: 1_000, waits_for: null }])
})

t.test('lists, counts and the end of a domain reach the entries of all nodes', { skip }, async (t) => {
  const { one, ids } = await openNodes(t)
  t.same(await listQueueNodes(one.read), ['', 'one', 'two'])
  const listed = (await listEntries(one.read, { after: '', limit: 10 })).map(({ id, node }) => ({ id, node }))
  // Both were made in the same millisecond, so either may be the first.
  t.same(
    listed.toSorted((a, b) => a.node.localeCompare(b.node)),
    [
      { id: ids.one, node: 'one' },
      { id: ids.two, node: 'two' },
    ],
  )
  t.match(await countQueue(one.read, 'ws_1', 2_000), { waiting: 2, isComplete: true })
  const gone = { workspaceId: 'ws_1', domain: parseDomainName('a.test'), at: 2_000 }
  t.equal(await failMailOfDomain(one, gone), 2)
})

t.test('an act on one node makes a lease of the other miss, and tells it of mail that is due', { skip }, async (t) => {
  const { one, two, ids } = await openNodes(t)
  const look = await follow(two)
  const act = async (name: 'hold' | 'release' | 'retry' | 'delete'): Promise<void> => {
    const entries = await listEntries(one.read, { ids: [ids.two], after: '', limit: 10 })
    t.match(await changeEntries(one.commit, entries, { act: name, actor, now: 2_000 }), { changed: [ids.two] })
  }
  const before = await leaseOf(two, ids.two, 'two')
  await act('hold')
  await t.rejects(two.commit([before]), WriteConflict, 'it is held')
  t.same(await look(), [], 'for which nobody needs to look')
  await act('release')
  t.same(await look(), ['queue_acts'])
  await act('retry')
  t.same(await look(), ['queue_acts'])
  await t.rejects(two.commit([before]), WriteConflict, 'it is due at another time')
  const late = await leaseOf(two, ids.two, 'two')
  await act('delete')
  await t.rejects(two.commit([late]), WriteConflict, 'it is gone')
})

t.test('members and changes of scheduled mail do the same', { skip }, async (t) => {
  const { one, two, ids } = await openNodes(t)
  const look = await follow(two)
  const [row] = await entryById(one.read, { id: ids.two })
  const own = { workspaceId: 'ws_1', emailId: row?.email_id ?? '', recipientIds: [ids.two], actor }
  await changeOwnEntries(one, 'hold', own, 2_000)
  t.same(await look(), [])
  await changeOwnEntries(one, 'release', own, 2_000)
  t.same(await look(), ['due_mail'])
  const viewer = { workspaceId: 'ws_1', ownKey: null }
  for (const change of [sendScheduledNow, cancelScheduled]) {
    const id = await addEntry(two, 60_000)
    const [scheduled] = await entryById(one.read, { id })
    const lease = await leaseOf(two, id, 'two')
    await change(one, viewer, scheduled?.email_id ?? '', 2_000)
    await t.rejects(two.commit([lease]), WriteConflict, change.name)
    t.same(await look(), change === sendScheduledNow ? ['due_mail'] : [], change.name)
  }
})
