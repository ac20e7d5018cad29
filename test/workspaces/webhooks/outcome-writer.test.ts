/** Outcomes of attempts on disk: many in several commits, after faults, and with the end of a webhook. */
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import { type Commit, StorageFault } from '../../../src/base/storage/db/write.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { OutcomeWriter, type SettledAttempt } from '../../../src/workspaces/webhooks/outcome-writer.js'
import { WebhookLane } from '../../../src/workspaces/webhooks/webhook-lane.js'
import { type Webhook, webhookById } from '../../../src/workspaces/webhooks/webhook-records.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'
import { numberEventsFrom } from '../../helpers/database/store-events.js'
import { waitUntil } from '../../helpers/wait-until.js'

const ref = { workspaceId: 'ws_1', id: 'wh_1' }
const EVENTS = 500

/** The row that says how far the webhook is. */
async function findCursor({ database }: Place): Promise<object | undefined> {
  return (await database.read<object>('select seq, last_status from webhook_cursors', []))[0]
}

interface Place {
  readonly database: Database
  readonly lane: WebhookLane
  readonly webhook: () => Promise<Webhook | undefined>
}

async function open(t: Test): Promise<Place> {
  const { database } = await temporaryDatabase(t)
  const row = rowOf(database.read)
  const type = 'email.sent'
  await database.commit([
    await row('webhooks', {
      ...{ id: ref.id, workspace_id: ref.workspaceId, url: 'https://a.test/', events: toJson([type]), enabled: 1 },
      ...{ event_cursor: 0, created_at: 0, updated_at: 0 },
    }),
    ...(await Promise.all(
      Array.from({ length: EVENTS }, (_, at) =>
        row('events', {
          seq: at + 1,
          id: `evt_${at}`,
          workspace_id: ref.workspaceId,
          type,
          created_at: at,
          data: '{}',
        }),
      ),
    )),
    numberEventsFrom(EVENTS),
  ])
  const webhook = (): Promise<Webhook | undefined> => webhookById(database.read, ref)
  const stored = await webhook()
  if (stored === undefined) throw new Error('the webhook is gone')
  const cursors = new Map((database.node.ownSlots.length === 0 ? [0] : database.node.ownSlots).map((slot) => [slot, 0]))
  return { database, lane: new WebhookLane(stored, '', { cursors, nextDue: Number.POSITIVE_INFINITY }), webhook }
}

/** The outcomes of all events, none of which succeeded. */
async function failAll({ database: { read }, lane }: Place): Promise<SettledAttempt[]> {
  const readEvents = async (workspaceId: string, after: number) =>
    read<never>('select seq, id, type, created_at, data from events where workspace_id = ? and seq > ? limit 50', [
      workspaceId,
      after,
    ])
  const settled: SettledAttempt[] = []
  const common = { response_body: null, error: 'answered 410', delivered_at: null, next_attempt_at: null }
  while (settled.length < EVENTS) {
    const task = await lane.take({ read, events: { after: readEvents } }, 0)
    if (task === null) continue
    settled.push({ task, result: { ...common, status: 'failed', attempts: 1, response_status: 410 }, at: 9 })
  }
  return settled
}

function openWriter({ database }: Place, commit: Commit = database.commit): { writer: OutcomeWriter; ends: string[] } {
  const ends: string[] = []
  const writer = new OutcomeWriter({
    commit,
    clock: () => 7,
    log: { error: () => undefined },
    onCommit: () => undefined,
    onDisabled: (lane) => ends.push(lane.ref.id),
  })
  return { writer, ends }
}

t.test('a webhook is disabled once, however many outcomes wait with the one that ends it', async (t) => {
  const place = await open(t)
  const { writer, ends } = openWriter(place)
  for (const settled of await failAll(place)) writer.add(place.lane, settled, 'gone')
  await writer.stop()
  t.match(await place.webhook(), { enabled: 0, disabled_reason: 'gone' })
  t.same(await findCursor(place), { seq: EVENTS, last_status: 'failed' })
  t.same(ends, ['wh_1'])
  const count = async (sql: string): Promise<unknown> =>
    (await place.database.read<{ count: number }>(sql, []))[0]?.count
  t.equal(await count('select count(*) as count from webhook_deliveries'), EVENTS)
  t.equal(await count(`select count(*) as count from events where type = 'webhook.disabled'`), 1)
})

t.test('outcomes wait while the database takes no writes, and the end of the webhook is not forgotten', async (t) => {
  const place = await open(t)
  let faults = 2
  const commit: Commit = async (writes) => {
    faults -= 1
    if (faults >= 0) throw new StorageFault('SQLITE_FULL', 'full')
    await place.database.commit(writes)
  }
  const { writer, ends } = openWriter(place, commit)
  for (const settled of await failAll(place)) writer.add(place.lane, settled, 'gone')
  t.ok(faults > 0)
  await waitUntil('all are on disk', async () =>
    isDeepStrictEqual(await findCursor(place), { seq: EVENTS, last_status: 'failed' }),
  )
  await writer.stop()
  t.same(ends, ['wh_1'])
  t.match(await place.webhook(), { enabled: 0, disabled_reason: 'gone' })
})
