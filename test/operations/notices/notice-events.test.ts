/** Which events the service writes mail about. */
import t from 'tap'
import type { Read } from '../../../src/base/storage/db/prepared.js'
import { noticeEventsAfter } from '../../../src/operations/notices/notice-events.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { skipOnPostgres } from '../../helpers/database/test-engine.js'

t.test(
  'the events to mail about are found without reading other events',
  { skip: skipOnPostgres('plans are written in its words') },
  async (t) => {
    const { database } = await temporaryDatabase(t)
    let sql = ''
    const listening: Read = (text) => {
      sql = text
      return []
    }
    await noticeEventsAfter(listening, { slot: 0, seq: 1, limit: 10 })
    const plan = await database.read<{ detail: string }>(`explain query plan ${sql}`, [0, 1, 10])
    t.same(
      plan.map(({ detail }) => detail),
      ['SEARCH events USING INDEX events_of_notices (slot=? AND seq>?)'],
    )
  },
)
