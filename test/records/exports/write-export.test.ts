/** The file of an export: complete whatever cuts the writing off, and the same as if nothing had. */
import { parse } from 'csv-parse/sync'
import t, { type Test } from 'tap'
import { parseDomainName } from '../../../src/base/mail/address.js'
import { unescapeFormula } from '../../../src/base/platform/csv/cells.js'
import type { Database } from '../../../src/base/storage/db/database.js'
import type { Write } from '../../../src/base/storage/db/write.js'
import { openThreadReader } from '../../../src/base/storage/threads/thread-reader.js'
import { recordEvent } from '../../../src/records/events/event-log.js'
import type { EndReport, ExportJob, ExportProgress, PieceReport } from '../../../src/records/exports/export-protocol.js'
import { writeExport } from '../../../src/records/exports/write-export.js'
import { bulkEmail } from '../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const BEGIN = 1_000_000
/** No piece has more bytes. */
const MAX_PIECE = 1_048_576

interface Exporting {
  readonly database: Database
  /** An export of all in the database. */
  readonly job: ExportJob
  /** What is stored of its file. */
  readonly stored: { bytes: Buffer }
  readonly text: () => string
}

/** The writes are made after the database has said which engine is in use. */
async function prepare(t: Test, type: ExportJob['type'], make: () => readonly Write[]): Promise<Exporting> {
  const { database } = await temporaryDatabase(t)
  const writes = make()
  for (let at = 0; at < writes.length; at += 1_000) await database.commit(writes.slice(at, at + 1_000))
  const range = {
    workspace_id: 'ws_1',
    type,
    from_at: 0,
    to_at: 10 ** 13,
    domain: null,
    broadcast_id: null,
    outcome: null,
  }
  const job = { ...range, cursor: null, rows: 0, bytes: 0, progress: 0, database: database.place }
  const stored = { bytes: Buffer.alloc(0) }
  return { database, job, stored, text: () => stored.bytes.toString() }
}

/** Runs it in this thread, which shows its pieces. What is stored behind the place of the job is removed before. */
async function write(
  { job, stored }: Exporting,
  more: Partial<ExportJob> = {},
  see: (piece: PieceReport) => void = () => undefined,
): Promise<EndReport> {
  const { read, close } = openThreadReader(job.database)
  const cut = { ...job, ...more }
  stored.bytes = stored.bytes.subarray(0, cut.bytes)
  const add = ({ start, bytes }: Pick<PieceReport, 'start' | 'bytes'>): void => {
    if (start !== stored.bytes.length || bytes.length > MAX_PIECE) throw new Error(`${bytes.length} at ${start}`)
    stored.bytes = Buffer.concat([stored.bytes, bytes])
  }
  try {
    const end = await writeExport(read, cut, async (piece) => {
      add(piece)
      see(piece)
    })
    add(end)
    return end
  } finally {
    await close()
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
  const exporting = await prepare(t, 'email_logs', () => [...emails(1_001), ...emails(5, 'ws_2')])
  const { progress } = await write(exporting)
  const [names, ...rows] = rowsOf(exporting.text())
  t.match(progress, { rows: 2_002, bytes: Buffer.byteLength(exporting.text()), progress: 1_000, cursor: null })
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
    const exporting = await prepare(t, type, () => [])
    t.match(await write(exporting), { kind: 'end', progress: { rows: 0 } })
    t.match(exporting.text(), /^[a-z_,]+\r\n$/, type)
  }
})

t.test('wherever it is cut off, it goes on after what is on disk and becomes the same file', async (t) => {
  for (const [type, writes] of [
    ['email_logs', () => emails(2_000)],
    ['opens', () => opens(2_100)],
    ['suppressions', () => suppressions(2_100)],
  ] as const) {
    const exporting = await prepare(t, type, writes)
    await write(exporting)
    const whole = exporting.text()
    const places = await reportedPlaces(exporting)
    t.ok(places.length > 2, `${type}: ${places.length} places`)
    for (const place of places) {
      t.match(await write(exporting, place), { progress: { rows: rowsOf(whole).length - 1 } })
      t.equal(exporting.text(), whole)
    }
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
  await write(exporting, { reportInterval: 0 }, ({ progress }) => places.push(progress))
  return places
}

t.test('a step of very many rows becomes several pieces, which are not counted before its end', async (t) => {
  const to = Array.from({ length: 100 }, (_, n) => `bob${n}@b.test`)
  const many = (): Write[] =>
    Array.from({ length: 45 }, () => bulkEmail({ workspaceId: 'ws_1', to, at: BEGIN })).flatMap(({ writes }) => writes)
  const exporting = await prepare(t, 'email_logs', many)
  const places: ExportProgress[] = []
  await write(exporting, {}, ({ progress }) => places.push(progress))
  t.ok(places.length > 1, `${places.length} pieces`)
  t.same(places[0], { cursor: null, rows: 0, bytes: 0, progress: 0 }, 'the step has not ended')
  t.equal(rowsOf(exporting.text()).length, 4_501)
})

t.test('events of a long log, by range and by the domain of their email', async (t) => {
  const exporting = await prepare(t, 'opens', () => [
    ...[...opens(1_200), emailFrom('e7', 'a.test'), emailFrom('e9', 'z.test')],
  ])
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
  const exporting = await prepare(t, 'suppressions', () => suppressions(1_000))
  await write(exporting, { domain: parseDomainName('c.test'), from_at: BEGIN + 500, to_at: BEGIN + 503 })
  t.same(
    rowsOf(exporting.text()).map(([email]) => email),
    ['email', 'a501@c.test'],
  )
})

t.test('a recipient that complained is shown as complained', async (t) => {
  let id = ''
  const exporting = await prepare(t, 'email_logs', () => {
    const complained = complainedEmail()
    id = complained.id
    return complained.writes
  })
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
  const enqueueWith = (subject: string, n: number): Write[] => {
    const [email, ...others] = bulkEmail({ workspaceId: 'ws_1', to: 'bob@b.test', at: BEGIN + n }).writes
    if (email === undefined) throw new Error('no write')
    return [{ ...email, parameters: email.parameters.map((value) => (value === 'bulk' ? subject : value)) }, ...others]
  }
  const exporting = await prepare(t, 'email_logs', () => nasty.flatMap(enqueueWith))
  await write(exporting)
  t.same(
    rowsOf(exporting.text())
      .slice(1)
      .map((row) => unescapeFormula(row[4] ?? '')),
    nasty,
  )
  t.ok(exporting.text().endsWith('\r\n'))
})
