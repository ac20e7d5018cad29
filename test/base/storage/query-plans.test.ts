/**
 * How SQLite runs every statement of the program: none walks through a table that grows, and none sorts one.
 *
 * Runs alone: it catches what is compiled, so nothing may be compiled before.
 *
 * The statements are read from the program itself. Prepared ones are compiled when every module is loaded; those built
 * for one use, while a daemon answers every list with every combination of its filters and the command
 * line lists the queue; those written out in `storage/` come from what is passed to read and commit. Each is
 * explained on an empty database, as production plans it: without statistics.
 */
import SQLite from 'better-sqlite3'
import { type CompiledQuery, SqliteQueryCompiler } from 'kysely'
import t from 'tap'
import { z } from 'zod'
import { preparedStatements } from '../../../src/base/storage/db/prepared.js'
import { registerSpooledBytes, spoolFolder } from '../../../src/base/storage/db/spool-files.js'
import type { Route } from '../../../src/servers/api/http/route/route.js'
import { boundFault, recordReads } from '../../helpers/database/bounded-reads.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { loadAllModules } from '../../helpers/database/load-statements.js'
import { type AllowedPlan, allowedPlans, smallTables } from '../../helpers/database/query-plans.js'

const compiled = new Set<string>()
const used = new Set<AllowedPlan>()
const { compileQuery } = SqliteQueryCompiler.prototype
SqliteQueryCompiler.prototype.compileQuery = function (...given): CompiledQuery {
  const query = compileQuery.apply(this, given)
  compiled.add(query.sql)
  return query
}

/** A value that the filter accepts; `numbers`: those to try, the first accepted one counts. */
function valueFor(name: string, schema: z.ZodType, workspaceId: string, numbers: readonly string[]): string | null {
  const { anyOf, ...plain } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as {
    readonly enum?: readonly string[]
    readonly type?: string
    readonly anyOf?: readonly object[]
  }
  const tries = [
    ...(plain.enum ?? []),
    ...numbers,
    'a.test',
    'a@a.test',
    '2026-01-01T00:00:00Z',
    '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10',
  ]
  const cursors = ['0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10', '1'].map((place) => Buffer.from(place).toString('base64url'))
  if (name === 'workspaceId') return workspaceId
  return [...(name === 'cursor' ? cursors : tries)].find((text) => schema.safeParse(text).success) ?? null
}

function* queriesOf({ query }: Route, workspaceId: string): Generator<string> {
  const filters = query instanceof z.ZodObject ? Object.entries(query.shape as Record<string, z.ZodType>) : []
  for (let set = 0; set < 2 ** filters.length; set += 1) {
    const chosen = filters.filter((_, at) => (set & (2 ** at)) !== 0)
    // The first rows, and a cursor that is deeper than one step.
    for (const numbers of [['1'], ['10000000', '100000', '100', '1']]) {
      const pairs = chosen.map(([name, schema]): [string, string] => [
        name,
        valueFor(name, schema, workspaceId, numbers) ?? '',
      ])
      yield new URLSearchParams(pairs).toString()
    }
  }
}

