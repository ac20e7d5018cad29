/** How long the links of broadcasts work. */
import t, { type Test } from 'tap'
import { uuidv7 } from '../../../src/base/platform/ids.js'
import type { Database } from '../../../src/base/storage/db/database.js'
import type { Write } from '../../../src/base/storage/db/write.js'
import { BroadcastMessagePurge, FramePurge } from '../../../src/records/messages/broadcast-recipients.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'

const BEFORE = 5_000

async function openWith(t: Test, build: (newRow: ReturnType<typeof rowOf>) => readonly Write[]): Promise<Database> {
  const { database } = await temporaryDatabase(t)
  await database.commit(build(rowOf(database.read)))
  return database
}

const idsIn = ({ read }: Database, table: string, column: string): unknown[] =>
  read<Record<string, unknown>>(`select ${column} from ${table} order by 1`, []).map((row) => row[column])

t.test('messages are removed when they are old, unless they are still to be sent', async (t) => {
  const times = [...Array.from({ length: 700 }, (_, place) => 1_000 + place), 5_000, 6_000]
  const database = await openWith(t, (newRow) => [
    ...times.map((at) =>
      newRow('broadcast_messages', {
        ...{ email_id: `bc-${uuidv7(at)}`, recipient_id: `recipient ${at}`, contact_id: uuidv7(at), created_at: at },
        ...{ broadcast_id: 'b', workspace_id: 'ws_1', address: 'bob@b.test' },
      }),
    ),
    ...[1_003, 1_600].map((at) => newRow('queue', { id: `recipient ${at}`, held: 2, broadcast_id: 'b' })),
  ])
  const purge = new BroadcastMessagePurge(database, BEFORE)
  t.equal(await purge.step(), true, 'one step removes some')
  t.equal(idsIn(database, 'broadcast_messages', 'created_at').length, 203)
  t.equal(await purge.step(), false)
  t.equal(await purge.step(), false)
  t.same(idsIn(database, 'broadcast_messages', 'created_at'), [1_003, 1_600, 5_000, 6_000])
})

t.test('frames and links stay while a message is left or may come', async (t) => {
  const database = await openWith(t, (newRow) => {
    const frame = (id: string, at: number): readonly Write[] => [
      newRow('broadcast_frames', { broadcast_id: id, workspace_id: 'ws_1', created_at: at }),
      ...['https://example.com/1', 'https://example.com/2'].map((url) =>
        newRow('broadcast_links', { broadcast_id: id, url, workspace_id: 'ws_1', created_at: at }),
      ),
    ]
    const broadcast = (id: string, finished: number | null): Write =>
      newRow('broadcasts', { id, workspace_id: 'ws_1', status: 'paused', finished_at: finished })
    return [
      ...Array.from({ length: 600 }, (_, place) => `gone ${String(place).padStart(3, '0')}`).flatMap((id) =>
        frame(id, 1_000),
      ),
      ...['finished', 'has messages', 'under way'].flatMap((id) => frame(id, 1_000)),
      ...frame('a young one', 6_000),
      broadcast('finished', 2_000),
      broadcast('has messages', 2_000),
      broadcast('under way', null),
      newRow('broadcast_messages', { email_id: 'bc-x', broadcast_id: 'has messages', created_at: 6_000 }),
      ...['gone 000', 'finished', 'a young one'].map((id) => newRow('broadcast_counts', { broadcast_id: id })),
    ]
  })
  const purge = new FramePurge(database, BEFORE)
  let steps = 1
  while (await purge.step()) steps += 1
  const left = ['a young one', 'has messages', 'under way']
  t.same(idsIn(database, 'broadcast_frames', 'broadcast_id'), left)
  t.same(
    idsIn(database, 'broadcast_links', 'broadcast_id'),
    left.flatMap((id) => [id, id]),
  )
  const counts = idsIn(database, 'broadcast_counts', 'broadcast_id')
  t.same(counts, ['a young one', 'finished'], 'counts stay as long as their broadcast')
  t.ok(steps > 100, 'in small steps')
})
