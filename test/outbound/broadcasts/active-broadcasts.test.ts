/** The list that the engine reads five times a second, however many broadcasts are under way. */
import t from 'tap'
import type { Read } from '../../../src/base/storage/db/prepared.js'
import { listRunningBroadcasts } from '../../../src/outbound/broadcasts/active-broadcasts.js'
import { createBroadcast } from '../../helpers/database/create-broadcast.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { isOnPostgres } from '../../helpers/database/test-engine.js'

const DRAFT = `insert into broadcasts (id, workspace_id, name, audience_id, sender, reply_to, status, cursor, ceiling, expanded,
  version, created_at, updated_at, html) select ?, workspace_id, name, audience_id, sender, reply_to, ?, '', '', 0, 1, 0, 0,
  ? from broadcasts limit 1`

t.test('the list has those under way, and is read from an index alone', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { commit } = database
  const { id } = await createBroadcast(database, { workspaceId: 'ws_a', contacts: ['a@b.test'], at: 1 })
  await commit(
    ['paused', 'cancelled', 'sending', 'scheduled', 'sent', 'draft'].map((status) => ({
      sql: DRAFT,
      parameters: [`z ${status}`, status, 'x'.repeat(200_000)],
    })),
  )
  const plans: string[] = []
  const read: Read = async (sql, parameters) => {
    if (!isOnPostgres()) {
      const plan = await database.read<{ detail: string }>(`explain query plan ${sql}`, parameters)
      plans.push(...plan.map(({ detail }) => detail))
    }
    return database.read(sql, parameters)
  }
  t.same(
    (await listRunningBroadcasts(read)).map((row) => [row.id, row.status]),
    [
      [id, 'sending'],
      ['z cancelled', 'cancelled'],
      ['z paused', 'paused'],
      ['z sending', 'sending'],
    ],
  )
  if (!isOnPostgres()) t.same(plans, ['SEARCH broadcasts USING COVERING INDEX broadcasts_running (id>?)'])
})
