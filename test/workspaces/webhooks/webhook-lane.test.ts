/** The work of one webhook: what comes while the lane reads is not lost. */
import t from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import type { Read } from '../../../src/base/storage/db/prepared.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { type LaneState, WebhookLane } from '../../../src/workspaces/webhooks/webhook-lane.js'
import { requireWebhook } from '../../../src/workspaces/webhooks/webhook-records.js'
import { createWebhook } from '../../helpers/database/create-webhook.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'

const noEvents = { after: async () => [] }
const NOW = 1_000

function stateOf({ node }: Database, nextDue: number): LaneState {
  return { cursors: new Map((node.ownSlots.length === 0 ? [0] : node.ownSlots).map((slot) => [slot, 0])), nextDue }
}

t.test('a retry that is expected while the due ones are read has its turn', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { name } = database.node
  const ref = await createWebhook(database)
  const lane = new WebhookLane(await requireWebhook(database.read, ref), name, stateOf(database, 0))
  const row = rowOf(database.read)
  const pending = { workspace_id: ref.workspaceId, webhook_id: ref.id, status: 'pending' }
  let isRead = false
  const read: Read = async (sql, parameters) => {
    const rows = await database.read<never>(sql, parameters)
    if (isRead || !sql.includes('webhook_deliveries')) return rows
    isRead = true
    await database.commit([await row('webhook_deliveries', { ...pending, id: 'later', next_attempt_at: NOW - 1 })])
    lane.expectRetry(NOW - 1)
    return rows
  }
  t.equal(await lane.take({ read, events: noEvents }, NOW), null, 'the read came too early for it')
  t.ok(lane.hasWork(NOW))
  t.match(await lane.take({ read, events: noEvents }, NOW), { kind: 'retry', delivery: { id: 'later' } })
})

t.test('a replay that is requested while the lane looks for one begins', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { name } = database.node
  const ref = await createWebhook(database)
  const webhook = await requireWebhook(database.read, ref)
  const lane = new WebhookLane(webhook, name, stateOf(database, Number.POSITIVE_INFINITY))
  const row = rowOf(database.read)
  const read: Read = async (sql, parameters) => {
    const rows = await database.read<never>(sql, parameters)
    if (!sql.includes('webhook_replays') || rows.length > 0) return rows
    const replay = { id: 'replay', workspace_id: ref.workspaceId, webhook_id: ref.id, types: toJson(['email.sent']) }
    await database.commit([await row('webhook_replays', replay)])
    lane.update(webhook, stateOf(database, Number.POSITIVE_INFINITY))
    return rows
  }
  await lane.take({ read, events: noEvents }, NOW)
  t.ok(lane.hasWork(NOW))
  await lane.take({ read, events: noEvents }, NOW)
  t.equal(lane.replay?.row.id, 'replay')
})

t.test('after a fault of a read the lane reads again', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { name } = database.node
  const ref = await createWebhook(database)
  const lane = new WebhookLane(await requireWebhook(database.read, ref), name, stateOf(database, 0))
  const broken: Read = async () => {
    throw new Error('the disk fails')
  }
  await t.rejects(lane.take({ read: broken, events: noEvents }, NOW))
  const row = rowOf(database.read)
  const pending = { workspace_id: ref.workspaceId, webhook_id: ref.id, status: 'pending', next_attempt_at: 1 }
  await database.commit([await row('webhook_deliveries', { ...pending, id: 'due' })])
  t.match(await lane.take({ read: database.read, events: noEvents }, NOW), { delivery: { id: 'due' } })
})
