/**
 * A PostgreSQL server prepares and plans every statement of the program.
 *
 * Runs alone: it changes the engine of its process, and it loads every module. Statements that are built for one use run
 * on the empty database, with every combination of what they depend on.
 */
import pg from 'pg'
import t, { type Test } from 'tap'
import { useEngine } from '../../../../src/base/storage/db/engine.js'
import { migrations } from '../../../../src/base/storage/db/migrations.js'
import { preparedStatements, type Read } from '../../../../src/base/storage/db/prepared.js'
import type { Write } from '../../../../src/base/storage/db/write.js'
import { closeWorkspace, eraseWorkspace } from '../../../../src/base/storage/maintenance/erase.js'
import { createSchema } from '../../../../src/base/storage/postgres/create-schema.js'
import { ManyRows } from '../../../../src/base/storage/postgres/many-rows.js'
import { toJson } from '../../../../src/base/storage/tables/columns.js'
import { type InboundFilter, listInbound } from '../../../../src/records/messages/inbound/inbound-list.js'
import { listEntries } from '../../../../src/records/messages/queue/queue-admin.js'
import { changeAudience } from '../../../../src/workspaces/audiences/audiences.js'
import { changeContact } from '../../../../src/workspaces/audiences/contacts.js'
import { changeWebhook } from '../../../../src/workspaces/webhooks/webhook-records.js'
import { temporaryFolder } from '../../../helpers/database/database.js'
import { loadAllModules } from '../../../helpers/database/load-statements.js'
import { smallTables } from '../../../helpers/database/query-plans.js'
import { PostgresServer, withoutPostgres } from '../../../helpers/programs/postgres.js'

useEngine('postgres')

async function openClient(t: Test): Promise<pg.Client> {
  const server = await PostgresServer.start({ folder: temporaryFolder(t) })
  t.teardown(() => server.stop('immediate'))
  const client = new pg.Client(server.urlOf())
  // The server ends before the client.
  client.on('error', () => undefined)
  await client.connect()
  for (const statement of createSchema(migrations)) await client.query(statement)
  return client
}

t.test('PostgreSQL takes every statement of the program', { skip: withoutPostgres }, async (t) => {
  const client = await openClient(t)

  await t.test('prepared statements', async (t) => {
    await loadAllModules()
    const statements = preparedStatements.map((compile) => compile())
    t.ok(statements.length > 600, `${statements.length} statements`)
    t.same(await refusedOf(client, statements), [])
    t.same(await shortIntegers(client), [], 'no value is cut to 32 bits')
    t.same(await walksOf(client), [], 'an index serves each condition on a table that grows')
  })

  await t.test('inserts of many rows', async (t) => {
    const columns = await client.query<{ place: string; type: string }>(
      `select table_name || '.' || column_name as place, data_type as type from information_schema.columns
        where table_schema = current_schema()`,
    )
    const many = new ManyRows(new Map(columns.rows.map(({ place, type }) => [place, type])))
    const joined = preparedStatements.flatMap((compile) => {
      const sql = compile()
      const parameters = new Set(sql.match(/\$\d+/g))
      return many.join(sql, [[...parameters].map(() => null)])?.sql ?? []
    })
    const tables = joined.map((sql) => /"(\w+)"/.exec(sql)?.[1] ?? '')
    for (const table of ['emails', 'recipients', 'queue', 'attempts', 'events', 'unsubscribe_links'])
      t.ok(tables.includes(table), table)
    t.same(await refusedOf(client, joined, 'many'), [])
  })

  await t.test('statements that are built for one use', async (t) => {
    const read: Read = async <Row>(sql: string, parameters: readonly unknown[]) =>
      (await client.query({ text: sql, values: [...parameters] })).rows as Row[]
    const commit = async (writes: readonly Write[]): Promise<void> => {
      for (const { sql, parameters } of writes) await client.query(sql, [...parameters])
    }
    for (const filter of inboundFilters()) {
      t.same(await listInbound(read, filter, { offset: 0, limit: 10 }), [], JSON.stringify(filter))
      t.same(await listInbound(read, filter, { offset: 20_000, limit: 10 }), [])
    }
    for (const status of [undefined, 'held', 'sending', 'scheduled', 'deferred', 'queued'] as const) {
      const filter = { workspaceId: 'w', domain: 'a.test', ids: ['a', 'b'], status, after: '', limit: 10 }
      t.same(await listEntries(read, filter), [], status ?? 'any')
      t.same(await listEntries(read, { status, after: '', limit: 10 }), [], status ?? 'any')
    }
    const ref = { workspaceId: 'w', id: 'a' }
    const metadata = toJson({})
    const names = { first_name: null, last_name: 'B', audience_id: null }
    await commit([
      changeAudience(ref, { name: 'A', description: null, updated_at: 1 }),
      changeContact(ref, { ...names, email: 'a@a.test', email_key: 'a', subscribed: 0, metadata, updated_at: 1 }),
      changeWebhook(ref, { url: 'https://a.test', events: [], enabled: true, format: 'sendgrid', content: 'raw' }, 1),
      changeWebhook(ref, { enabled: false, format: 'raw', headers: {}, login: null }, 1),
      ...closeWorkspace('w', Date.now()),
    ])
    await client.query(`insert into queue select 'q', 'e', 'w', 'r', 'd', 0, 0, 1, 1, 0, 0, 0`)
    await client.query(`insert into dkim_signatures select 'e' || n, 'w', 1, '' from generate_series(1, 500) as n`)
    await eraseWorkspace({ read, commit }, 'w')
    t.same(await read('select id from queue union all select email_id from dkim_signatures', []), [])
  })
})

