/** Deleted webhooks: their deliveries go in small commits, across faults and restarts, and no others. */
import t from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import { StorageFault, tryCommit } from '../../../src/base/storage/db/write.js'
import type { WebhookRef } from '../../../src/workspaces/webhooks/webhook-records.js'
import { createWebhookRemovalRunner, deleteWebhook } from '../../../src/workspaces/webhooks/webhook-removal.js'
import { createWebhook } from '../../helpers/database/create-webhook.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'
import { waitUntil } from '../../helpers/wait-until.js'

const silent = { error: () => undefined }

async function addDeliveries(database: Database, { workspaceId, id }: WebhookRef, count: number): Promise<void> {
  const row = rowOf(database.read)
  const owner = { workspace_id: workspaceId, webhook_id: id }
  await database.commit([
    await row('webhook_replays', { ...owner, id: `replay of ${id}` }),
    ...(await Promise.all(
      Array.from({ length: count }, (_, at) => row('webhook_deliveries', { ...owner, id: `${id} ${at}` })),
    )),
  ])
}

async function countRows({ read }: Database, table: string, { id }: WebhookRef): Promise<number> {
  return (
    (await read<{ count: number }>(`select count(*) as count from ${table} where webhook_id = ?`, [id]))[0]?.count ?? -1
  )
}

t.test('the deliveries of a deleted webhook are removed, and no others', async (t) => {
  const { database } = await temporaryDatabase(t)
  const [gone, kept] = [await createWebhook(database), await createWebhook(database)]
  for (const ref of [gone, kept]) await addDeliveries(database, ref, 450)
  const sizes: number[] = []
  const runner = createWebhookRemovalRunner({
    ...database,
    commit: async (writes) => {
      sizes.push(await countRows(database, 'webhook_deliveries', gone))
      return database.commit(writes)
    },
    log: silent,
  })
  await database.commit(deleteWebhook(gone, 1))
  t.notOk(await tryCommit(database.commit(deleteWebhook(gone, 1))), 'a webhook is deleted once')
  t.equal(await countRows(database, 'webhook_replays', gone), 0, 'its replays end in the same commit')
  await runner.start(gone)
  t.same(sizes, [450, 250, 50, 0], 'in small commits')
  t.equal(await countRows(database, 'webhook_deliveries', gone), 0)
  t.same(
    [await countRows(database, 'webhook_deliveries', kept), await countRows(database, 'webhook_replays', kept)],
    [450, 1],
  )
  t.same(await database.read('select * from webhook_removals', []), [])
  await runner.stop()
})

t.test('a webhook of another workspace is not deleted', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { id } = await createWebhook(database)
  t.notOk(await tryCommit(database.commit(deleteWebhook({ workspaceId: 'ws_2', id }, 1))))
  t.same(await database.read('select id from webhooks', []), [{ id }])
})

t.test('a removal resumes after a fault, and at the next start', async (t) => {
  const { database } = await temporaryDatabase(t)
  const gone = await createWebhook(database)
  await addDeliveries(database, gone, 450)
  await database.commit(deleteWebhook(gone, 1))
  let commits = 0
  const faults: unknown[] = []
  const commit: Database['commit'] = async (writes) => {
    commits += 1
    if (commits === 2) throw new StorageFault('SQLITE_FULL', 'no room')
    await database.commit(writes)
  }
  const log = { error: (about: unknown) => faults.push(about) }
  const stopped = createWebhookRemovalRunner({ read: database.read, commit, log })
  await stopped.resume()
  await waitUntil('it has failed', () => faults.length === 1)
  await stopped.stop()
  t.equal(await countRows(database, 'webhook_deliveries', gone), 250)
  const resumed = createWebhookRemovalRunner({ read: database.read, commit, log })
  await resumed.resume()
  await waitUntil('it is over', async () => (await database.read('select * from webhook_removals', [])).length === 0)
  t.equal(await countRows(database, 'webhook_deliveries', gone), 0)
  t.match(faults, [{ webhook: gone.id, workspace: 'ws_1' }])
  await resumed.stop()
})
