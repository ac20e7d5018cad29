/** Pages of the queue: every filter, in steps, and each entry once. */
import t from 'tap'
import type { Database } from '../../../../src/base/storage/db/database.js'
import type { QueueFilter } from '../../../../src/records/messages/queue/queue-admin.js'
import { readQueuePage } from '../../../../src/records/messages/queue/queue-pages.js'
import { queueStatuses } from '../../../../src/records/messages/queue/queue-status.js'
import { queueStatusOf } from '../../../../src/records/messages/queue/wait-reason.js'
import { bulkEmail } from '../../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { plansOfSqlite, skipOnPostgres } from '../../../helpers/database/test-engine.js'

async function readAll(database: Database, filter: QueueFilter, limit: number): Promise<string[]> {
  const ids: string[] = []
  for (let after: string | null = ''; after !== null; ) {
    const page: Awaited<ReturnType<typeof readQueuePage>> = await readQueuePage(database.read, { filter, after, limit })
    ids.push(...page.entries.map(({ id }) => id))
    after = page.next
  }
  return ids
}

t.test('pages have each entry of the filter once, in order', async (t) => {
  const { database } = await temporaryDatabase(t)
  for (const workspaceId of ['ws_1', 'ws_2']) {
    const to = Array.from({ length: 400 }, (_, at) => `r${at}@${at % 3 === 0 ? 'a' : 'b'}.test`)
    await database.commit(bulkEmail({ workspaceId, to, at: 1_000 }).writes)
  }
  await database.commit([
    {
      sql: "update queue set held = 1 where rtrim(recipient, 'abcdefghijklmnopqrstuvwxyz@.') like '%7'",
      parameters: [],
    },
    { sql: "update queue set attempts = 2 where recipient like 'r1%'", parameters: [] },
    { sql: "update queue set leased = 1 where recipient like 'r2%'", parameters: [] },
  ])
  const { entries: all } = await readQueuePage(database.read, { filter: {}, after: '', limit: 1_000 })
  t.equal(all.length, 800)
  for (const status of [undefined, ...queueStatuses]) {
    for (const domain of [undefined, 'a.test']) {
      for (const workspaceId of [undefined, 'ws_2']) {
        const expected = all.filter(
          (entry) =>
            (status === undefined || queueStatusOf(entry) === status) &&
            (domain === undefined || entry.domain === domain) &&
            (workspaceId === undefined || entry.workspace_id === workspaceId),
        )
        const found = await readAll(database, { status, domain, workspaceId }, 7)
        t.same(
          found,
          expected.map(({ id }) => id),
          `${status} ${domain} ${workspaceId}`,
        )
      }
    }
  }
})

t.test(
  'indexes find held entries, those being sent, and those of a domain',
  { skip: skipOnPostgres(plansOfSqlite) },
  async (t) => {
    const { database } = await temporaryDatabase(t)
    const plans: string[] = []
    const read: Database['read'] = async (sql, parameters) => {
      plans.push(
        ...(await database.read<{ detail: string }>(`explain query plan ${sql}`, parameters)).map(
          ({ detail }) => detail,
        ),
      )
      return database.read(sql, parameters)
    }
    const indexes = {
      queue_held: { status: 'held' },
      queue_leased: { status: 'sending' },
      queue_of_domain: { domain: 'a.test' },
    } as const
    for (const [index, filter] of Object.entries(indexes)) {
      plans.length = 0
      await readQueuePage(read, { filter, after: '', limit: 10 })
      t.ok(
        plans.some((detail) => detail.includes(index)),
        `${index}: ${plans.join('; ')}`,
      )
      t.notOk(
        plans.some((detail) => detail.includes('TEMP B-TREE')),
        'nothing is sorted',
      )
    }
  },
)
