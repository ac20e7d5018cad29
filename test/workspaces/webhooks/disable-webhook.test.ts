/** A webhook is disabled when it has failed all the time, for all nodes, and when it is gone. */
import t, { type Test } from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import { tryCommit } from '../../../src/base/storage/db/write.js'
import { beginFailingAgain, disableWebhook } from '../../../src/workspaces/webhooks/disable-webhook.js'
import { recordFailing } from '../../../src/workspaces/webhooks/dispatch-records.js'
import { requireWebhook, type Webhook } from '../../../src/workspaces/webhooks/webhook-records.js'
import { createWebhook } from '../../helpers/database/create-webhook.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'

const SINCE = 1_000
const NOW = 9_000

interface Place {
  readonly database: Database
  readonly webhook: () => Promise<Webhook>
  /** An attempt that the writer of another slot has noted. */
  readonly noteElsewhere: (last_status: 'delivered' | 'failed', last_at: number) => Promise<void>
}

async function open(t: Test): Promise<Place> {
  const { database } = await temporaryDatabase(t)
  const ref = await createWebhook(database)
  await database.commit([recordFailing({ ...ref, failing_since: SINCE, known: null })])
  const row = rowOf(database.read)
  const cursor = { webhook_id: ref.id, workspace_id: ref.workspaceId, slot: 99, seq: 0 }
  return {
    database,
    webhook: () => requireWebhook(database.read, ref),
    noteElsewhere: async (last_status, last_at) =>
      database.commit([await row('webhook_cursors', { ...cursor, last_status, last_at })]),
  }
}

t.test('one that has failed everywhere is disabled once', async (t) => {
  const { database, webhook, noteElsewhere } = await open(t)
  await noteElsewhere('delivered', SINCE - 1)
  const before = await webhook()
  t.ok(await tryCommit(database.commit(disableWebhook(before, 'failing', NOW))))
  t.match(await webhook(), { enabled: 0, disabled_reason: 'failing' })
  t.notOk(await tryCommit(database.commit(disableWebhook(before, 'failing', NOW))))
  await database.commit(beginFailingAgain(before, NOW))
  t.match(await webhook(), { enabled: 0, failing_since: SINCE })
})

t.test('one to which another node has delivered fails only from now on', async (t) => {
  const { database, webhook, noteElsewhere } = await open(t)
  await noteElsewhere('delivered', SINCE + 1)
  const before = await webhook()
  t.notOk(await tryCommit(database.commit(disableWebhook(before, 'failing', NOW))))
  await database.commit(beginFailingAgain(before, NOW))
  t.match(await webhook(), { enabled: 1, disabled_reason: null, failing_since: NOW })
})

t.test('one whose failures began again is not disabled for the earlier ones', async (t) => {
  const { database, webhook } = await open(t)
  const before = await webhook()
  const ref = { workspaceId: before.workspace_id, id: before.id }
  await database.commit([
    recordFailing({ ...ref, failing_since: null, known: null }),
    recordFailing({ ...ref, failing_since: NOW - 1, known: null }),
  ])
  t.notOk(await tryCommit(database.commit(disableWebhook(before, 'failing', NOW))))
  await database.commit(beginFailingAgain(before, NOW))
  t.match(await webhook(), { enabled: 1, failing_since: NOW - 1 })
  t.ok(
    await tryCommit(database.commit(disableWebhook(before, 'gone', NOW))),
    'one that is gone is disabled in any case',
  )
})

t.test('the earliest time of which a node knows stays, until one has success', async (t) => {
  const { database, webhook } = await open(t)
  const { workspace_id: workspaceId, id } = await webhook()
  const record = (failing_since: number | null, known: number | null): Promise<void> =>
    database.commit([recordFailing({ workspaceId, id, failing_since, known })])
  await record(5_000, null)
  t.match(await webhook(), { failing_since: SINCE }, 'the other node did not know')
  await record(5_000, SINCE)
  t.match(await webhook(), { failing_since: 5_000 }, 'it had success in between')
  await record(null, null)
  t.match(await webhook(), { failing_since: null })
})
