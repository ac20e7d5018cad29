/**
 * Webhooks of several nodes on one database: each node delivers the events of its slots, and together they deliver all.
 *
 * Runs alone: it sets the engine of its process.
 */
import t, { type Test } from 'tap'
import { createAddressGuard } from '../../src/base/platform/address-guard.js'
import { parseNetwork } from '../../src/base/platform/ip-address.js'
import type { Database } from '../../src/base/storage/db/database.js'
import type { NodeState } from '../../src/base/storage/db/node-state.js'
import { Dispatcher } from '../../src/workspaces/webhooks/dispatcher.js'
import { replayRange } from '../../src/workspaces/webhooks/replay-range.js'
import { RequestThread } from '../../src/workspaces/webhooks/request-thread.js'
import type { WebhookRef } from '../../src/workspaces/webhooks/webhook-records.js'
import { createWebhook } from '../helpers/database/create-webhook.js'
import { openTestPostgres, stopServer, temporaryPostgres } from '../helpers/database/postgres-database.js'
import { holdCommits } from '../helpers/database/slow-commit.js'
import { buildEventWrite } from '../helpers/database/store-events.js'
import { plainPreparer } from '../helpers/http/plain-preparer.js'
import { type WebhookReceiver, webhookReceiver } from '../helpers/http/webhook-receiver.js'
import { withoutPostgres } from '../helpers/programs/postgres.js'
import { waitUntil } from '../helpers/wait-until.js'

t.teardown(stopServer)

const skip = withoutPostgres
const HOUR = 3_600_000
const loopback = parseNetwork('127.0.0.0/8')

interface Cluster {
  readonly url: string
  readonly one: Database
  readonly two: Database
  readonly receiver: WebhookReceiver
  readonly webhook: WebhookRef
}

async function openCluster(t: Test): Promise<Cluster> {
  const url = await temporaryPostgres(t)
  const one = await openTestPostgres(t, url)
  const two = await openTestPostgres(t, url, { node: 'two' })
  // What they know of each other does not change in the course of a test.
  await waitUntil('they know each other', () => one.node.countLiving() === 2 && two.node.countLiving() === 2)
  const receiver = await webhookReceiver(t)
  const sql = `insert into workspaces (id, name, slug, plan, created_at) values ('ws_1', 'a', 'a', 'small', 1)`
  await one.commit([{ sql, parameters: [] }])
  return { url, one, two, receiver, webhook: await createWebhook(one, { url: receiver.url }) }
}

/** Delivers as the node of the database, or as `node`. */
function startDispatcher(t: Test, database: Database, node: NodeState = database.node): Dispatcher {
  const thread = new RequestThread({ userAgent: 'test', authorities: undefined }, () => undefined)
  const dispatcher = new Dispatcher({
    ...{ read: database.read, commit: database.commit, node, clock: Date.now, readLoad: () => 0 },
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    retrySchedule: () => [HOUR],
    preparer: plainPreparer(database.read),
    mayConnect: createAddressGuard([loopback].flatMap((network) => network ?? [])),
    resolveAddresses: async () => ({ kind: 'no-domain' }),
    timeout: () => 10_000,
    request: (content) => thread.request(content),
  })
  dispatcher.start()
  t.teardown(async () => {
    await dispatcher.stop(1_000)
    await thread.stop()
  })
  return dispatcher
}

const sent = () => buildEventWrite({ type: 'email.sent', at: Date.now() })

/** The ids of all events of the log that the webhook wants. */
async function idsInLog({ read }: Database, condition = 'true'): Promise<readonly string[]> {
  const sql = `select id from events where type = 'email.sent' and ${condition} order by id`
  return (await read<{ id: string }>(sql, [])).map(({ id }) => id)
}

const idsAt = ({ receiver }: Cluster): readonly string[] =>
  receiver
    .events()
    .map(({ id }) => id)
    .toSorted()

