/**
 * Nodes on one database: who lives, who adopts whom, who leads.
 *
 * Runs alone: it sets the engine of its process.
 */
import pg from 'pg'
import t, { type Test } from 'tap'
import { systemClock } from '../../../../src/base/platform/clock.js'
import { ChangeFollower, waitForNodes } from '../../../../src/base/storage/db/change-acknowledgement.js'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { countChange } from '../../../../src/base/storage/db/table-changes.js'
import { PostgresServers } from '../../../../src/base/storage/postgres/connect.js'
import { forgetNode, type NodeRow, readNodes } from '../../../../src/base/storage/postgres/node-rows.js'
import {
  openTestPostgres,
  openTestStore,
  settingsOf,
  stopServer,
  temporaryPostgres,
} from '../../../helpers/database/postgres-database.js'
import { withoutPostgres } from '../../../helpers/programs/postgres.js'
import { waitUntil } from '../../../helpers/wait-until.js'

t.teardown(stopServer)

const skip = withoutPostgres

/** Runs statements as an operator would, beside the nodes. */
async function openConsole(t: Test, url: string) {
  const connection = await new PostgresServers(settingsOf(url)).connect()
  t.teardown(() => connection.close())
  return async (...statements: readonly string[]) => connection.run(statements.map((sql) => ({ sql, parameters: [] })))
}

const nodeOf = async ({ read }: Database, name: string): Promise<NodeRow | undefined> =>
  (await readNodes(read)).find((node) => node.name === name)

const entry = (id: string) => ({
  sql: `insert into queue (id, email_id, workspace_id, recipient, domain, priority, attempts, enqueued_at, next_attempt_at,
    leased, held, noticed) values ($1, 'e', 'w', 'a@b.c', 'b.c', 1, 3, 1, 2, 1, 0, 0)`,
  parameters: [id],
})

const ownersOf = async ({ read }: Database): Promise<readonly string[]> =>
  (await read<{ owner: string }>(`select id || ' ' || node || ' ' || leased as owner from queue order by id`, [])).map(
    ({ owner }) => owner,
  )

t.test('nodes of two names work side by side; one of them leads, and another after it', { skip }, async (t) => {
  const url = await temporaryPostgres(t)
  const one = await openTestPostgres(t, url, { node: 'one' })
  const two = await openTestPostgres(t, url, { node: 'two' })
  await Promise.all([one.commit([entry('1')]), two.commit([entry('2')])])
  t.same(await ownersOf(one), ['1 one 1', '2 two 1'], 'each owns what it has accepted')
  t.same([one.node.leads(), two.node.leads()], [true, false])
  t.same(one.node.slots(), [0, ...one.node.ownSlots], 'the leader also delivers the events of commands')
  t.same(two.node.slots(), two.node.ownSlots)
  t.notSame(one.node.ownSlots, two.node.ownSlots)
  await one.close()
  await waitUntil('it leads', () => two.node.leads())
  t.same(await ownersOf(two), ['1 one 1', '2 two 1'], 'a node that ended may come back')
})

t.test('a silent node is adopted whole, and writes nothing afterwards', { skip }, async (t) => {
  const url = await temporaryPostgres(t)
  const losses: string[] = []
  const one = await openTestPostgres(t, url, { node: 'one', onTaken: (error) => losses.push(error.message) })
  const two = await openTestPostgres(t, url, { node: 'two' })
  const run = await openConsole(t, url)
  const changes: (readonly number[])[] = []
  two.node.onChange(() => changes.push(two.node.slots()))
  await one.commit([entry('1')])
  const slots = [0, ...one.node.ownSlots, ...two.node.ownSlots]
  await run(`update fence set beat = now() - interval '31 seconds' where node = 'one'`)
  await waitUntil('the entry has moved', async () => (await ownersOf(two))[0] === '1 two 0')
  const [row] = await two.read<{ at: number }>('select next_attempt_at as at from queue', [])
  t.ok((row?.at ?? 0) > systemClock(), 'an attempt that was under way is repeated later, the more there were')
  t.same(two.node.slots(), slots, 'its events are delivered by the other node')
  t.ok(changes.length > 0)
  t.ok(two.node.leads())
  await t.rejects(one.commit([entry('3')]), { name: 'StorageFault', code: 'taken' })
  await waitUntil('it is told', () => losses.length > 0)
  t.match(losses[0], /node one was silent, and two has adopted it at 20/)
  t.same(await ownersOf(two), ['1 two 0'])
})

t.test('a node that comes back has its slots again, and what was not moved yet', { skip }, async (t) => {
  const url = await temporaryPostgres(t)
  const first = await openTestPostgres(t, url, { node: 'one', holder: 'machine' })
  const two = await openTestPostgres(t, url, { node: 'two' })
  const slots = first.node.ownSlots
  await first.close()
  const run = await openConsole(t, url)
  await run(`update fence set beat = now() - interval '31 seconds' where node = 'one'`)
  await waitUntil('its slots have changed', () => two.node.slots().length === 3)
  const again = await openTestPostgres(t, url, { node: 'one', holder: 'machine' })
  t.same(again.node.ownSlots, slots)
  await waitUntil('its slots have changed', () => two.node.slots().length === 2)
  await again.commit([entry('1')])
  t.same(await ownersOf(two), ['1 one 1'])
  t.equal((await nodeOf(two, 'one'))?.adopted_by, null)
})

