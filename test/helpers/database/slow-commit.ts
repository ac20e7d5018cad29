/** Commits of PostgreSQL that stay under way until the test lets them end: they wait for a row that another session holds. */
import { Client } from 'pg'
import type { Test } from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import type { Write } from '../../../src/base/storage/db/write.js'
import { waitUntil } from '../wait-until.js'

const KEY = 'held_by_test'

interface SlowCommits {
  /** Resolves when all of the writes are made and not yet visible. The commit that it gives back ends after `release`. */
  readonly begin: (
    database: Pick<Database, 'read' | 'commit'>,
    writes: readonly Write[],
  ) => Promise<{ readonly commit: Promise<void> }>
  readonly release: () => Promise<void>
}

/** `url` is the address of the database. */
export async function holdCommits(t: Pick<Test, 'teardown'>, url: string): Promise<SlowCommits> {
  const client = new Client({ connectionString: url, options: '-c search_path=posthorn' })
  await client.connect()
  t.teardown(() => client.end())
  await client.query(`insert into service_state (key, value) values ('${KEY}', 'held') on conflict do nothing`)
  await client.query('begin')
  await client.query(`select value from service_state where key = '${KEY}' for update`)
  const wait: Write = { sql: `update service_state set value = 'passed' where key = '${KEY}'`, parameters: [] }
  const isWaiting = async ({ read }: Pick<Database, 'read'>): Promise<boolean> => {
    const sql = `select pid from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like 'update service_state%'`
    return (await read(sql, [])).length > 0
  }
  return {
    begin: async (database, writes) => {
      const commit = database.commit([...writes, wait])
      await waitUntil('the commit waits', () => isWaiting(database))
      return { commit }
    },
    release: async () => {
      await client.query('commit')
    },
  }
}