async function countDelivered({ read }: Database): Promise<number> {
  const [row] = await read<{ count: number }>(
    `select count(*) as count from webhook_deliveries where status = 'delivered'`,
    [],
  )
  return row?.count ?? 0
}

t.test('each event is delivered once, by the node that has stored it', { skip }, async (t) => {
  const cluster = await openCluster(t)
  const { one, two } = cluster
  startDispatcher(t, one)
  startDispatcher(t, two)
  const store = async (database: Database, count: number): Promise<void> => {
    for (let at = 0; at < count; at += 1) {
      await database.commit([sent(), { sql: `select pg_sleep(${at % 3} * 0.004)`, parameters: [] }])
    }
  }
  await Promise.all([store(one, 60), store(two, 60), store(one, 60), store(two, 60)])
  await waitUntil('all are noted as delivered', async () => (await countDelivered(one)) === 240)
  t.same(idsAt(cluster), await idsInLog(one))
  const places = await one.read(
    `select distinct d.node, e.slot from webhook_deliveries as d join events as e on e.seq = d.event_seq order by 1`,
    [],
  )
  t.same(places, [
    { node: 'one', slot: one.node.ownSlots[0] },
    { node: 'two', slot: two.node.ownSlots[0] },
  ])
})

t.test('an event that becomes visible after one with a greater number is delivered', { skip }, async (t) => {
  const cluster = await openCluster(t)
  const { url, one, two } = cluster
  startDispatcher(t, one)
  startDispatcher(t, two)
  const held = await holdCommits(t, url)
  const { commit } = await held.begin(one, [sent()])
  await two.commit([sent()])
  await waitUntil('the later one is delivered', async () => (await countDelivered(two)) === 1)
  await two.commit([sent()])
  await waitUntil('the next one, too', async () => (await countDelivered(two)) === 2)
  await held.release()
  await commit
  await waitUntil('the earlier one is delivered', async () => (await countDelivered(two)) === 3)
  t.same(idsAt(cluster), await idsInLog(one))
  const [last] = await one.read<{ first: boolean }>(
    `select seq = (select min(seq) from events where type = 'email.sent') as first from events where id = $1`,
    [cluster.receiver.events().at(-1)?.id],
  )
  t.ok(last?.first, 'it was the one with the smallest number')
})

/** A node whose slots the test changes. */
function changingNode({ node }: Database): NodeState & { readonly serve: (...slots: readonly number[]) => void } {
  let served = node.slots()
  const listeners: (() => void)[] = []
  return {
    ...node,
    slots: () => served,
    onChange: (listener) => void listeners.push(listener),
    serve: (...slots) => {
      served = slots
      for (const listener of listeners) listener()
    },
  }
}

t.test('a slot that goes to another node and back is continued at its place', { skip }, async (t) => {
  const cluster = await openCluster(t)
  const { one, two } = cluster
  const [slotOne = 0, slotTwo = 0] = [...one.node.ownSlots, ...two.node.ownSlots]
  const [nodeOne, nodeTwo] = [changingNode(one), changingNode(two)]
  startDispatcher(t, one, nodeOne)
  startDispatcher(t, two, nodeTwo)
  const store = async (count: number): Promise<void> => {
    for (let at = 0; at < count; at += 1) await Promise.all([one.commit([sent()]), two.commit([sent()])])
  }
  const expectAll = async (count: number): Promise<void> => {
    await waitUntil(`${count} are delivered`, async () => (await countDelivered(one)) === count)
    t.same([...new Set(idsAt(cluster))], await idsInLog(one))
  }
  await store(20)
  await expectAll(40)
  t.equal(cluster.receiver.requests.length, 40, 'each once')
  nodeOne.serve()
  await waitUntil('the node has given its slot back', async () => {
    const before = cluster.receiver.requests.length
    await one.commit([sent()])
    await new Promise((resolve) => setTimeout(resolve, 300))
    return cluster.receiver.requests.length === before
  })
  const delivered = await countDelivered(one)
  const waiting = (await idsInLog(one)).length - delivered
  t.ok(waiting > 0, 'nobody delivers them')
  nodeTwo.serve(slotTwo, slotOne)
  await store(5)
  await expectAll(delivered + waiting + 10)
  nodeTwo.serve(slotTwo)
  nodeOne.serve(slotOne)
  await store(5)
  await expectAll(delivered + waiting + 20)
  const cursors = await one.read('select slot, seq from webhook_cursors order by slot', [])
  const newest = await one.read('select slot, max(seq) as seq from events group by slot order by slot', [])
  t.same(cursors, newest)
})

