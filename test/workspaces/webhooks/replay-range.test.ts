/** Replays of a time range: what is counted, against a simple model, and what is stored for the dispatcher. */
import fc from 'fast-check'
import t from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import type { EventType } from '../../../src/base/storage/tables/email-tables.js'
import { replayRange } from '../../../src/workspaces/webhooks/replay-range.js'
import { changeWebhook, type WebhookRef } from '../../../src/workspaces/webhooks/webhook-records.js'
import { createWebhook } from '../../helpers/database/create-webhook.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { buildEventWrite } from '../../helpers/database/store-events.js'
import { skipOnPostgres } from '../../helpers/database/test-engine.js'

const types = ['email.queued', 'email.sent', 'webhook.test'] as const

const replaysOf = async (database: Database, { id }: WebhookRef): Promise<unknown[]> =>
  database.read('select types, next_seq, last_seq from webhook_replays where webhook_id = ? order by created_at', [id])

t.test(
  'the count is that of the events of the range, of the workspace and of the types',
  { skip: skipOnPostgres('ranges are wider where the log may be out of order') },
  async (t) => {
    const { database } = await temporaryDatabase(t)
    const webhook = await createWebhook(database)
    const event = fc.record({ workspaceId: fc.constantFrom('ws_1', 'ws_2'), type: fc.constantFrom(...types) })
    const [events = []] = fc.sample(fc.array(event, { minLength: 200, maxLength: 200 }), { numRuns: 1, seed: 7 })
    const stored = events.map((one, at) => ({ ...one, at: 100 + at }))
    await database.commit(stored.map(buildEventWrite))
    const request = fc.record({
      from: fc.integer({ min: 90, max: 310 }),
      length: fc.integer({ min: 1, max: 200 }),
      types: fc.subarray<EventType>(['email.queued', 'email.sent', 'email.bounced'], { minLength: 1 }),
    })
    const seqs = fc.asyncProperty(request, async ({ from, length, types }) => {
      const to = from + length
      const count = await replayRange(database, webhook, { from, to, types }, 1)
      const matches = stored.filter(
        ({ workspaceId, type, at }) =>
          workspaceId === 'ws_1' && at >= from && at < to && types.some((chosen) => chosen === type),
      )
      const [replay] = (await replaysOf(database, webhook)) as { next_seq: number; last_seq: number }[]
      await database.commit([{ sql: 'delete from webhook_replays', parameters: [] }])
      const inRange = await database.read<{ seq: number }>(
        'select seq from events where workspace_id = ? and seq between ? and ?',
        ['ws_1', replay?.next_seq ?? 0, replay?.last_seq ?? -1],
      )
      return count === matches.length && (count === 0) === (replay === undefined) && inRange.length >= count
    })
    await fc.assert(seqs, { numRuns: 200 })
  },
)

t.test('many events are counted in steps', async (t) => {
  const { database } = await temporaryDatabase(t)
  const webhook = await createWebhook(database)
  const batch = Array.from({ length: 5_500 }, (_, at) =>
    buildEventWrite({ type: at % 2 === 0 ? 'email.sent' : 'email.queued', at: 1_000 + at }),
  )
  for (let round = 0; round < 2; round += 1) await database.commit(batch)
  let reads = 0
  const read: Database['read'] = async (sql, parameters) => {
    if (sql.includes('count(*)') && sql.includes('"step"')) reads += 1
    return database.read(sql, parameters)
  }
  const range = { from: 0, to: 10_000, types: ['email.sent'] as const }
  t.equal(await replayRange({ ...database, read }, webhook, range, 1), 5_500)
  t.equal(reads, 2)
  t.match(await replaysOf(database, webhook), [{ types: '["email.sent"]', next_seq: 1, last_seq: 11_000 }])
})

t.test('at most ten at a time, and none for a webhook that is disabled', async (t) => {
  const { database } = await temporaryDatabase(t)
  const webhook = await createWebhook(database)
  await database.commit([buildEventWrite({ type: 'email.sent', at: 5 })])
  const range = { from: 0, to: 10, types: ['email.sent'] as const }
  const replay = (): Promise<unknown> => replayRange(database, webhook, range, 1).catch((error: unknown) => error)
  const answers = await Promise.all(Array.from({ length: 12 }, replay))
  t.equal(answers.filter((answer) => answer === 1).length, 10)
  t.match(
    answers.filter((answer) => answer !== 1),
    [{ kind: 'conflict', details: { limit: 10 } }, { kind: 'conflict' }],
  )
  t.equal((await replaysOf(database, webhook)).length, 10)
  await database.commit([changeWebhook(webhook, { enabled: false }, 1)])
  t.match(await replay(), { kind: 'conflict', details: { disabled_reason: null } })
  t.match(await replayRange(database, { ...webhook, workspaceId: 'ws_2' }, range, 1).catch((error) => error), {
    kind: 'webhook-not-found',
  })
})

t.test('a workspace replays so many events on one day', async (t) => {
  const { database } = await temporaryDatabase(t)
  const [one, other, foreign] = [
    await createWebhook(database),
    await createWebhook(database),
    await createWebhook(database, { workspaceId: 'ws_2' }),
  ]
  const events = ['ws_1', 'ws_2'].flatMap((workspaceId) =>
    Array.from({ length: 4 }, () => buildEventWrite({ workspaceId, type: 'email.sent', at: 5 })),
  )
  await database.commit(events)
  const range = { from: 0, to: 10, types: ['email.sent'] as const }
  const replay = (webhook: WebhookRef, now: number): Promise<unknown> =>
    replayRange({ ...database, maxReplayed: 10 }, webhook, range, now).catch((error: unknown) => error)
  t.equal(await replay(one, 1), 4)
  t.equal(await replay(other, 2), 4)
  const expected = { kind: 'conflict', details: { left: 2, limit: 10 } }
  t.match([await replay(one, 3), await replay(other, 86_399_999)], [expected, expected])
  t.equal(await replay(foreign, 4), 4, 'each workspace has its own limit')
  t.same([await replay(one, 86_400_000), await replay(one, 86_400_001)], [4, 4], 'the next day')
  t.match(await replay(one, 86_400_002), expected)
  t.equal((await replaysOf(database, one)).length, 3)
})

t.test('what is beyond the limit is not counted', async (t) => {
  const { database } = await temporaryDatabase(t)
  const webhook = await createWebhook(database)
  const batch = Array.from({ length: 5_500 }, () => buildEventWrite({ type: 'email.sent', at: 5 }))
  for (let round = 0; round < 2; round += 1) await database.commit(batch)
  let reads = 0
  const read: Database['read'] = async (sql, parameters) => {
    if (sql.includes('count(*)') && sql.includes('"step"')) reads += 1
    return database.read(sql, parameters)
  }
  const range = { from: 0, to: 10, types: ['email.sent', 'email.queued'] as const }
  const refused = replayRange({ read, commit: database.commit, maxReplayed: 10 }, webhook, range, 1)
  t.match(await refused.catch((error: unknown) => error), { kind: 'conflict', details: { left: 10, limit: 10 } })
  t.equal(reads, 1)
})
