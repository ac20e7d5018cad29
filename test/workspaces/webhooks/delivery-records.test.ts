/** The rows of deliveries: none without its webhook, none twice, old ones are removed in steps. */
import t from 'tap'
import { namedUuidv7 } from '../../../src/base/platform/ids.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { decideDelivery } from '../../../src/workspaces/webhooks/decide-delivery.js'
import {
  dueDeliveries,
  insertAttempted,
  isDeliveryStored,
  readNextDue,
  removeOldDeliveries,
  settleDelivery,
} from '../../../src/workspaces/webhooks/delivery-records.js'
import { insertWebhook } from '../../../src/workspaces/webhooks/webhook-records.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const webhook = { workspaceId: 'ws_1', id: 'wh_1' }
const failure = { kind: 'fault', reason: 'the connection was refused' } as const
const event = (seq: number) =>
  ({ seq, id: `evt_${seq}`, type: 'email.sent', created_at: seq, data: toJson({}) }) as const
const result = (attempts: number, now: number): ReturnType<typeof decideDelivery> =>
  decideDelivery({ outcome: failure, attempts, schedule: [60_000], now })

t.test('a delivery is stored once, while its webhook exists, and retried until it has failed', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const waiting = { webhookId: 'wh_1', node: database.node.name }
  const first = { webhook, deliveryId: namedUuidv7(1, 'wh_1 evt_1'), event: event(1), at: 1 }
  await commit([insertAttempted(first, result(1, 1))])
  t.notOk(await isDeliveryStored(read, first.deliveryId, 'wh_1'), 'there is no such webhook')
  const events = toJson(['email.sent'] as const)
  await commit([insertWebhook({ ...webhook, url: 'https://a.test/', events, secret: 's', now: 0 })])
  await commit([insertAttempted({ ...first, webhook: { ...webhook, workspaceId: 'ws_2' } }, result(1, 1))])
  t.notOk(await isDeliveryStored(read, first.deliveryId, 'wh_1'), 'not in another workspace')
  await commit([insertAttempted(first, result(1, 1)), insertAttempted(first, result(1, 500))])
  t.ok(await isDeliveryStored(read, first.deliveryId, 'wh_1'))
  t.equal(await readNextDue(read, waiting), 60_001, 'the second insert changed nothing')
  t.equal((await dueDeliveries(read, { ...waiting, now: 60_000, limit: 10 })).length, 0)
  const [due] = await dueDeliveries(read, { ...waiting, now: 60_001, limit: 10 })
  t.match(due, { id: first.deliveryId, attempts: 1, data: null }, 'the log does not have the event')
  const place = { id: first.deliveryId, webhookId: 'wh_1', workspaceId: 'ws_1' }
  await commit([settleDelivery({ ...result(2, 60_001), ...place })])
  t.match(await read('select status, attempts, next_attempt_at from webhook_deliveries', []), [
    { status: 'failed', attempts: 2, next_attempt_at: null },
  ])
  t.equal(await readNextDue(read, waiting), Number.POSITIVE_INFINITY)
})

t.test('deliveries of old events are removed in steps, and no others', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const events = toJson(['email.sent'] as const)
  await commit([insertWebhook({ ...webhook, url: 'https://a.test/', events, secret: 's', now: 0 })])
  for (let seq = 1; seq <= 450; seq += 1) {
    const deliveryId = namedUuidv7(seq * 1000, `wh_1 evt_${seq}`)
    await commit([insertAttempted({ webhook, deliveryId, event: event(seq), at: 1 }, result(1, 1))])
  }
  const steps: boolean[] = []
  do steps.push(await removeOldDeliveries(database, 401_000))
  while (steps.at(-1))
  t.same(steps, [true, true, false])
  const left = await read<{ seq: number }>('select event_seq as seq from webhook_deliveries order by event_seq', [])
  t.equal(left.length, 50)
  t.equal(left[0]?.seq, 401, 'that of the very moment stays')
})
