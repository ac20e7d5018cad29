/** How long the links of broadcasts work. */
import t, { type Test } from 'tap'
import { uuidv7 } from '../../../src/base/platform/ids.js'
import type { Database } from '../../../src/base/storage/db/database.js'
import type { Write } from '../../../src/base/storage/db/write.js'
import { keepsAllEmails } from '../../../src/records/messages/broadcast-outcomes.js'
import { BroadcastMessagePurge, FramePurge } from '../../../src/records/messages/broadcast-recipients.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'

const BEFORE = 5_000

async function openWith(
  t: Test,
  build: (newRow: ReturnType<typeof rowOf>) => Promise<readonly Write[]>,
): Promise<Database> {
  const { database } = await temporaryDatabase(t)
  await database.commit(await build(rowOf(database.read)))
  return database
}

const idsIn = async ({ read }: Database, table: string, column: string): Promise<unknown[]> =>
  (await read<Record<string, unknown>>(`select ${column} from ${table} order by 1`, [])).map((row) => row[column])

t.test('messages are removed when they are old, unless they are still to be sent', async (t) => {
  const times = [...Array.from({ length: 700 }, (_, place) => 1_000 + place), 5_000, 6_000]
  const database = await openWith(t, async (newRow) => [
    ...(await Promise.all(
      times.map((at) =>
        newRow('broadcast_messages', {
          ...{ email_id: `bc-${uuidv7(at)}`, recipient_id: `recipient ${at}`, contact_id: uuidv7(at), created_at: at },
          ...{ broadcast_id: 'b', workspace_id: 'ws_1', address: 'bob@b.test' },
        }),
      ),
    )),
    ...(await Promise.all(
      [1_003, 1_600].map((at) => newRow('queue', { id: `recipient ${at}`, held: 2, broadcast_id: 'b' })),
    )),
  ])
  const purge = new BroadcastMessagePurge(database, BEFORE)
  t.equal(await purge.step(), true, 'one step removes some')
  t.equal((await idsIn(database, 'broadcast_messages', 'created_at')).length, 203)
  t.equal(await purge.step(), false)
  t.equal(await purge.step(), false)
  t.same(await idsIn(database, 'broadcast_messages', 'created_at'), [1_003, 1_600, 5_000, 6_000])
})

t.test(
  'messages stay while an email of their broadcast is kept, so that it is known which emails are removed',
  async (t) => {
    const made = ['kept', 'gone'].flatMap((broadcast) => [1_000, 2_000].map((at) => ({ broadcast, at })))
    const database = await openWith(t, async (newRow) => [
      ...(await Promise.all(
        made.map(({ broadcast, at }) =>
          newRow('broadcast_messages', {
            ...{ email_id: `bc-${at} ${broadcast}`, recipient_id: `${at} ${broadcast}`, contact_id: `c${at}` },
            ...{ broadcast_id: broadcast, workspace_id: 'ws_1', created_at: at },
          }),
        ),
      )),
      await newRow('emails', { id: 'bc-2000 kept', workspace_id: 'ws_1', broadcast_id: 'kept' }),
      await newRow('emails', { id: 'other', workspace_id: 'ws_2', broadcast_id: 'gone' }),
    ])
    await new BroadcastMessagePurge(database, BEFORE).step()
    t.same(await idsIn(database, 'broadcast_messages', 'email_id'), ['bc-1000 kept', 'bc-2000 kept'])
    t.equal(await keepsAllEmails(database.read, { workspaceId: 'ws_1', broadcastId: 'kept' }), false)
  },
)

t.test('frames and links stay while a message is left or may come', async (t) => {
  const database = await openWith(t, async (newRow) => {
    const frame = async (id: string, at: number): Promise<readonly Write[]> => [
      await newRow('broadcast_frames', { broadcast_id: id, workspace_id: 'ws_1', created_at: at }),
      ...(await Promise.all(
        ['https://example.com/1', 'https://example.com/2'].map((url) =>
          newRow('broadcast_links', { broadcast_id: id, url_key: url, url, workspace_id: 'ws_1', created_at: at }),
        ),
      )),
    ]
    const broadcast = (id: string, finished: number | null): Promise<Write> =>
      newRow('broadcasts', { id, workspace_id: 'ws_1', status: 'paused', finished_at: finished })
    return [
      ...(
        await Promise.all(
          Array.from({ length: 600 }, (_, place) => `gone ${String(place).padStart(3, '0')}`).map((id) =>
            frame(id, 1_000),
          ),
        )
      ).flat(),
      ...(await Promise.all(['finished', 'has messages', 'under way'].map((id) => frame(id, 1_000)))).flat(),
      ...(await frame('a young one', 6_000)),
      await broadcast('finished', 2_000),
      await broadcast('has messages', 2_000),
      await broadcast('under way', null),
      await newRow('broadcast_messages', { email_id: 'bc-x', broadcast_id: 'has messages', created_at: 6_000 }),
      ...(await Promise.all(
        ['gone 000', 'finished', 'a young one'].map((id) => newRow('broadcast_counts', { broadcast_id: id })),
      )),
    ]
  })
  const purge = new FramePurge(database, BEFORE)
  let steps = 1
  while (await purge.step()) steps += 1
  const left = ['a young one', 'has messages', 'under way']
  t.same(await idsIn(database, 'broadcast_frames', 'broadcast_id'), left)
  t.same(
    await idsIn(database, 'broadcast_links', 'broadcast_id'),
    left.flatMap((id) => [id, id]),
  )
  const counts = await idsIn(database, 'broadcast_counts', 'broadcast_id')
  t.same(counts, ['a young one', 'finished'], 'counts stay as long as their broadcast')
  t.ok(steps > 100, 'in small steps')
})