t.test('no statement walks through or sorts a table that grows', async (t) => {
  const { file } = await temporaryDatabase(t)
  const ofMigrations = new Set(compiled)
  await loadAllModules()
  for (const compile of preparedStatements) compile()
  const atLoad = compiled.size
  const { testDaemon } = await import('../../helpers/daemon/test-daemon.js')
  const app = await testDaemon(t)
  const db = new SQLite(file, { readonly: true })
  t.teardown(() => db.close())
  registerSpooledBytes(db, spoolFolder(file))
  for (const route of app.daemon.routes.filter(
    ({ method, path, area }) => method === 'GET' && area !== 'link' && !path.includes(':'),
  )) {
    let answered = 0
    const unbounded = new Set<string>()
    for (const query of queriesOf(route, app.workspaceId)) {
      const reads = await recordReads(async () => {
        const { status } = await app.rest('GET', `/v1${route.path}?${query}`)
        if (status === 200) answered += 1
      })
      for (const read of reads) unbounded.add(boundFault(db, read) ?? '')
    }
    t.ok(answered > 0, `${route.path} with ${answered} combinations of its filters`)
    unbounded.delete('')
    t.same([...unbounded], [], `no read of ${route.path} looks into more than one step`)
  }
  const filters = [
    '--domain=a.test',
    '--provider=google',
    `--workspace=${app.workspaceId}`,
    '--status=queued',
    '--status=held',
  ]
  for (const filter of ['', ...filters]) {
    const { status, err } = await app.cli('queue', 'list', ...(filter === '' ? [] : [filter]))
    t.equal(status, 0, err)
  }
  const { eraseWorkspace } = await import('../../../src/base/storage/maintenance/erase.js')
  const written = new Set<string>()
  await eraseWorkspace(
    {
      read: <Row>(sql: string): Row[] => {
        const first = !written.has(sql)
        written.add(sql)
        return first ? [{ key: 'a' } as Row] : []
      },
      commit: async (writes) => {
        for (const { sql } of writes) written.add(sql)
      },
    },
    app.workspaceId,
  )
  t.ok(atLoad > 100 && compiled.size > atLoad && written.size > 50, `${atLoad}, ${compiled.size}, ${written.size}`)

  const portions = [...written].filter((sql) => /^delete from \w+ where .* in\s+\(select/s.test(sql))
  t.ok(portions.length > 20, 'an erasure removes portions')
  t.same(
    portions.filter((sql) => walksAll(db, sql)),
    [],
    'each is found by its keys, not by walking through all that is left',
  )
  const faults = [...compiled, ...written].filter((sql) => !ofMigrations.has(sql)).flatMap((sql) => faultsOf(db, sql))
  t.same(faults, [])
  t.same(
    [...compiled].filter((sql) => passesOtherTypes(db, sql)),
    [],
    'who reads events of one type passes over no others',
  )
  t.same(
    allowedPlans.filter((one) => !used.has(one)),
    [],
    'nothing is let pass that there is not',
  )
})

/** Tables of one row, or of some hundred. */
const few = /^SEARCH (?:cached_file_totals|inbound_totals|blocked_addresses|bayes_counts) /

function walksAll(db: SQLite.Database, sql: string): boolean {
  const plan = db.prepare<unknown[], { readonly detail: string }>(`explain query plan ${sql}`)
  const outer = plan.all(...Array.from({ length: parametersOf(sql) }, () => null))[0]?.detail ?? ''
  return /\(workspace_id=\?\)$/.test(outer) && !few.test(outer)
}

/** Without statistics, SQLite may prefer a range of all events of a workspace to the index by type. */
function passesOtherTypes(db: SQLite.Database, sql: string): boolean {
  if (!/ from "events"/.test(sql) || !/"type" = \?/.test(sql)) return false
  const plan = db.prepare<unknown[], { readonly detail: string }>(`explain query plan ${sql}`)
  const details = plan.all(...Array.from({ length: parametersOf(sql) }, () => null)).map(({ detail }) => detail)
  return !details.some((detail) => /INDEX events_(?:by_type|of_email|of_recipient) \(.*\btype=\?/.test(detail))
}

/** Each with the complete statement, so that it is found in the code. */
function faultsOf(db: SQLite.Database, sql: string): readonly string[] {
  if (!/^\s*(?:select|insert|update|delete|with|replace)\b/i.test(sql)) return []
  const plan = db.prepare<unknown[], { readonly detail: string }>(`explain query plan ${sql}`)
  const details = plan.all(...Array.from({ length: parametersOf(sql) }, () => null)).map(({ detail }) => detail)
  const growing = details.filter((detail) => isWalk(detail, sql) || /^USE TEMP B-TREE|AUTOMATIC/.test(detail))
  if (growing.length === 0 || tablesOf(details, sql).every((table) => smallTables.has(table))) return []
  const one = allowedPlans.find(({ statement }) => statement === sql)
  if (one !== undefined) used.add(one)
  return one === undefined ? growing.map((detail) => `${detail}: ${sql}`) : []
}

function parametersOf(sql: string): number {
  return (sql.match(/\?/g) ?? []).length
}

function isWalk(detail: string, sql: string): boolean {
  // A list that is bound as JSON is no table.
  if (!detail.startsWith('SCAN ') || detail === 'SCAN CONSTANT ROW' || /^SCAN json_each /.test(detail)) return false
  return !tablesOf([detail], sql).every((table) => smallTables.has(table))
}

/** Tables by their own names, without aliases. */
function tablesOf(details: readonly string[], sql: string): readonly string[] {
  const names = details.flatMap((detail) => /^(?:SCAN|SEARCH) (\w+)/.exec(detail)?.[1] ?? [])
  return names.map((name) => new RegExp(`"(\\w+)" as "${name}"`).exec(sql)?.[1] ?? name)
}
