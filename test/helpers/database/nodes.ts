/** Several nodes that write to one database of PostgreSQL. */
import pg from 'pg'
import type { Test } from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import { waitUntil } from '../wait-until.js'
import { openTestPostgres, openTestStore, temporaryPostgres } from './postgres-database.js'

const NAMES = ['one', 'two', 'three'] as const

export class Nodes {
  private next = 0

  private constructor(
    readonly all: readonly Database[],
    private readonly store: Pick<Database, 'read'>,
    private readonly url: string,
  ) {}

  static async open(t: Test): Promise<Nodes> {
    const url = await temporaryPostgres(t)
    const all: Database[] = []
    for (const node of NAMES) all.push(await openTestPostgres(t, url, { node }))
    return new Nodes(all, await openTestStore(t, url), url)
  }

  get read(): Database['read'] {
    return this.store.read
  }

  /** Commits by one node after the other. */
  readonly commit: Database['commit'] = (writes) => this.take().commit(writes)

  /** The first node, whose commits the nodes make by turns. */
  get asOne(): Database {
    const [first] = this.all
    if (first === undefined) throw new Error('no node is open')
    return { ...first, commit: this.commit }
  }

  take(): Database {
    const node = this.all[this.next++ % this.all.length]
    if (node === undefined) throw new Error('no node is open')
    return node
  }

  /** A connection of no node. */
  async connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.url, options: '-c search_path=posthorn' })
    await client.connect()
    return client
  }

  /** The server knows all numbers of a session when it has ended. */
  async countDeadlocks(): Promise<number | undefined> {
    await Promise.all(this.all.map((node) => node.close()))
    const sessions = `select count(*) as count from pg_stat_activity where datname = current_database()
      and query like '%fence%' and pid <> pg_backend_pid()`
    await waitUntil('the writers have ended', async () => {
      const [row] = await this.read<{ count: number }>(sessions, [])
      return row?.count === 0
    })
    const sql = 'select deadlocks as count from pg_stat_database where datname = current_database()'
    return (await this.read<{ count: number }>(sql, []))[0]?.count
  }
}
