/** The order of a batch: locks, new rows of all requests by kinds, and everything else as the requests have it. */
import t from 'tap'
import { planBatch, type RequestStatement } from '../../../../src/base/storage/postgres/batch-plan.js'
import { ManyRows } from '../../../../src/base/storage/postgres/many-rows.js'

const types = new Map(['mails.id', 'copies.id', 'logs.id'].map((column) => [column, 'bigint']))
const many = new ManyRows(types)

const row = (table: string, id: number, order = 0): RequestStatement => ({
  sql: `insert into "${table}" ("id") values ($1)`,
  parameters: [id],
  isNewRow: true,
  order,
  turn: null,
})
const change = (id: number): RequestStatement => ({
  ...{ sql: 'update x', parameters: [id], isNewRow: false },
  ...{ order: 0, turn: null },
})

/** The table or the statement, with its parameter and its owner. */
const describe = (requests: readonly (readonly RequestStatement[])[], by: ManyRows | null = many): readonly string[] =>
  planBatch(
    requests.map((statements) => ({ statements })),
    by,
  ).map(({ statement: { sql, parameters }, owner }) => {
    const table = /into "(\w+)"/.exec(sql)?.[1] ?? sql
    return `${table} ${parameters.join()} of ${owner ?? 'all'}`
  })

t.test('rows of one kind are one statement, before everything else', async (t) => {
  const requests = [1, 2, 3, 4, 5].map((id) => [change(id), row('mails', id), row('logs', id)])
  t.same(describe(requests), [
    ...['mails {1,2,3,4,5} of all', 'logs {1,2,3,4,5} of all'],
    ...['update x 1 of 0', 'update x 2 of 1', 'update x 3 of 2', 'update x 4 of 3', 'update x 5 of 4'],
  ])
  t.same(describe(requests, null).slice(0, 4), [
    ...['update x 1 of 0', 'mails 1 of 0', 'logs 1 of 0', 'update x 2 of 1'],
  ])
})

t.test('few rows stay with their requests', async (t) => {
  const requests = [1, 2, 3, 4, 5].map((id) => (id === 1 ? [row('mails', id)] : [row('logs', id), row('logs', -id)]))
  t.same(describe(requests), ['logs {2,-2,3,-3,4,-4,5,-5} of all', 'mails 1 of 0'])
  t.same(describe(requests.slice(0, 3)), [
    ...['mails 1 of 0', 'logs 2 of 1', 'logs -2 of 1', 'logs 3 of 2', 'logs -3 of 2'],
  ])
})

t.test('kinds keep the order that requests give them', async (t) => {
  const settled = [6, 7, 8, 9, 10].map((id) => [row('logs', id)])
  const accepted = [1, 2, 3, 4, 5].map((id) => [row('mails', id), row('copies', id), row('logs', id)])
  t.same(describe([...settled, ...accepted]), [
    ...['mails {1,2,3,4,5} of all', 'copies {1,2,3,4,5} of all', 'logs {6,7,8,9,10,1,2,3,4,5} of all'],
  ])
  const contrary = [...accepted, [row('logs', 11), row('mails', 12)]]
  t.same(describe(contrary), [
    ...['mails {1,2,3,4,5} of all', 'copies {1,2,3,4,5} of all', 'logs {1,2,3,4,5,11} of all', 'mails 12 of 5'],
  ])
})

t.test('new rows are inserted in the order that they name', async (t) => {
  const requests = [7, 3, 5, 3, 9].map((order, at) => [row('logs', at, order)])
  t.same(describe(requests), ['logs {1,3,2,0,4} of all'])
})

t.test('turns are taken first, then the rows that others change too are locked, each once', async (t) => {
  const touch = (table: string, id: string): RequestStatement => ({
    ...{ sql: `update "${table}" set "at" = $1 where "workspace" = $2 and "id" = $3`, parameters: [1, 'ws', id] },
    ...{ isNewRow: false, order: 0, turn: null },
  })
  const checked = { ...touch('emails', 'e3'), sql: `with changed as (${touch('emails', '').sql} returning 1) select 1` }
  const plan = planBatch(
    [
      { statements: [{ ...change(1), turn: 'b' }, touch('emails', 'e2'), touch('queue', 'q1')] },
      { statements: [touch('webhooks', 'w1'), touch('emails', 'e1'), touch('emails', 'e2')] },
      { statements: [{ ...change(2), turn: 'a' }, { ...change(3), turn: 'b' }, checked] },
    ],
    many,
  )
  const locks = plan.slice(0, 3).map(({ statement: { sql, parameters }, owner }) => {
    const table = /insert into (turns)|from "(\w+)"/.exec(sql)?.slice(1).join('')
    return [table, /order by (\S+)/.exec(sql)?.[1], parameters, owner]
  })
  t.same(locks, [
    ['turns', 'name', ['{"b","a"}'], null],
    ['emails', '"id"', ['{"e2","e1","e3"}'], null],
    ['webhooks', '"id"', ['{"w1"}'], null],
  ])
  t.equal(plan.length, 3 + 9, 'everything else follows')
})