t.test('what a dead adopter had adopted goes to the next node', { skip }, async (t) => {
  const url = await temporaryPostgres(t)
  const one = await openTestPostgres(t, url, { node: 'one' })
  await one.commit([entry('1')])
  await one.close()
  const two = await openTestPostgres(t, url, { node: 'two' })
  const run = await openConsole(t, url)
  await run(`update fence set beat = now() - interval '31 seconds' where node = 'one'`)
  await waitUntil('its slots have changed', () => two.node.slots().length === 3)
  const three = await openTestPostgres(t, url, { node: 'three' })
  await two.close()
  await run(`update fence set beat = now() - interval '31 seconds' where node = 'two'`)
  await waitUntil('its slots have changed', () => three.node.slots().length === 4)
  await waitUntil('the entry has moved', async () => (await ownersOf(three))[0] === '1 three 0')
})

t.test('a node that drains gives all to another while it lives', { skip }, async (t) => {
  const url = await temporaryPostgres(t)
  const one = await openTestPostgres(t, url, { node: 'one' })
  const two = await openTestPostgres(t, url, { node: 'two' })
  await one.commit([entry('1')])
  const run = await openConsole(t, url)
  await run(`update nodes set state = 'draining' where name = 'one'`)
  await waitUntil('it drains', () => one.node.state() === 'draining')
  t.notOk(one.node.leads(), 'it does nothing for all any more')
  t.same(await ownersOf(two), ['1 one 1'], 'an attempt may still be under way')
  await one.node.noteDrained()
  await waitUntil('the entry has moved', async () => (await ownersOf(two))[0] === '1 two 0')
  await waitUntil('it leads', () => two.node.leads())
  await one.commit([entry('2')])
  await waitUntil('the entry has moved', async () => (await ownersOf(two))[1] === '2 two 0')
})

t.test('rows of commands are taken by the node that leads', { skip }, async (t) => {
  const url = await temporaryPostgres(t)
  const one = await openTestPostgres(t, url, { node: 'one' })
  await openTestPostgres(t, url, { node: 'two' })
  const run = await openConsole(t, url)
  await run(entry('1').sql.replace('$1', `'1'`))
  await waitUntil('the entry has moved', async () => (await ownersOf(one))[0] === '1 one 0')
})

t.test(
  'a change is known to have been seen when each other node that lives has put it in force',
  { skip },
  async (t) => {
    const url = await temporaryPostgres(t)
    const one = await openTestPostgres(t, url, { node: 'one' })
    t.ok(await waitForNodes(one), 'alone there is nobody to wait for')
    const two = await openTestPostgres(t, url, { node: 'two' })
    const log = { error: () => t.fail('it could be read') }
    const seen: string[] = []
    const follower = new ChangeFollower({
      ...{ database: two, log },
      putInForce: async (changed) => void seen.push(...changed),
    })
    two.node.onChange(() => undefined)
    two.onForeignCommit(() => follower.follow())
    await waitUntil('it lives', () => one.node.countLiving() === 2)
    await one.commit([countChange('due_mail')])
    t.ok(await waitForNodes(one))
    t.ok(seen.includes('due_mail'))
    seen.splice(0)
    await two.commit([countChange('due_mail')])
    t.ok(await waitForNodes(one))
    t.notOk(seen.includes('due_mail'), 'its own acts are no news')
    await follower.stop()
    t.notOk(await waitForNodes(one), 'a node that lives and does not answer is waited for in vain')
  },
)

t.test('a node is adopted when the adopter has watched its silence itself, as after an outage', { skip }, async (t) => {
  const url = await temporaryPostgres(t)
  const one = await openTestPostgres(t, url, { node: 'one' })
  const two = await openTestPostgres(t, url, { node: 'two', watchTime: 60_000 })
  const run = await openConsole(t, url)
  await one.close()
  await run(`update fence set beat = now() - interval '10 minutes' where node = 'one'`)
  await waitUntil('it leads', () => two.node.leads())
  const commits = two.countCommits()
  // It beats and looks meanwhile.
  await waitUntil('it has looked several times', () => two.countCommits() > commits + 1)
  t.equal((await nodeOf(two, 'one'))?.adopted_by, null)
})

