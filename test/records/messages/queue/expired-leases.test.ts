/** Leases that have ended are counted, those of attempts under way are not. */
import t from 'tap'
import { readExpiredLeases } from '../../../../src/records/messages/queue/expired-leases.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { testNode } from '../../../helpers/database/test-engine.js'

t.test('leases', async (t) => {
  const { database } = await temporaryDatabase(t)
  t.same(await readExpiredLeases(database.read, { node: testNode, now: 1_000 }), { count: 0, oldestId: null })
  const rows: readonly (readonly [id: string, next: number, leased: number])[] = [
    ['due', 500, 0],
    ['under-way', 1_001, 1],
    ['ended', 1_000, 1],
    ['oldest', 10, 1],
  ]
  for (const [id, next, leased] of rows) {
    const sql = `insert into queue (id, email_id, workspace_id, recipient, domain, priority, attempts, enqueued_at,
      next_attempt_at, leased, held, noticed) values (?, 'e', 'w', 'b@b.test', 'b.test', 1, 1, 0, ?, ?, 0, 0)`
    await database.commit([{ sql, parameters: [id, next, leased] }])
  }
  t.same(await readExpiredLeases(database.read, { node: testNode, now: 1_000 }), { count: 2, oldestId: 'oldest' })
})
