/** A PostgreSQL server with the schema, and one connection to it that runs statements as SQLite has them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { Test } from 'tap'
import { migrations } from '../../../src/base/storage/db/migrations.js'
import { createSchema } from '../../../src/base/storage/postgres/create-schema.js'
import { PostgresServer } from '../programs/postgres.js'

export type Row = Readonly<Record<string, unknown>>

export class PostgresSchema {
  private readonly calls = new Map<string, number>()

  private constructor(
    private readonly server: PostgresServer,
    private readonly client: pg.Client,
  ) {}

  /** The server counts the calls of each function, for `callsOfFunctions`. */
  static async start(t: Pick<Test, 'teardown'>): Promise<PostgresSchema> {
    const folder = mkdtempSync(join(tmpdir(), 'posthorn-test-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const server = await PostgresServer.start({ folder: join(folder, 'server'), settings: ['track_functions=pl'] })
    const schema = new PostgresSchema(server, await connect(server))
    t.teardown(async () => {
      await schema.client.end()
      await server.stop()
    })
    return schema
  }

  /** Makes the schema anew, without rows. */
  async empty(): Promise<void> {
    await this.countCalls()
    const statements = ['drop schema if exists mail cascade', 'create schema mail', ...createSchema(migrations)]
    await this.client.query(statements.join(';\n'))
  }

  async run(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    let place = 0
    const text = sql.replace(/\?/g, () => {
      place += 1
      return `$${place}`
    })
    const { rows } = await this.client.query<Row>(text, [...parameters])
    return rows
  }

  /** A further connection, which the test closes. */
  connect(): Promise<pg.Client> {
    return connect(this.server)
  }

  /** How often each function of a trigger has run, in all schemas that were made so far. */
  async callsOfFunctions(): Promise<ReadonlyMap<string, number>> {
    await this.countCalls()
    return this.calls
  }

  private async countCalls(): Promise<void> {
    await this.run('select pg_stat_force_next_flush()')
    const rows = await this.run(
      `select p.proname as name, coalesce(s.calls, 0) as calls from pg_proc as p left join pg_stat_user_functions as s
        on s.funcid = p.oid where p.pronamespace = to_regnamespace('mail') and p.prorettype = 'trigger'::regtype`,
    )
    for (const { name, calls } of rows) {
      this.calls.set(String(name), (this.calls.get(String(name)) ?? 0) + Number(calls))
    }
  }
}

async function connect(server: PostgresServer): Promise<pg.Client> {
  const types = new pg.TypeOverrides()
  types.setTypeParser(pg.types.builtins.INT8, Number)
  types.setTypeParser(pg.types.builtins.NUMERIC, Number)
  const client = new pg.Client({ connectionString: server.urlOf(), types, options: '-c search_path=mail' })
  await client.connect()
  return client
}
