/** Pages of deliveries: every state against a simple model, and what each read walks over. */

import SQLite from 'better-sqlite3'
import t, { type Test } from 'tap'
import type { Read } from '../../../src/base/storage/db/prepared.js'
import type { DeliveryStatus } from '../../../src/base/storage/tables/webhook-tables.js'
import { listDeliveries } from '../../../src/workspaces/webhooks/delivery-list.js'
import { boundFault, type RecordedRead, recordReads } from '../../helpers/database/bounded-reads.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'
import { isOnPostgres } from '../../helpers/database/test-engine.js'

const states = ['pending', 'delivered', 'failed'] as const
const webhook = { workspaceId: 'ws_1', id: 'wh_1' }

async function readAll(read: Read, status: DeliveryStatus | undefined, limit: number): Promise<readonly string[]> {
  const all: string[] = []
  for (;;) {
    const page = await listDeliveries(read, { webhook, status, after: all.at(-1), limit })
    all.push(...page.map(({ id }) => id))
    if (page.length < limit) return all
  }
}

function findFaults(t: Test, file: string): (read: RecordedRead) => string | null {
  const db = new SQLite(file, { readonly: true })
  t.teardown(() => db.close())
  return (read) => boundFault(db, read)
}

t.test('newest first, in pages, of one state or of any', async (t) => {
  const { database, file } = await temporaryDatabase(t)
  const row = rowOf(database.read)
  // The few that were delivered are far apart, so that a page takes several steps.
  const rows = Array.from({ length: 1_200 }, (_, at) => ({
    id: String(at).padStart(5, '0'),
    status: at % 400 === 7 ? 'delivered' : at % 3 === 0 ? 'pending' : 'failed',
    webhook_id: at % 10 === 9 ? 'wh_2' : 'wh_1',
    workspace_id: 'ws_1',
  }))
  await database.commit(await Promise.all(rows.map((each) => row('webhook_deliveries', each))))
  const own = rows.filter(({ webhook_id }) => webhook_id === 'wh_1').reverse()
  const faultOf = isOnPostgres() ? () => null : findFaults(t, file)
  for (const status of [undefined, ...states]) {
    const expected = own.filter((each) => status === undefined || each.status === status).map(({ id }) => id)
    for (const limit of [2, 101]) {
      const faults = new Set<string | null>()
      const reads = await recordReads(async () => {
        t.same(await readAll(database.read, status, limit), expected, `${status ?? 'any'} in pages of ${limit}`)
      })
      for (const read of reads) faults.add(faultOf(read))
      if (!isOnPostgres()) t.same([...faults], [null], 'no read looks into more than one step')
    }
  }
})
