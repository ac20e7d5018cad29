/**
 * Totals of removed nodes become part of those of a node that works, and no sum changes by it.
 *
 * Runs alone: it sets the engine of its process.
 */
import t, { type Test } from 'tap'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { TotalsFold, totalsBySlot } from '../../../../src/base/storage/postgres/fold-totals.js'
import { forgetNode } from '../../../../src/base/storage/postgres/node-rows.js'
import { openTestPostgres, stopServer, temporaryPostgres } from '../../../helpers/database/postgres-database.js'
import { withoutPostgres } from '../../../helpers/programs/postgres.js'
import { waitUntil } from '../../../helpers/wait-until.js'

t.teardown(stopServer)

const skip = withoutPostgres
const WORKSPACES = 40

/** Has a slot in its key, and is no total. */
const notTotals = ['changes', 'webhook_cursors']

const addUsage = (workspace: number) => ({
  sql: `insert into usage (workspace_id, kind, bucket, count) values ($1, 'emails', 0, 1)
    on conflict (workspace_id, kind, bucket, slot) do update set count = usage.count + 1`,
  parameters: [`ws_${workspace % WORKSPACES}`],
})
const addClick = (at: number) => ({
  sql: `insert into link_metrics (workspace_id, domain, day, url, clicks, unique_clicks, first_clicked_at, last_clicked_at)
    values ('w', 'a.test', 0, 'u', 2, 1, $1, $1) on conflict (workspace_id, domain, day, url, slot) do update set
    clicks = link_metrics.clicks + 2, last_clicked_at = $1`,
  parameters: [at],
})
const countBroadcast = {
  sql: `insert into broadcast_counts (broadcast_id, workspace_id, recipients) values ('b', 'w', 5)`,
  parameters: [],
}

const sumUsage = async ({ read }: Database): Promise<number> =>
  (await read<{ sum: number }>('select sum(count)::bigint as sum from usage', []))[0]?.sum ?? 0

const slotsWithTotals = async ({ read }: Database): Promise<readonly number[]> => {
  const tables = Object.keys(totalsBySlot).filter((table) => table !== 'greylist_totals')
  const slots = tables.map((table) => `select slot from ${table}`).join(' union ')
  return (await read<{ slot: number }>(`select slot from (${slots}) as found order by slot`, [])).map(
    ({ slot }) => slot,
  )
}

/** Node `one` has counted, and is removed. */
async function openWithRemoved(t: Test) {
  const url = await temporaryPostgres(t)
  const one = await openTestPostgres(t, url, { node: 'one' })
  await one.commit(Array.from({ length: 3 * WORKSPACES }, (_, at) => addUsage(at)))
  await one.commit([addClick(10), addClick(30), countBroadcast])
  await one.close()
  const two = await openTestPostgres(t, url, { node: 'two' })
  const three = await openTestPostgres(t, url, { node: 'three' })
  await two.commit([
    { sql: `update fence set beat = now() - interval '31 seconds' where node = 'one'`, parameters: [] },
  ])
  await waitUntil('it is adopted', () => two.node.slots().length + three.node.slots().length > 3)
  await two.commit(forgetNode('one'))
  return { two, three }
}

t.test('every table of totals by slot is folded', { skip }, async (t) => {
  const { two } = await openWithRemoved(t)
  const keyed = await two.read<{ name: string; key: string }>(
    `select class.relname as name, string_agg(part.attname, ',' order by array_position(index.indkey::int2[], part.attnum)) as key
      from pg_index as index join pg_class as class on class.oid = index.indrelid
      join pg_attribute as part on part.attrelid = class.oid and part.attnum = any(index.indkey)
      where index.indisprimary and class.relnamespace = current_schema()::regnamespace group by class.relname`,
    [],
  )
  const bySlot = keyed.filter(({ name, key }) => key.endsWith(',slot') && !notTotals.includes(name))
  t.same(Object.fromEntries(bySlot.map(({ name, key }) => [name, key.split(',').slice(0, -1)])), totalsBySlot)
})

t.test('sums stay exact while other nodes add to the same totals', { skip }, async (t) => {
  const { two, three } = await openWithRemoved(t)
  const [slotOfTwo = 0, slotOfThree = 0] = [...two.node.ownSlots, ...three.node.ownSlots]
  await Promise.all([two.commit([addUsage(0), addClick(20)]), three.commit([addUsage(1), addClick(5)])])
  const before = await sumUsage(two)
  t.equal(before, 3 * WORKSPACES + 2)
  let isFolding = true
  let [added, wrong] = [0, 0]
  const write = async (database: Database): Promise<void> => {
    for (let at = 0; isFolding || at < 20; at++) {
      await database.commit([addUsage(at)])
      added += 1
    }
  }
  const watch = async (): Promise<void> => {
    for (let last = before; isFolding; ) {
      const sum = await sumUsage(three)
      if (sum < last) wrong += 1
      last = sum
    }
  }
  const others = [write(two), write(three), watch()]
  const fold = new TotalsFold(two, 7)
  t.ok(await fold.step(), 'there may be more')
  t.notOk(await fold.step())
  isFolding = false
  await Promise.all(others)
  t.equal(wrong, 0, 'no reader has found less than before')
  t.equal(await sumUsage(two), before + added)
  t.same(await slotsWithTotals(two), [slotOfTwo, slotOfThree])
  t.match(await two.read('select * from link_metrics where slot = $1', [slotOfTwo]), [
    { clicks: 6, unique_clicks: 2, first_clicked_at: 10, last_clicked_at: 30 },
  ])
  t.match(await two.read('select * from broadcast_counts', []), [{ workspace_id: 'w', recipients: 5, slot: slotOfTwo }])
})
