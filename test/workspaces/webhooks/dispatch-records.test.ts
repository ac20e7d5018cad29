/** How far a webhook has come in each slot. */
import t from 'tap'
import { moveEventCursor, readCursors, recordLastAttempt } from '../../../src/workspaces/webhooks/dispatch-records.js'
import { changeWebhook, readLastAttempts, requireWebhook } from '../../../src/workspaces/webhooks/webhook-records.js'
import { createWebhook } from '../../helpers/database/create-webhook.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { buildEventWrite } from '../../helpers/database/store-events.js'

t.test('a cursor never moves back, and begins at the newest event when the webhook is enabled again', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const ref = await createWebhook(database)
  const cursors = async () => [...(await readCursors(read, await requireWebhook(read, ref), [0, 7, 8]))]
  t.same(await cursors(), [
    [0, 0],
    [7, 0],
    [8, 0],
  ])
  const move = (inSlot: number, cursor: number): Promise<void> => commit([moveEventCursor({ ...ref, inSlot, cursor })])
  await move(7, 2)
  await move(7, 1)
  await move(8, 9)
  const moved = [
    [0, 0],
    [7, 2],
    [8, 9],
  ]
  t.same(await cursors(), moved)
  await commit(Array.from({ length: 5 }, (_, at) => buildEventWrite({ type: 'email.sent', at })))
  await commit([changeWebhook(ref, { enabled: true }, 1)])
  t.same(await cursors(), moved, 'it was enabled')
  await commit([changeWebhook(ref, { enabled: false }, 1)])
  await commit([changeWebhook(ref, { enabled: true }, 1)])
  t.same(await cursors(), [
    [0, 5],
    [7, 5],
    [8, 9],
  ])
})

t.test('the last attempt is the latest of those that writers have noted, and moves no cursor', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit, node } = database
  const ref = await createWebhook(database)
  const [slot = 0] = node.slots()
  await commit([moveEventCursor({ ...ref, inSlot: slot, cursor: 3 })])
  const attempt = { last_status: 'failed', last_at: 5, last_response_status: 500 } as const
  await commit([recordLastAttempt({ ...ref, ...attempt })])
  const other = `insert into webhook_cursors (webhook_id, workspace_id, slot, seq, last_status, last_at)
    values (?, 'ws_1', 99, 0, 'delivered', ?)`
  await commit([{ sql: other, parameters: [ref.id, 4] }])
  const last = async () => (await readLastAttempts(read, [ref])).get(ref.id)
  t.same(await last(), { webhook_id: ref.id, ...attempt })
  await commit([{ sql: `update webhook_cursors set last_at = 6 where slot = 99`, parameters: [] }])
  t.match(await last(), { last_status: 'delivered', last_at: 6 })
  t.same([...(await readCursors(read, await requireWebhook(read, ref), [slot]))], [[slot, 3]])
})

t.test('a webhook that is gone gets no row', async (t) => {
  const { database } = await temporaryDatabase(t)
  const gone = { workspaceId: 'ws_1', id: 'wh_gone' }
  const attempt = { last_status: 'failed', last_at: 5, last_response_status: 500 } as const
  await database.commit([
    moveEventCursor({ ...gone, inSlot: 0, cursor: 3 }),
    recordLastAttempt({ ...gone, ...attempt }),
  ])
  t.same(await database.read('select slot from webhook_cursors', []), [])
})
