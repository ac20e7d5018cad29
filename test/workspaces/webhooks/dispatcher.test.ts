/** Attempts whose outcome is not known, and how many begin under load. What else the dispatcher does: test/journeys/webhook-delivery. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createAddressGuard } from '../../../src/base/platform/address-guard.js'
import type { Database } from '../../../src/base/storage/db/database.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { Dispatcher } from '../../../src/workspaces/webhooks/dispatcher.js'
import type { NotMade, RequestContent, RequestOutcome } from '../../../src/workspaces/webhooks/request-protocol.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'
import { plainPreparer } from '../../helpers/http/plain-preparer.js'
import { waitUntil } from '../../helpers/wait-until.js'

const answer: RequestOutcome = { kind: 'answer', status: 200, body: '', took: 1 }
const MINUTE = 60_000

interface Place {
  readonly database: Database
  readonly dispatcher: Dispatcher
  readonly requests: RequestContent[]
  readonly pass: (milliseconds: number) => void
  readonly deliveries: () => Promise<readonly object[]>
}

async function fill({ read, commit }: Database): Promise<void> {
  const row = rowOf(read)
  const [workspace_id, type] = ['ws_1', 'email.sent']
  await commit([
    await row('workspaces', { id: workspace_id }),
    await row('webhooks', { id: 'wh_1', workspace_id, url: 'https://8.8.8.8/', events: toJson([type]), enabled: 1 }),
    await row('events', { seq: 1, id: 'evt_1', workspace_id, type, data: '{}' }),
  ])
}

/** Takes longer than a turn of the dispatcher, so that an outcome comes while its lane still has a turn. */
function endTurn(): void {
  const end = performance.now() + 3
  while (performance.now() < end);
}

/** Time for the dispatcher to make another request, if it would. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await nextTurn()
}

/** `outcomeOf`: of the nth request, from 1. */
async function open(
  t: Test,
  outcomeOf: (number: number) => RequestOutcome | NotMade | null,
  readLoad: () => number = () => 0,
): Promise<Place> {
  const { database } = await temporaryDatabase(t)
  await fill(database)
  let now = 1_000
  const requests: RequestContent[] = []
  const readClock = (): number => {
    endTurn()
    return now
  }
  const dispatcher = new Dispatcher({
    ...{ read: database.read, commit: database.commit, node: database.node, clock: readClock },
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    retrySchedule: () => [MINUTE],
    readLoad,
    preparer: plainPreparer(database.read),
    mayConnect: createAddressGuard([]),
    resolveAddresses: async () => ({ kind: 'no-domain' }),
    timeout: () => 10_000,
    request: async (content) => outcomeOf(requests.push(content)),
  })
  dispatcher.start()
  t.teardown(() => dispatcher.stop(0))
  return {
    database,
    dispatcher,
    requests,
    pass: (milliseconds) => {
      now += milliseconds
    },
    deliveries: async () =>
      database.read('select event_id, status, attempts, error, next_attempt_at from webhook_deliveries', []),
  }
}

t.test('an attempt without a known outcome is made again, and counts for nothing', async (t) => {
  const { requests, deliveries, pass } = await open(t, (number) => (number < 3 ? null : answer))
  for (const count of [1, 2]) {
    await waitUntil('it is made', () => requests.length >= count)
    await turns()
    t.equal(requests.length, count, 'not again before the pause is over')
    pass(1_000)
  }
  await waitUntil('it is on disk', async () => (await deliveries()).length === 1)
  t.match(await deliveries(), [{ event_id: 'evt_1', status: 'delivered', attempts: 1, error: null }])
  t.equal(requests.length, 3)
})

t.test('one that never has an outcome is a failure in the end, and is retried as such', async (t) => {
  const { requests, deliveries, pass } = await open(t, () => null)
  for (const count of [1, 2, 3]) {
    await waitUntil('it is made', () => requests.length >= count)
    await turns()
    t.equal(requests.length, count, 'not again before the pause is over')
    pass(1_000)
  }
  await waitUntil('it is on disk', async () => (await deliveries()).length === 1)
  const next_attempt_at = 4_000 + MINUTE
  t.match(await deliveries(), [{ status: 'pending', attempts: 1, error: 'the outcome is not known', next_attempt_at }])
  t.equal(requests.length, 4)
})

t.test('at the stop it is left for the next start', async (t) => {
  const { dispatcher, requests, deliveries } = await open(t, () => null)
  await waitUntil('it is made', () => requests.length === 1)
  await dispatcher.stop(0)
  t.same(await deliveries(), [])
})

t.test('while the thread is at full load, a limited number begins, of each event one', async (t) => {
  let load = 1
  let polls = 0
  const beforePolls: number[] = []
  const { database, requests, deliveries } = await open(
    t,
    () => answer,
    () => {
      polls += 1
      beforePolls.push(requests.length)
      return load
    },
  )
  await waitUntil('the load is known', () => polls > 0)
  const row = rowOf(database.read)
  const events = Array.from({ length: 300 }, (_, at) => ({ seq: at + 2, id: `evt_${at + 2}` }))
  const common = { workspace_id: 'ws_1', type: 'email.sent', data: '{}' }
  const known = polls
  await database.commit(await Promise.all(events.map((event) => row('events', { ...event, ...common }))))
  await waitUntil('some went out', () => requests.length > 100)
  const limited = beforePolls.slice(known - 1)
  const begun = limited.slice(1).map((count, at) => count - (limited[at] ?? 0))
  t.ok(Math.max(...begun) <= 20, `${begun.join()} began between two polls`)
  load = 0
  await waitUntil('the others follow', async () => (await deliveries()).length === 301)
  t.equal(new Set(requests.map(({ event }) => event.id)).size, 301)
  t.equal(requests.length, 301, 'none twice')
})
