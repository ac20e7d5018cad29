/** How far the delivery of events is behind: of enabled webhooks of workspaces that exist, over several pages. */
import t from 'tap'
import { readWebhookBacklog } from '../../../src/workspaces/webhooks/webhook-backlog.js'
import { createWebhook } from '../../helpers/database/create-webhook.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { buildEventWrite } from '../../helpers/database/store-events.js'

t.test('failing webhooks are counted, and the slowest says how far events are behind', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const change = (sql: string, ...parameters: readonly (string | number)[]): Promise<void> =>
    commit([{ sql, parameters: [...parameters] }])
  t.same(await readWebhookBacklog(read), { webhooks: 0, failing: 0, behind: 0 })
  for (const id of ['ws_1', 'ws_2', 'ws_3'])
    await change(
      'insert into workspaces (id, name, slug, plan, created_at) values (?, ?, ?, ?, 1)',
      id,
      id,
      id,
      'small',
    )
  const made: string[] = []
  for (let n = 0; n < 120; n += 1)
    made.push((await createWebhook(database, { workspaceId: `ws_${1 + Math.floor(n / 40)}`, now: 1 + n })).id)
  const [slow = '', failing = '', off = ''] = [made[110], made[111], made[112]]
  await commit(Array.from({ length: 5 }, (_, at) => buildEventWrite({ type: 'email.sent', at })))
  const newest = (await read<{ seq: number }>('select max(seq) as seq from events', []))[0]?.seq ?? 0
  t.ok(newest >= 5)
  await change('update webhooks set event_cursor = ?', newest)
  t.same(await readWebhookBacklog(read), { webhooks: 120, failing: 0, behind: 0 })
  await change('update webhooks set event_cursor = ? where id = ?', newest - 4, slow)
  await change('update webhooks set failing_since = 5, event_cursor = ? where id = ?', newest - 1, failing)
  await change('update webhooks set enabled = 0, failing_since = 5, event_cursor = 0 where id = ?', off)
  await createWebhook(database, { workspaceId: 'ws_erased' })
  t.same(await readWebhookBacklog(read), { webhooks: 119, failing: 1, behind: 4 }, 'also beyond the first page')
})
