/** The body of a delivery is made again from its event: in the present format, and without the secret. */
import t from 'tap'
import { readDelivery } from '../../../src/workspaces/webhooks/delivery-payload.js'
import { requestTest } from '../../../src/workspaces/webhooks/request-delivery.js'
import { createWebhook } from '../../helpers/database/create-webhook.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const refusalOf = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error)

t.test('the body is that of the format, as long as the event is in the log', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const webhook = await createWebhook(database)
  const id = await requestTest(database, webhook, 7)
  const { delivery, request } = await readDelivery(read, webhook, id)
  t.match(delivery, { id, status: 'pending' })
  t.equal(request?.contentType, 'application/json')
  t.match(JSON.parse(request?.body ?? ''), {
    type: 'webhook.test',
    created_at: '1970-01-01T00:00:00.007Z',
    data: { webhook_id: webhook.id },
  })
  await commit([{ sql: `update webhooks set format = 'raw'`, parameters: [] }])
  t.match((await readDelivery(read, webhook, id)).request, { contentType: 'message/rfc822' })
  await commit([
    { sql: `update webhooks set format = 'posthorn'`, parameters: [] },
    { sql: 'delete from events', parameters: [] },
  ])
  t.match(await readDelivery(read, webhook, id), { delivery: { id }, request: null })
})

t.test('a delivery of another webhook or workspace is not found', async (t) => {
  const { database } = await temporaryDatabase(t)
  const [webhook, other] = [await createWebhook(database), await createWebhook(database)]
  const id = await requestTest(database, webhook, 7)
  t.match(await refusalOf(readDelivery(database.read, other, id)), { kind: 'not-found' })
  const foreign = { ...webhook, workspaceId: 'ws_2' }
  t.match(await refusalOf(readDelivery(database.read, foreign, id)), { kind: 'webhook-not-found' })
})
