/** Broadcasts that are paused or wait are listed; drafts, and those that go on or are over, are not. */
import t from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { insertDraft } from '../../../src/outbound/broadcasts/broadcast-records.js'
import { stalledBroadcasts } from '../../../src/outbound/broadcasts/stalled-broadcasts.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const content = {
  ...{
    audience_id: 'aud_1',
    sender: toJson({ address: parseAddress('a@a.test'), name: '' }),
    reply_to: toJson([]),
    subject: 'Hi',
    html: null,
    text: 'hi',
  },
  template_id: null,
  blocks: null,
}

t.test('paused ones, and those whose limit is used up', async (t) => {
  const { database } = await temporaryDatabase(t)
  const cases: readonly (readonly [id: string, set: string])[] = [
    ['bc_draft', `status = 'draft'`],
    ['bc_sending', `status = 'sending'`],
    ['bc_waiting', `status = 'sending', waits_until = 5000, note = 'the limit of the month is used up'`],
    ['bc_paused', `status = 'paused'`],
    ['bc_over', `status = 'cancelled', finished_at = 5, waits_until = 5`],
    ['bc_other', `status = 'paused', workspace_id = 'ws_2'`],
  ]
  for (const [id, set] of cases) {
    await database.commit([
      insertDraft({ ...content, id, name: id, workspaceId: 'ws_1', now: 1_000 }),
      { sql: `update broadcasts set ${set} where id = ?`, parameters: [id] },
    ])
  }
  const found = await stalledBroadcasts(database.read, { workspaceId: 'ws_1', limit: 20 })
  t.same(
    found.toSorted((one, other) => one.id.localeCompare(other.id)),
    [
      { id: 'bc_paused', name: 'bc_paused', status: 'paused', waits_until: null, note: null },
      {
        ...{ id: 'bc_waiting', name: 'bc_waiting', status: 'sending', waits_until: 5_000 },
        note: 'the limit of the month is used up',
      },
    ],
  )
  t.equal((await stalledBroadcasts(database.read, { workspaceId: 'ws_1', limit: 1 })).length, 1)
})
