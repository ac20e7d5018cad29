/** An act on all matching entries: portions, progress, one at a time, an end in between. */
import t from 'tap'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { QueueWork } from '../../../../src/records/messages/queue/queue-work.js'
import { bulkEmail } from '../../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const actor = { id: 'user-1', keyId: null }

async function openWork(
  database: Database,
  commit: Database['commit'] = database.commit,
): Promise<{ work: QueueWork; changes: () => number }> {
  const to = Array.from({ length: 250 }, (_, at) => `r${at}@${at < 240 ? 'a' : 'b'}.test`)
  await database.commit(bulkEmail({ workspaceId: 'ws_1', to, at: 1_000 }).writes)
  let changes = 0
  const onQueueChanged = (): void => {
    changes += 1
  }
  return {
    work: await QueueWork.open({ ...database, commit, clock: () => 5_000, onQueueChanged }),
    changes: () => changes,
  }
}

const count = async ({ read }: Database, what: string): Promise<number> =>
  (await read<{ n: number }>(`select count(*) as n from ${what}`, []))[0]?.n ?? -1

const ended = (work: QueueWork): Promise<unknown> =>
  waitUntil('the end', () => work.show()?.state !== 'running' && work.show() !== null)

t.test('all matching entries are changed, and each change is in the audit log', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { work, changes } = await openWork(database)
  t.equal(work.show(), null)
  t.match(await work.start('hold', { domain: 'a.test' }, actor), { state: 'running', changed: 0 })
  await t.rejects(work.start('release', { domain: 'a.test' }, actor), /another act on the queue is running/)
  await ended(work)
  t.match(work.show(), { state: 'completed', changed: 240, missed: 0, endedAt: 5_000, error: null })
  t.equal(await count(database, 'queue where held = 1'), 240)
  t.equal(await count(database, "audit_log where action = 'queue.held' and actor = 'user-1'"), 240)
  t.equal(changes(), 3, 'the runner hears of each portion')

  await work.start('hold', { status: 'held' }, actor)
  await ended(work)
  t.match(work.show(), { state: 'completed', changed: 0, missed: 240 }, 'held entries are not held again')
  await work.start('delete', { workspaceId: 'ws_1' }, actor)
  await ended(work)
  t.equal(await count(database, 'queue'), 0)
  t.equal(await count(database, "recipients where status = 'failed'"), 250)
})

t.test('a stop leaves the rest as it was', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { work } = await openWork(database)
  await work.start('hold', { workspaceId: 'ws_1' }, actor)
  await work.stop()
  t.match(work.show(), { state: 'stopped' })
  t.equal(await count(database, 'queue where held = 1'), work.show()?.changed)
  t.ok((await count(database, 'queue where held = 0')) > 0)
})

t.test('after a restart the work is shown as interrupted, and goes on', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { work } = await openWork(database)
  const deps = { ...database, clock: () => 6_000, onQueueChanged: () => undefined }
  await work.start('hold', { workspaceId: 'ws_1' }, actor)
  await work.close()
  const next = await QueueWork.open(deps)
  const held = await count(database, 'queue where held = 1')
  t.ok(held < 250)
  const filter = { workspaceId: 'ws_1' }
  t.match(next.show(), { state: 'interrupted', act: 'hold', filter, changed: held, startedAt: 5_000, endedAt: null })
  await next.start('hold', filter, actor)
  await ended(next)
  t.match(next.show(), { state: 'completed', changed: 250 - held, missed: held })
  t.equal(await count(database, "audit_log where action = 'queue.held'"), 250, 'none was changed twice')
  t.equal((await QueueWork.open(deps)).show(), null, 'what is complete was not interrupted')
  await next.start('release', filter, actor)
  await next.stop()
  t.equal((await QueueWork.open(deps)).show(), null, 'nor is what was stopped')
})

t.test('each node has a work of its own', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { work } = await openWork(database)
  const openAt = (name: string) =>
    QueueWork.open({ ...database, node: { name }, clock: () => 6_000, onQueueChanged: () => undefined })
  await work.start('hold', { workspaceId: 'ws_1' }, actor)
  await work.close()
  const other = await openAt('another')
  t.equal(other.show(), null, 'it was the work of another node')
  await other.start('hold', { ids: [] }, actor)
  await ended(other)
  t.match((await openAt(database.node.name)).show(), { state: 'interrupted', filter: { workspaceId: 'ws_1' } })
})

t.test('a database that takes no writes refuses the start, and ends the work with its error', async (t) => {
  const { database } = await temporaryDatabase(t)
  let room = 0
  const commit: Database['commit'] = (writes) => {
    if (room === 0) return Promise.reject(new Error('the disk is full'))
    room -= 1
    return database.commit(writes)
  }
  const { work } = await openWork(database, commit)
  await t.rejects(work.start('retry', { domain: 'b.test' }, actor), /the disk is full/)
  t.equal(work.show(), null)
  room = 1
  await work.start('retry', { domain: 'b.test' }, actor)
  await ended(work)
  t.match(work.show(), { state: 'failed', error: 'the disk is full', changed: 0 })
})
