/** Deliveries that a user requests: a row that is due now, for an event that the log holds. */
import t from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import { replayDelivery, requestTest } from '../../../src/workspaces/webhooks/request-delivery.js'
import { changeWebhook } from '../../../src/workspaces/webhooks/webhook-records.js'
import { createWebhook } from '../../helpers/database/create-webhook.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { buildEventWrite } from '../../helpers/database/store-events.js'

const refusalOf = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error)
const deliveries = async ({ read }: Database): Promise<Record<string, unknown>[]> =>
  read('select * from webhook_deliveries order by id', [])

t.test('a test is an event of its own and a delivery that is due', async (t) => {
  const { database } = await temporaryDatabase(t)
  const [webhook, other] = [await createWebhook(database), await createWebhook(database)]
  await database.commit([buildEventWrite({ workspaceId: 'ws_2', type: 'email.sent', at: 5 })])
  const id = await requestTest(database, webhook, 7)
  const [event] = await database.read<{ id: string }>(`select * from events where type = 'webhook.test'`, [])
  t.match(event, {
    seq: 2,
    workspace_id: 'ws_1',
    email_id: null,
    data: JSON.stringify({
      webhook_id: webhook.id,
      message: 'This event tests the webhook.',
    }),
  })
  t.match(await deliveries(database), [
    {
      id,
      workspace_id: 'ws_1',
      webhook_id: webhook.id,
      event_seq: 2,
      event_id: event?.id,
      type: 'webhook.test',
      status: 'pending',
      attempts: 0,
      next_attempt_at: 7,
      created_at: 7,
      delivered_at: null,
    },
  ])
  const ids = await Promise.all(Array.from({ length: 20 }, () => requestTest(database, other, 8)))
  const seqs = await Promise.all(
    ids.map(async (each) => (await deliveries(database)).find((row) => row['id'] === each)?.['event_seq']),
  )
  t.equal(new Set(seqs).size, 20, 'tests at the same moment have an event each')
})

t.test('a disabled webhook is not tested, and no event is stored', async (t) => {
  const { database } = await temporaryDatabase(t)
  const webhook = await createWebhook(database)
  await database.commit([changeWebhook(webhook, { enabled: false }, 1)])
  t.match(await refusalOf(requestTest(database, webhook, 7)), { kind: 'conflict' })
  // Disabled between the check and the commit.
  await database.commit([changeWebhook(webhook, { enabled: true }, 1)])
  const commit: Database['commit'] = async (writes) => {
    await database.commit([changeWebhook(webhook, { enabled: false }, 1)])
    await database.commit(writes)
  }
  t.match(await refusalOf(requestTest({ ...database, commit }, webhook, 7)), { kind: 'conflict' })
  t.same(await database.read(`select * from events`, []), [])
  t.same(await deliveries(database), [])
})

t.test('a delivery is repeated as a delivery of the same event', async (t) => {
  const { database } = await temporaryDatabase(t)
  const [webhook, other] = [await createWebhook(database), await createWebhook(database)]
  const first = await requestTest(database, webhook, 7)
  const again = { deliveryId: first, at: 9 }
  const second = await replayDelivery(database, webhook, again)
  const [one, two] = await deliveries(database)
  t.not(second, first)
  t.match(two, { id: second, event_seq: one?.['event_seq'], event_id: one?.['event_id'], next_attempt_at: 9 })

  for (const [what, ref, kind] of [
    ['of another webhook', other, 'not-found'],
    ['of a webhook that is not there', { ...webhook, id: 'wh_0' }, 'webhook-not-found'],
    ['of another workspace', { ...webhook, workspaceId: 'ws_2' }, 'webhook-not-found'],
  ] as const) {
    t.match(await refusalOf(replayDelivery(database, ref, again)), { kind }, what)
  }
  const unknown = await refusalOf(replayDelivery(database, webhook, { deliveryId: 'x', at: 9 }))
  t.match(unknown, { kind: 'not-found', details: { id: 'x' } })
  await database.commit([changeWebhook(webhook, { enabled: false }, 1)])
  t.match(await refusalOf(replayDelivery(database, webhook, again)), { kind: 'conflict' }, 'disabled')
  await database.commit([changeWebhook(webhook, { enabled: true }, 1), { sql: 'delete from events', parameters: [] }])
  const gone = await refusalOf(replayDelivery(database, webhook, again))
  t.match(gone, { kind: 'conflict', details: { event_id: one?.['event_id'] } }, 'the event is not in the log any more')
  t.equal((await deliveries(database)).length, 2)
})
