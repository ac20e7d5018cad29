/** The schema in PostgreSQL: tables are those of SQLite, and the same writes give the same totals and follow-up changes. */
// Of SQLite alone: both engines are opened here.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import SQLite from 'better-sqlite3'
import fc from 'fast-check'
import t from 'tap'
import { useEngine } from '../../../../src/base/storage/db/engine.js'
import { migrations } from '../../../../src/base/storage/db/migrations.js'
import type { Read } from '../../../../src/base/storage/db/prepared.js'
import { schema } from '../../../../src/base/storage/schema/schema.js'
import { arbitraryHistory } from '../../../helpers/database/arbitrary-history.js'
import { arbitraryWrites, runWrites } from '../../../helpers/database/arbitrary-writes.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { History } from '../../../helpers/database/email-history.js'
import { PostgresSchema, type Row } from '../../../helpers/database/postgres-schema.js'
import { replayRowLog, startRowLog } from '../../../helpers/database/row-log.js'
import { columnsOf, rowOf, tablesOf } from '../../../helpers/database/rows.js'
import { skipWithout } from '../../../helpers/programs/skip-without.js'

useEngine('sqlite')

const types: Readonly<Record<string, string>> = { INTEGER: 'bigint', TEXT: 'text', BLOB: 'bytea' }

const makeSqlite = (): SQLite.Database => {
  const db = new SQLite(':memory:')
  for (const statement of schema) db.exec(statement)
  return db
}
const readerOf =
  (db: SQLite.Database): Read =>
  async (sql, parameters) =>
    db.prepare(sql).all(...parameters) as never

const textOf = (rows: readonly Row[]): readonly string[] => rows.map((row) => JSON.stringify(row)).toSorted()

/** Rows of a table in both engines, with the columns of SQLite's. */
async function compare(read: Read, postgres: PostgresSchema, table: string, condition = 'true'): Promise<void> {
  const columns = (await columnsOf(read, table)).map(({ name }) => name).join(', ')
  const query = `select ${columns} from ${table} where ${condition}`
  assert.deepEqual(textOf(await postgres.run(query)), textOf(await read(query, [])), table)
}

