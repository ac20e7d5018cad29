/**
 * Databases of PostgreSQL for tests, each made from a template that has the schema.
 *
 * `POSTHORN_TEST_POSTGRES` is the address of a server that the tests of several files share, which `scripts/test` starts.
 * Without it the first database of a process starts one, which `stopServer` ends.
 */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import type { Test } from 'tap'
import { systemClock } from '../../../src/base/platform/clock.js'
import type { Database, OpenStore } from '../../../src/base/storage/db/database.js'
import { readConnectionSettings } from '../../../src/base/storage/postgres/connection-settings.js'
import { openPostgres, openPostgresStore } from '../../../src/base/storage/postgres/open-postgres.js'
import { timeInLogFunction } from '../../../src/base/storage/postgres/time-in-log.js'
import { PostgresServer } from '../programs/postgres.js'
import { toWordsOfEngine } from './test-engine.js'

/** The database from which those of tests are made. */
export const TEMPLATE = 'posthorn_template'
/** As storage.schema has it where nothing is set. */
const SCHEMA = 'posthorn'

let started: Promise<PostgresServer> | null = null
let isShared = true
let made = 0

/** The address of a database on the server of this process. */
async function addressOf(database: string): Promise<string> {
  const shared = process.env['POSTHORN_TEST_POSTGRES']
  if (shared !== undefined && isShared) return shared + database
  started ??= startServer()
  return (await started).urlOf(database)
}

async function startServer(): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-postgres-'))
  const server = await PostgresServer.start({ folder, isDurable: !isShared })
  await makeTemplate(server.urlOf('postgres'), server.urlOf(TEMPLATE))
  return server
}

/** Ends the server that was started by this process, if one was. Another file in this process may start one again. */
export async function stopServer(): Promise<void> {
  const server = await started
  started = null
  await server?.stop('immediate')
  if (server !== null && server !== undefined) rmSync(server.folder, { recursive: true, force: true })
}

/** Gives this process a server of its own, which does not lose what it has committed. */
export function useOwnServer(): void {
  isShared = false
}

/** Ends the server of this process as a crash would. `start` starts it again. */
export async function crashServer(): Promise<{ readonly start: () => Promise<void> }> {
  const server = await started
  if (server === null) throw new Error('no server was started by this process')
  await server.stop('immediate')
  return { start: () => server.restart() }
}

/** Makes the server of this process silent. `thaw` lets it go on. */
export async function freezeServer(): Promise<{ readonly thaw: () => void }> {
  const server = await started
  if (server === null) throw new Error('no server was started by this process')
  server.freeze()
  return server
}

/** `admin` is the address of a database in which others may be made. */
export async function makeTemplate(admin: string, template: string): Promise<void> {
  await runAsAdmin(admin, `create database ${TEMPLATE}`)
  const store = await openPostgresStore({ settings: settingsOf(template), connections: 1 })
  await store.close()
  await runAsAdmin(template, timesOfTests)
}

/** Tests have clocks of their own, with which that of the server must not interfere. */
const timesOfTests = `create or replace function ${SCHEMA}.time_in_log(at bigint) returns bigint language sql volatile as $$
  select coalesce((select greatest(created_at, at) from ${SCHEMA}.events
    where seq = (select max(seq) from ${SCHEMA}.events) and created_at <= at + 86400000), at) $$`

/** From now on the clock of the server counts for events, as it does outside of tests. */
export async function useClockOfServer(url: string): Promise<void> {
  await runAsAdmin(url, `set search_path = ${SCHEMA}; ${timeInLogFunction}`)
}

export function settingsOf(url: string) {
  return readConnectionSettings({ url, passwordFile: '', caFile: '', schema: SCHEMA }, {})
}

/** The address of a new database, which is removed when the test ends. */
export async function temporaryPostgres(t: Pick<Test, 'teardown'>): Promise<string> {
  made += 1
  const name = `posthorn_${process.pid}_${made}`
  const admin = await addressOf('postgres')
  await runAsAdmin(admin, `create database ${name} template ${TEMPLATE} strategy file_copy`)
  t.teardown(() => runAsAdmin(admin, `drop database if exists ${name} with (force)`))
  return addressOf(name)
}

interface TestNode {
  /** Another node may adopt it. */
  readonly mayBeTaken?: boolean
  readonly node?: string
  /** The same daemon again, if it has ended. */
  readonly holder?: string
  /** Milliseconds for which it watches a silent node before it adopts it. */
  readonly watchTime?: number
  readonly onTaken?: (error: Error) => void
}

/** A database as the daemon opens it. It is closed when the test ends. */
export async function openTestPostgres(
  t: Pick<Test, 'teardown' | 'fail'>,
  url: string,
  { mayBeTaken = false, node = 'one', holder = randomUUID(), watchTime = 0, onTaken }: TestNode = {},
): Promise<Database> {
  const database = await openPostgres({
    ...{ settings: settingsOf(url), connections: 2 },
    ...{ holder, node, watchTime, clock: systemClock },
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    onTaken: (error) => {
      if (onTaken !== undefined) onTaken(error)
      else if (!mayBeTaken) t.fail(error.message)
    },
  })
  t.teardown(() => database.close())
  return { ...database, ...withPlainParameters(database) }
}

/** The same as a command opens it, beside a daemon. */
export async function openTestStore(
  t: Pick<Test, 'teardown'>,
  url: string,
): Promise<Pick<Database, 'read' | 'commit'>> {
  const store = await openPostgresStore({ settings: settingsOf(url), connections: 2 })
  t.teardown(() => store.close())
  return withPlainParameters(store)
}

/** The same until the caller closes it, with the sizes that it measures. */
export async function openPlainStore(url: string): Promise<OpenStore> {
  const store = await openPostgresStore({ settings: settingsOf(url), connections: 1 })
  return { ...store, ...withPlainParameters(store) }
}

/** Statements that tests write out name their parameters as SQLite does. */
export function withPlainParameters(database: Pick<Database, 'read' | 'commit'>): Pick<Database, 'read' | 'commit'> {
  const { elsewhere, together } = database.read
  const read: Database['read'] = Object.assign(
    <Row>(sql: string, parameters: readonly unknown[]) => database.read<Row>(toWordsOfEngine(sql), parameters),
    elsewhere === undefined ? {} : { elsewhere },
    together === undefined ? {} : { together },
  )
  const commit: Database['commit'] = (writes, options) =>
    database.commit(
      writes.map((write) => ({ ...write, sql: toWordsOfEngine(write.sql) })),
      options,
    )
  return { read, commit }
}

async function runAsAdmin(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