function inboundFilters(): readonly InboundFilter[] {
  const choices = [
    { status: 'processed' },
    { domain: 'a.test' },
    { from: 'A@a.test' },
    { spamStatus: 'spam' },
    { since: 1 },
  ] as const
  return Array.from({ length: 2 ** choices.length }, (_, set) => {
    const chosen = choices.filter((_, at) => (set & (2 ** at)) !== 0)
    return Object.assign({ workspaceId: 'w' }, ...chosen)
  })
}

/** Tells why the server refuses statements. Those of which it makes no plan, such as an unknown key of a conflict, too. */
async function refusedOf(client: pg.Client, statements: readonly string[], prefix = 's'): Promise<readonly string[]> {
  const refused: string[] = []
  // With this, a plan walks through a table only if no index serves.
  await client.query('set plan_cache_mode = force_generic_plan; set enable_seqscan = off')
  for (const [at, sql] of statements.entries()) {
    try {
      await client.query(`prepare ${prefix}${at} as ${sql}`)
      await planOf(client, `${prefix}${at}`)
    } catch (error) {
      refused.push(`${String(error)}: ${sql}`)
    }
  }
  return refused
}

interface Prepared {
  readonly name: string
  readonly statement: string
  readonly types: readonly string[]
}

async function preparedOf(client: pg.Client): Promise<readonly Prepared[]> {
  const { rows } = await client.query<Prepared>(
    'select name, statement, parameter_types::text[] as types from pg_prepared_statements',
  )
  return rows
}

/** A time in milliseconds does not fit. The start of a part of bytes does. */
async function shortIntegers(client: pg.Client): Promise<readonly string[]> {
  const prepared = await preparedOf(client)
  return prepared
    .filter(({ types, statement }) => types.includes('integer') && !/substr\(raw, \$\d\)/.test(statement))
    .map(({ statement }) => statement)
}

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly Plans?: readonly PlanNode[]
}

/** Statements that walk through a table. */
async function walksOf(client: pg.Client): Promise<readonly string[]> {
  const walks: string[] = []
  for (const { name, statement } of await preparedOf(client)) {
    const nodes = nodesOf(await planOf(client, name))
    const walked = nodes.filter((node) => node['Node Type'] === 'Seq Scan').map((node) => node['Relation Name'] ?? '')
    if (walked.some((table) => !smallTables.has(table))) walks.push(`${walked.join(', ')}: ${statement}`)
  }
  return walks
}

async function planOf(client: pg.Client, name: string): Promise<PlanNode> {
  const { rows: found } = await client.query<{ count: number }>(
    'select cardinality(parameter_types) as count from pg_prepared_statements where name = $1',
    [name],
  )
  const nulls = Array.from({ length: found[0]?.count ?? 0 }, () => 'null').join(', ')
  const { rows } = await client.query<{ 'QUERY PLAN': readonly { readonly Plan: PlanNode }[] }>(
    `explain (format json) execute ${name}${nulls === '' ? '' : `(${nulls})`}`,
  )
  const plan = rows[0]?.['QUERY PLAN'][0]?.Plan
  if (plan === undefined) throw new Error(`no plan of ${name}`)
  return plan
}

function nodesOf(node: PlanNode): readonly PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)]
}