t.test('in PostgreSQL', { skip: skipWithout('pg_ctlcluster') }, async (t) => {
  const postgres = await PostgresSchema.start(t)

  t.test('every table and column of SQLite exists, with its type', async (t) => {
    await postgres.empty()
    const read = readerOf(makeSqlite())
    const tables = (await tablesOf(read)).filter((table) => table !== 'spool_holes')
    t.ok(tables.length > 75, `${tables.length} tables`)
    const found = await postgres.run(
      `select c.table_name || '.' || c.column_name as column, data_type, is_nullable, collation_name
        from information_schema.columns as c where table_schema = 'mail'`,
    )
    const byName = new Map(found.map(({ column, ...rest }) => [column, rest]))
    for (const table of tables) {
      for (const { name, type, notnull, pk } of await columnsOf(read, table)) {
        t.same(
          byName.get(`${table}.${name}`),
          {
            data_type: types[type],
            is_nullable: notnull === 1 || pk > 0 ? 'NO' : 'YES',
            collation_name: type === 'TEXT' ? 'C' : null,
          },
          `${table}.${name}`,
        )
      }
    }
  })

  t.test('it says which migrations it has', async (t) => {
    await postgres.empty()
    const rows = await postgres.run('select name, timestamp from kysely_migration')
    t.same(
      rows.map(({ name }) => name),
      Object.keys(migrations),
    )
    t.ok(Math.abs(Date.parse(String(rows[0]?.['timestamp'])) - Date.now()) < 60_000)
    t.same(await postgres.run('select id, is_locked from kysely_migration_lock'), [
      { id: 'migration_lock', is_locked: 0 },
    ])
  })

  t.test('roll-ups of emails are those of SQLite after any history', async (t) => {
    await fc.assert(
      fc.asyncProperty(arbitraryHistory, fc.integer({ min: 1, max: 9 }), async (steps, size) => {
        const { database, file } = await temporaryDatabase(t)
        await postgres.empty()
        await startRowLog(file, database.read)
        await new History(database).run(steps)
        await replayRowLog(database.read, postgres, size)
        // What was counted in the same statement, and taken back, has left no row here.
        const kept = `workspace_id <> '${steps.some(({ kind }) => kind === 'erase') ? 'ws_1' : ''}'`
        await compare(database.read, postgres, 'email_counts', `${kept} and (count <> 0 or listed <> 0)`)
        for (const table of ['email_metrics', 'link_metrics', 'broadcast_counts']) {
          await compare(database.read, postgres, table, kept)
        }
        await database.close()
      }),
      { numRuns: 4, endOnFailure: true },
    )
  })

  t.test('totals of other tables are those of SQLite after any writes', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryWrites, async (steps) => {
        const db = makeSqlite()
        const read = readerOf(db)
        await postgres.empty()
        await runWrites(steps, read, async (sql, parameters) => {
          db.prepare(sql).run(...parameters)
          await postgres.run(sql, parameters)
        })
        await compare(read, postgres, 'contact_counts', 'count <> 0 or subscribed <> 0')
        const totals = [
          'inbound_totals',
          'greylist_totals',
          'bayes_counts',
          'cached_file_totals',
          'changes',
          'zone_serial',
        ]
        const reports = ['domain_reports', 'domain_report_rows']
        const ofUsers = ['invitations', 'sessions', 'password_links', 'recovery_codes', 'known_browsers']
        const ofBroadcasts = ['broadcast_counts', 'broadcast_messages']
        for (const table of [...totals, ...reports, ...ofUsers, ...ofBroadcasts]) await compare(read, postgres, table)
        db.close()
      }),
      { numRuns: 8, endOnFailure: true },
    )
  })

  t.test('a serial number of the zone is the time in seconds, or one more than the last', async (t) => {
    await postgres.empty()
    const raise = async (from: number): Promise<number> => {
      await postgres.run('update zone_serial set serial = ?', [from])
      await postgres.run(`update dkim_keys set selector = 'other'`)
      const [row] = await postgres.run('select serial from zone_serial')
      return Number(row?.['serial'])
    }
    await postgres.run(
      `insert into dkim_keys (id, workspace_id, domain, selector, private_key, public_record, signing, created_at)
        values ('k', 'w', 'a.test', 's', '', '', 1, 0)`,
    )
    t.ok(Math.abs((await raise(0)) - Date.now() / 1000) < 60)
    t.equal(await raise(4_000_000_000), 4_000_000_001)
  })

  t.test('URLs of 8,000 characters are stored, and those of up to 2,000 bytes are counted', async (t) => {
    await postgres.empty()
    const [long, short] = [4_000, 990].map((bytes) => `https://a.test/${randomBytes(bytes).toString('hex')}`)
    const row = rowOf(readerOf(makeSqlite()))
    const toClick = (url: string | undefined) => {
      const data = { broadcast_id: 'b', url, machine: false, clicked_at: '2026-10-24T20:50:00.123Z' }
      return { workspace_id: 'w', type: 'email.clicked', email_id: 'bc-1', data: JSON.stringify(data) }
    }
    const toLink = (url: string | undefined) => ({ workspace_id: 'w', email_id: 'e', clicks: 0, url })
    const writes = [
      await row('emails', { id: 'e', workspace_id: 'w', from_domain: 'a.test', created_at: 5 }),
      await row('emails', { id: 'bc-1', workspace_id: 'w', from_domain: 'a.test', broadcast_id: 'b', created_at: 5 }),
      await row('links', { id: 'long', ...toLink(long) }),
      await row('links', { id: 'short', ...toLink(short) }),
      await row('hits', { id: 'of long', created_at: 5, ...toClick(long) }),
      await row('hits', { id: 'of short', created_at: 5, ...toClick(short) }),
    ]
    for (const { sql, parameters } of writes) await postgres.run(sql, parameters)
    await postgres.run('update links set clicks = 2, first_clicked_at = 7, last_clicked_at = 9')
    t.same(await postgres.run('select domain, url, clicks, unique_clicks, first_clicked_at from link_metrics'), [
      { domain: '', url: short, clicks: 3, unique_clicks: 2, first_clicked_at: 7 },
      { domain: 'a.test', url: short, clicks: 3, unique_clicks: 2, first_clicked_at: 7 },
    ])
  })

  t.test('statements that change totals of the same workspaces at once never wait in a circle', async (t) => {
    await postgres.empty()
    const write = async (direction: 'asc' | 'desc'): Promise<void> => {
      const client = await postgres.connect()
      const first = direction === 'asc' ? 0 : 1_000
      for (let round = 0; round < 20; round += 1) {
        await client.query(`insert into bayes_tokens (workspace_id, token, spam, ham, since, last_learned)
          select 'ws_' || n % 20, n + ${first}, 0, 0, 0, 0 from generate_series(1, 200) as n order by n % 20 ${direction}`)
        await client.query(`delete from bayes_tokens where token between ${first + 1} and ${first + 200}`)
      }
      await client.end()
    }
    await Promise.all([write('asc'), write('desc')])
    t.same(await postgres.run('select distinct tokens from bayes_counts'), [{ tokens: 0 }])
  })

  t.test('every trigger has run in these tests', async (t) => {
    const calls = [...(await postgres.callsOfFunctions())]
    t.ok(calls.length > 50, `${calls.length} functions`)
    t.same(
      calls.filter(([, number]) => number === 0),
      [],
    )
  })
})
