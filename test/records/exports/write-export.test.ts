/** The file of an export: complete whatever cuts the writing off, and the same as if nothing had. */
import { appendFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import t, { type Test } from 'tap'
import { parseDomainName } from '../../../src/base/mail/address.js'
import { unescapeFormula } from '../../../src/base/platform/csv/cells.js'
import type { Database } from '../../../src/base/storage/db/database.js'
import type { Write } from '../../../src/base/storage/db/write.js'
import { openReadConnection } from '../../../src/base/storage/read-connection.js'
import { recordEvent } from '../../../src/records/events/event-log.js'
import type { ExportJob, ExportProgress } from '../../../src/records/exports/export-protocol.js'
import { runExportThread } from '../../../src/records/exports/export-runner.js'
import { type ExportOutcome, writeExport } from '../../../src/records/exports/write-export.js'
import { bulkEmail } from '../../helpers/database/bulk.js'
import { temporaryDatabase, temporaryFolder } from '../../helpers/database/database.js'

const BEGIN = 1_000_000

interface Exporting {
  readonly database: Database
  /** An export of all in the database, and where its file is. */
  readonly job: ExportJob
  readonly text: () => string
}

async function prepare(t: Test, type: ExportJob['type'], writes: readonly Write[]): Promise<Exporting> {
  const { database, file: path } = await temporaryDatabase(t)
  await database.commit(writes)
  const file = join(temporaryFolder(t), 'export.csv')
  const range = { workspace_id: 'ws_1', type, from_at: 0, to_at: 10 ** 13, domain: null, created_at: 0 }
  const job = { ...range, cursor: null, rows: 0, bytes: 0, progress: 0, database: path, file }
  return { database, job, text: () => readFileSync(file, 'utf8') }
}

/** Runs it in this thread, which shows what it reports. */
async function write(
  { job }: Exporting,
  more: Partial<ExportJob> = {},
  report: (progress: ExportProgress) => Promise<void> = async () => undefined,
): Promise<ExportOutcome> {
  const { read, close } = openReadConnection(job.database)
  try {
    return await writeExport(read, { ...job, ...more }, report)
  } finally {
    close()
  }
}

const emails = (count: number, workspaceId = 'ws_1'): Write[] =>
  Array.from({ length: count }, (_, n) =>
    bulkEmail({ workspaceId, to: [`one${n}@b.test`, `two${n}@b.test`], at: BEGIN + Math.floor(n / 7) }),
  ).flatMap(({ writes }) => writes)

const opens = (count: number): Write[] =>
  Array.from({ length: count }, (_, n) => {
    const request = { user_agent: `=agent ${n}`, ip_address: '192.0.2.1', machine: n % 2 === 0 }
    const data = { ...request, email_id: `e${n}`, to: 'bob@b.test', opened_at: new Date(BEGIN + n).toISOString() }
    const about = { workspaceId: 'ws_1', emailId: `e${n}`, recipient: 'bob@b.test', at: BEGIN + n }
    return recordEvent({ ...about, type: 'email.opened', data })
  })

const rowsOf = (text: string): string[][] => parse(text, { record_delimiter: '\r\n' }) as string[][]

t.test('a file of many steps has every row once, in order', async (t) => {
  const exporting = await prepare(t, 'email_logs', [...emails(1_001), ...emails(5, 'ws_2')])
  const outcome = await write(exporting)
  const [names, ...rows] = rowsOf(exporting.text())
  t.same(outcome, { kind: 'completed', rows: 2_002, bytes: Buffer.byteLength(exporting.text()) })
  t.equal(
    names?.join(),
    'email_id,message_id,from,to,subject,status,created_at,sent_at,delivered_at,opened_at,clicked_at,tags',
  )
  t.equal(new Set(rows.map((row) => row[3])).size, 2_002)
  const times = rows.map((row) => row[6] ?? '')
  t.same(times, times.toSorted())
})

t.test('an empty export has the names of its columns', async (t) => {
  for (const type of ['email_logs', 'bounces', 'opens', 'suppressions'] as const) {
    const exporting = await prepare(t, type, [])
    t.match(await write(exporting), { kind: 'completed', rows: 0 })
    t.match(exporting.text(), /^[a-z_,]+\r\n$/, type)
  }
})

t.test('wherever it is cut off, it goes on after what is on disk and becomes the same file', async (t) => {
  for (const [type, writes] of [
    ['email_logs', emails(2_000)],
    ['opens', opens(2_100)],
    ['suppressions', suppressions(2_100)],
  ] as const) {
    const exporting = await prepare(t, type, writes)
    await write(exporting)
    const whole = exporting.text()
    const places = await reportedPlaces(exporting)
    t.ok(places.length > 2, `${type}: ${places.length} places`)
    for (const place of places) {
      truncateSync(exporting.job.file, place.bytes)
      appendFileSync(exporting.job.file, 'half a row that was being wri')
      t.match(await write(exporting, place), { kind: 'completed', rows: rowsOf(whole).length - 1 })
      t.equal(exporting.text(), whole)
    }
    truncateSync(exporting.job.file, 10)
    await write(exporting, places.at(-1))
    t.equal(exporting.text(), whole, 'a file that is shorter than its record is written anew')
  }
})

function suppressions(count: number): Write[] {
  const sql = `insert into suppressions (id, workspace_id, email, reason, metadata, created_at) values (?, ?, ?, ?, '{}', ?)`
  return Array.from({ length: count }, (_, n) => ({
    sql,
    parameters: [String(n).padStart(5, '0'), 'ws_1', `a${n}@${n % 2 === 0 ? 'b' : 'c'}.test`, 'manual', BEGIN + n],
  }))
}

/** What it reports if it reports after every step. */
async function reportedPlaces(exporting: Exporting): Promise<readonly ExportProgress[]> {
  const places: ExportProgress[] = []
  await write(exporting, { reportInterval: 0 }, async (progress) => void places.push(progress))
  return places
}

t.test('events of a long log, by range and by the domain of their email', async (t) => {
  const exporting = await prepare(t, 'opens', [...opens(1_200), emailFrom('e7', 'a.test'), emailFrom('e9', 'z.test')])
  await write(exporting, { from_at: BEGIN + 10, to_at: BEGIN + 1_100 })
  const rows = rowsOf(exporting.text()).slice(1)
  t.equal(rows.length, 1_090)
  t.equal(rows[0]?.join(), `e10,bob@b.test,${new Date(BEGIN + 10).toISOString()},'=agent 10,192.0.2.1,true`)
  await write(exporting, { domain: parseDomainName('a.test') })
  t.same(
    rowsOf(exporting.text()).map(([id]) => id),
    ['email_id', 'e7'],
  )
})

function emailFrom(id: string, domain: string): Write {
  const [insert] = bulkEmail({ workspaceId: 'ws_1', from: `app@${domain}`, to: 'bob@b.test', at: BEGIN }).writes
  if (insert === undefined) throw new Error('no write')
  const isId = (value: unknown): boolean => typeof value === 'string' && /^[0-9a-f]{8}-/.test(value)
  return { ...insert, parameters: insert.parameters.map((value) => (isId(value) ? id : value)) }
}

t.test('suppressions by the domain of the address and by their time', async (t) => {
  const exporting = await prepare(t, 'suppressions', suppressions(1_000))
  await write(exporting, { domain: parseDomainName('c.test'), from_at: BEGIN + 500, to_at: BEGIN + 503 })
  t.same(
    rowsOf(exporting.text()).map(([email]) => email),
    ['email', 'a501@c.test'],
  )
})

t.test('a recipient that complained is shown as complained', async (t) => {
  const { writes, id } = complainedEmail()
  const exporting = await prepare(t, 'email_logs', writes)
  await write(exporting)
  t.same(
    rowsOf(exporting.text()).map((row) => [row[0], row[3], row[5]]),
    [
      ['email_id', 'to', 'status'],
      [id, 'one@b.test', 'queued'],
      [id, 'two@b.test', 'complained'],
    ],
  )
})

function complainedEmail(): { readonly id: string; readonly writes: readonly Write[] } {
  const enqueued = bulkEmail({ workspaceId: 'ws_1', to: ['one@b.test', 'two@b.test'], at: BEGIN })
  const id = String(enqueued.writes[0]?.parameters.find((value) => /^[0-9a-f]{8}-/.test(String(value))))
  const data = { email_id: id, from: 'a@a.test', to: 'Two@b.test', subject: 's', tags: {} }
  const about = { workspaceId: 'ws_1', emailId: id, recipient: 'Two@b.test', at: BEGIN }
  const complaint = recordEvent({
    ...{ ...about, type: 'email.complained' },
    data: { ...data, feedback_type: 'abuse', complained_at: '' },
  })
  const complained = { sql: `update recipients set complained_at = 1 where address = 'two@b.test'`, parameters: [] }
  return {
    id,
    writes: [...enqueued.writes, complained, complaint],
  }
}

t.test('cells survive whatever they hold', async (t) => {
  const nasty = ['=1+1', `'`, `''=x`, 'a,"b"\r\nc', ' x ', '\t', '\uff1d1', 'é😀', '']
  const writes = nasty.map((subject, n) => {
    const [email, ...others] = bulkEmail({ workspaceId: 'ws_1', to: 'bob@b.test', at: BEGIN + n }).writes
    if (email === undefined) throw new Error('no write')
    return [{ ...email, parameters: email.parameters.map((value) => (value === 'bulk' ? subject : value)) }, ...others]
  })
  const exporting = await prepare(t, 'email_logs', writes.flat())
  await write(exporting)
  t.same(
    rowsOf(exporting.text())
      .slice(1)
      .map((row) => unescapeFormula(row[4] ?? '')),
    nasty,
  )
  t.ok(exporting.text().endsWith('\r\n'))
})

t.test('an export does not take the space that mail needs', async (t) => {
  const exporting = await prepare(t, 'opens', opens(1_200))
  const { read, close } = openReadConnection(exporting.job.database)
  t.teardown(close)
  let asked = 0
  const readSpace = async () => {
    asked += 1
    return { total: 10 ** 12, free: asked === 1 ? 10 ** 11 : 4 * 10 ** 10 }
  }
  const progress: number[] = []
  const report = async ({ rows }: ExportProgress) => void progress.push(rows)
  const outcome = await writeExport(read, { ...exporting.job, reportInterval: 0 }, report, readSpace)
  t.same(outcome, { kind: 'failed', fault: 'disk-full' })
  t.same(progress, [500], 'after the first step there was room')
})

t.test('the thread reports what is on disk, ends when it is told to, and its fault is an error', async (t) => {
  const exporting = await prepare(t, 'email_logs', emails(300))
  const { signal } = new AbortController()
  const onProgress = async (): Promise<boolean> => true
  t.match(await runExportThread(exporting.job, { onProgress, signal }), { kind: 'completed', rows: 600 })
  const broken = { ...exporting.job, database: join(temporaryFolder(t), 'nothing.db') }
  await t.rejects(runExportThread(broken, { onProgress, signal }), { code: 'SQLITE_CANTOPEN' })
  const stopped = new AbortController()
  stopped.abort()
  t.equal(await runExportThread(exporting.job, { onProgress, signal: stopped.signal }), null)
  writeFileSync(exporting.job.file, '')
  const ended = new AbortController()
  const running = runExportThread(exporting.job, { onProgress, signal: ended.signal })
  ended.abort()
  t.equal(await running, null)
})
