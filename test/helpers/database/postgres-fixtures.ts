/** Databases of PostgreSQL as earlier releases made them, and what is in their catalog. */
import { join } from 'node:path'
import { Client } from 'pg'
import type { Test } from 'tap'
import { temporaryFolder } from './database.js'
import { readFile, unpackFixture } from './schema-fixtures.js'

const SCHEMA = 'posthorn'

/** Runs all statements in one transaction, with the schema in the path of the session. */
export async function runSql(url: string, statements: readonly string[]): Promise<void> {
  await withClient(url, (client) => client.query(['begin', ...statements, 'commit'].join(';\n')))
}

/** Copies the rows of a fixture for SQLite of the same schema. Triggers do not run: their totals are rows too. */
export async function copyFixture(t: Pick<Test, 'teardown'>, number: string, url: string): Promise<void> {
  const file = join(temporaryFolder(t), 'posthorn.db')
  unpackFixture(number, file)
  await withClient(url, async (client) => {
    await client.query(`set session_replication_role = replica`)
    for (const table of await listTables(client)) {
      const isThere =
        readFile(file, `select 1 from sqlite_schema where type = 'table' and name = '${table}'`).length > 0
      const rows = isThere ? readFile<Record<string, unknown>>(file, `select * from "${table}"`) : []
      for (const row of rows) await insert(client, table, row)
    }
  })
}

async function insert(client: Client, table: string, row: Readonly<Record<string, unknown>>): Promise<void> {
  const columns = Object.keys(row)
  const places = columns.map((_, at) => `$${at + 1}`)
  await client.query(
    `insert into "${table}" (${columns.join(', ')}) overriding system value values (${places.join(', ')}) on conflict do nothing`,
    Object.values(row),
  )
}

async function listTables(client: Client): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = '${SCHEMA}' and tablename not like 'kysely%' order by 1`,
  )
  return rows.map(({ name }) => name)
}

/** Columns, constraints, indexes, triggers and functions of the schema, in the words of the server. */
export async function readCatalog(url: string): Promise<readonly string[]> {
  const { rows } = await withClient(url, (client) => client.query<{ line: string }>(catalog))
  return rows.map(({ line }) => line)
}

const catalog = `
  select concat_ws(' ', 'column', table_name, column_name, data_type, is_nullable, collation_name, column_default,
      is_identity, identity_generation) as line
    from information_schema.columns where table_schema = '${SCHEMA}'
  union all select concat_ws(' ', 'constraint', conrelid::regclass, conname, pg_get_constraintdef(oid))
    from pg_constraint where connamespace = '${SCHEMA}'::regnamespace
  union all select 'index ' || indexdef from pg_indexes where schemaname = '${SCHEMA}'
  union all select 'trigger ' || pg_get_triggerdef(g.oid) from pg_trigger as g join pg_class as c on c.oid = g.tgrelid
    where c.relnamespace = '${SCHEMA}'::regnamespace and not g.tgisinternal
  union all select 'function ' || pg_get_functiondef(oid) from pg_proc where pronamespace = '${SCHEMA}'::regnamespace
  order by 1`

async function withClient<Result>(url: string, use: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`set search_path = ${SCHEMA}`)
    return await use(client)
  } finally {
    await client.end()
  }
}