t.test('the node that has written a retry makes it, or the one to which it was given', { skip }, async (t) => {
  const cluster = await openCluster(t)
  const { one, two, receiver } = cluster
  startDispatcher(t, one)
  const second = startDispatcher(t, two)
  receiver.answer((response) => response.writeHead(500).end())
  await one.commit([sent()])
  const pending = async () =>
    one.read<{ node: string; attempts: number }>(
      `select node, attempts from webhook_deliveries where status = 'pending'`,
      [],
    )
  await waitUntil('it has failed', async () => (await pending()).length === 1)
  t.same(await pending(), [{ node: 'one', attempts: 1 }])
  receiver.answer((response) => response.end())
  const makeDue = { sql: `update webhook_deliveries set next_attempt_at = 1`, parameters: [] }
  await one.commit([makeDue])
  second.reload()
  await two.commit([sent()])
  await waitUntil('the other node has read the webhook again', async () => (await countDelivered(one)) === 1)
  t.same(await pending(), [{ node: 'one', attempts: 1 }], 'it leaves what is not its own')
  await one.commit([{ sql: `update webhook_deliveries set node = 'two' where status = 'pending'`, parameters: [] }])
  second.reload()
  await waitUntil('it makes what it was given', async () => (await countDelivered(one)) === 2)
})

/** Deliveries of new events that this node has made. */
async function countNew({ read, node }: Database): Promise<number> {
  const rows = await read<{ seq: number }>(
    'select distinct event_seq as seq from webhook_deliveries where node = $1 and status = $2',
    [node.name, 'delivered'],
  )
  return rows.length
}

t.test('a replay has the events of all slots in their order, by the node that was asked', { skip }, async (t) => {
  const cluster = await openCluster(t)
  const { url, one, two, receiver, webhook } = cluster
  for (let at = 0; at < 30; at += 1) await (at % 3 === 0 ? one : two).commit([sent()])
  startDispatcher(t, one)
  const held = await holdCommits(t, url)
  const { commit } = await held.begin(one, [sent()])
  await two.commit([sent()])
  const range = { from: 0, to: Date.now() + HOUR, types: ['email.sent'] as const }
  const asked = startDispatcher(t, two)
  await replayRange(two, webhook, range, Date.now())
  await asked.refresh(webhook)
  for (const _ of [1, 2, 3]) {
    const before = await countNew(two)
    await two.commit([sent()])
    await waitUntil('the node has delivered a new event', async () => (await countNew(two)) > before)
  }
  await held.release()
  await commit
  const all = await one.read<{ id: string }>(`select id from events where type = 'email.sent' order by seq`, [])
  await waitUntil('all are delivered twice', async () => (await countDelivered(one)) === 2 * all.length - 3)
  const replayed = await one.read<{ id: string }>(
    `select event_id as id from webhook_deliveries where node = 'two' and event_seq in
      (select seq from events where slot = ${one.node.ownSlots[0]})`,
    [],
  )
  t.same(replayed.length, 11, 'the events of the other node, and that which became visible late')
  t.equal(receiver.requests.length, 2 * all.length - 3, 'those after the request once')
  t.same(await one.read('select id from webhook_replays', []), [])
})