t.test('a node that was removed while it was cut off joins anew', { skip }, async (t) => {
  const url = await temporaryPostgres(t)
  const losses: string[] = []
  const one = await openTestPostgres(t, url, { node: 'one', onTaken: (error) => losses.push(error.message) })
  const two = await openTestPostgres(t, url, { node: 'two' })
  const run = await openConsole(t, url)
  await run(`update fence set beat = now() - interval '31 seconds' where node = 'one'`)
  await waitUntil('it is adopted', async () => (await nodeOf(two, 'one'))?.adopted_by === 'two')
  await two.commit(forgetNode('one'))
  await t.rejects(one.commit([entry('1')]), { code: 'taken' })
  await waitUntil('it is told', () => losses.length > 0)
  t.equal(await nodeOf(two, 'one'), undefined)
  const given = two.node.slots()
  const again = await openTestPostgres(t, url, { node: 'one' })
  t.notOk(given.includes(again.node.ownSlots[0] ?? 0), 'its slots of before stay with the other node')
})

t.test(
  'while the server cuts a batch off, its node is not adopted, and others are not held up',
  { skip },
  async (t) => {
    const url = await temporaryPostgres(t)
    const one = await openTestPostgres(t, url, { node: 'one' })
    await one.close()
    const two = await openTestPostgres(t, url, { node: 'two' })
    const lock = new pg.Client({ connectionString: url })
    await lock.connect()
    t.teardown(() => lock.end())
    const run = await openConsole(t, url)
    await run(`update fence set beat = now() - interval '31 seconds' where node = 'one'`)
    await lock.query(`begin; select 1 from posthorn.fence where node = 'one' for update`)
    await waitUntil('it leads', () => two.node.leads())
    await two.commit([entry('1')])
    t.equal((await nodeOf(two, 'one'))?.adopted_by, null)
    await lock.query('rollback')
    await waitUntil('it is adopted', async () => (await nodeOf(two, 'one'))?.adopted_by === 'two')
  },
)

t.test('two nodes that find a silent one adopt it once', { skip }, async (t) => {
  const url = await temporaryPostgres(t)
  const gone = await openTestPostgres(t, url, { node: 'gone' })
  await gone.commit([entry('1')])
  await gone.close()
  const one = await openTestPostgres(t, url, { node: 'one' })
  const two = await openTestPostgres(t, url, { node: 'two' })
  const run = await openConsole(t, url)
  await run(`update fence set beat = now() - interval '31 seconds' where node = 'gone'`)
  await waitUntil('its slots have changed', () => one.node.slots().length + two.node.slots().length === 4)
  await waitUntil('the entry has moved', async () => /^1 (one|two) 0$/.test((await ownersOf(one))[0] ?? ''))
  const [fence] = await one.read<{ epoch: number }>(`select epoch from fence where node = 'gone'`, [])
  t.equal(fence?.epoch, 2)
})

/** Two nodes that work, and one that has ended. Gives the messages of those that begin anew. */
async function openBesideEnded(t: Test) {
  const url = await temporaryPostgres(t)
  const lost: string[] = []
  const open = (node: string) =>
    openTestPostgres(t, url, { node, onTaken: ({ message }) => lost.push(`${node}: ${message}`) })
  const gone = await open('gone')
  await gone.commit([entry('1')])
  await gone.commit([countChange('commands')])
  await gone.close()
  const [one, two] = [await open('one'), await open('two')]
  return { url, one, two, lost, run: await openConsole(t, url) }
}

const begunAnew = (node: string) => `${node}: the server has lost commits, so everything is read again`

t.test('a node that finds commits of another one lost begins anew, and tells all', { skip }, async (t) => {
  const { url, one, lost, run } = await openBesideEnded(t)
  await run(`update fence set batch = batch - 1 where node = 'gone'`)
  await waitUntil('both are told', () => lost.length === 2)
  t.same(lost.toSorted(), [begunAnew('one'), begunAnew('two')])
  await t.rejects(one.commit([entry('2')]), { code: 'taken' }, 'nothing is written that rests on what is gone')
  await one.close()
  const again = await openTestPostgres(t, url, { node: 'one' })
  await again.commit([entry('2')])
  await again.node.readOtherSlots()
})

t.test('a node whose own commits are lost tells the others', { skip }, async (t) => {
  const { lost, run } = await openBesideEnded(t)
  await run(`update fence set losses = losses + 1 where node = 'gone'`)
  await waitUntil('both are told', () => lost.length === 2)
  t.same(lost.toSorted(), [begunAnew('one'), begunAnew('two')])
})

t.test('commits of commands that are lost are found too', { skip }, async (t) => {
  const { url, lost, run } = await openBesideEnded(t)
  const store = await openTestStore(t, url)
  await store.commit([])
  const looks = async (): Promise<number> => Number((await store.read<{ batch: number }>(batches, []))[0]?.batch)
  const batches = `select min(batch) as batch from fence where holder <> ''`
  const before = await looks()
  // Each node beats every two seconds, and looks more often.
  await waitUntil('both have looked', async () => (await looks()) > before)
  t.same(lost, [])
  await run(`update changes set number = number - 1 where table_name = 'commands' and slot = 0`)
  await waitUntil('both are told', () => lost.length === 2)
})
