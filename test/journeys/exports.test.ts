/** Exports through the whole daemon: which rows the files have, and what a spreadsheet program makes of them. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import t, { type Test } from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { temporaryFolder } from '../helpers/database/database.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { waitUntil } from '../helpers/wait-until.js'
import { exportRows, finished, requestExport, send, startExports, type Type, types } from './support/exports.js'

const DAY = 86_400_000

/** Subjects with all that a spreadsheet could take for something else. */
const subjects = [
  'plain',
  '=1+1',
  '+441632960000',
  '-2',
  '@SUM(A1:A9)',
  `'=1+1`,
  'comma, semicolon; tab',
  'a "quoted" word',
  '😀 grüße 日本語',
  ' blank at both ends ',
  'null',
  '007',
]

/** Emails of every kind: delivered, bounced, opened, suppressed, with several recipients. */
async function sendAll(app: TestDaemon): Promise<{ readonly opened: string; readonly bounced: string }> {
  for (const subject of subjects) await app.waitUntilSettled(await send(app, { subject }))
  const bounced = await send(app, { to: ['one@gone.test', 'bob@b.test'], tags: [{ name: 'a', value: '=b,"c"' }] })
  await app.waitUntilSettled(bounced)
  await waitUntil('the address is suppressed', async () =>
    (await app.rest('GET', '/v1/suppressions')).text.includes('one@gone.test'),
  )
  await app.rest('POST', '/v1/suppressions', { body: { email: '=cmd|x@evil.test' } })
  const opened = await send(app, { html: '<p>t</p>', to: ['one@gone.test', 'bob@b.test'] })
  await app.waitUntilSettled(opened)
  app.advance(60_000)
  for (const agent of ['=cmd|"x"', 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0']) {
    await app.rest('GET', `/v1/track/open/${opened}`, { key: null, headers: { 'user-agent': agent } })
    app.advance(60_000)
  }
  const count = `select 1 from events where type = 'email.opened'`
  await waitUntil('both are recorded', async () => (await app.rows(count)).length === 2)
  return { opened, bounced }
}

t.test('the rows of each type', async (t) => {
  const app = await startExports(t)
  const { opened, bounced } = await sendAll(app)
  const logs = await exportRows(app, 'email_logs')
  t.equal(logs.length, subjects.length + 4, 'one row for each recipient')
  t.same(
    Object.keys(logs[0] ?? {}),
    [
      ...['email_id', 'message_id', 'from', 'to', 'subject', 'status', 'created_at', 'sent_at', 'delivered_at'],
      ...['opened_at', 'clicked_at', 'tags'],
    ],
    'in the order of the document',
  )
  t.same(
    logs.slice(0, 6).map(({ subject }) => subject),
    ['plain', `'=1+1`, `'+441632960000`, `'-2`, `'@SUM(A1:A9)`, `''=1+1`],
    'in the order in which they were accepted, with formulas made text',
  )
  const of = (id: string, to: string) => logs.find((row) => row['email_id'] === id && row['to'] === to)
  t.match(of(bounced, 'one@gone.test'), {
    status: 'bounced',
    sent_at: '',
    delivered_at: '',
    tags: '{"a":"=b,\\"c\\""}',
  })
  t.match(of(bounced, 'bob@b.test'), { status: 'delivered', sent_at: /Z$/, delivered_at: /Z$/, opened_at: '' })
  t.match(of(opened, 'one@gone.test'), { status: 'suppressed', sent_at: '' })
  t.match(of(opened, 'bob@b.test'), { status: 'delivered', opened_at: /Z$/, from: 'app@a.test', message_id: /^<.+>$/ })

  t.match(await exportRows(app, 'bounces'), [
    {
      ...{ email_id: bounced, to: 'one@gone.test', bounce_type: 'hard', bounce_subtype: 'bad-mailbox' },
      diagnostic_code: /550 5\.1\.1 =HYPERLINK/,
      bounced_at: /Z$/,
    },
  ])
  t.match(await exportRows(app, 'suppressions'), [
    { email: 'one@gone.test', reason: 'hard_bounce', source_email_id: bounced, created_at: /Z$/ },
    { email: `'=cmd|x@evil.test`, reason: 'manual', source_email_id: '' },
  ])
  t.match(await exportRows(app, 'opens'), [
    {
      email_id: opened,
      to: 'bob@b.test',
      user_agent: `'=cmd|"x"`,
      ip_address: '127.0.0.1',
      machine: /^(true|false)$/,
    },
    { email_id: opened, user_agent: /Firefox/, opened_at: /Z$/ },
  ])
  t.same(app.errors, [])
})

t.test('a range of time and a domain choose the rows', async (t) => {
  const app = await startExports(t)
  const before = new Date(app.now()).toISOString()
  await app.waitUntilSettled(await send(app, { to: 'x@gone.test' }))
  const after = new Date(app.now() + 1).toISOString()
  const countOf = async (type: Type, more: object): Promise<number> => (await exportRows(app, type, more)).length
  for (const [says, more, count] of [
    ['the domain of the sender', { domain: 'A.test' }, [1, 1, 0]],
    ['the domain of the address', { domain: 'gone.test' }, [0, 0, 1]],
    ['the first moment is inside', { from_date: before, to_date: after }, [1, 1, 1]],
    ['later than now', { from_date: '2030-01-01', to_date: '2030-01-01' }, [0, 0, 0]],
    ['earlier', { from_date: '2020-01-01', to_date: before }, [0, 0, 0]],
    ['a day with an end in the future', { to_date: '2040-12-31' }, [1, 1, 1]],
  ] as const) {
    const found = [
      await countOf('email_logs', more),
      await countOf('bounces', more),
      await countOf('suppressions', more),
    ]
    t.same(found, count, says)
  }
  const own = await app.rest('GET', '/v1/exports')
  t.equal(own.json<{ readonly data: readonly unknown[] }>().data.length, 18)
  t.equal((await app.rest('GET', '/v1/exports', { key: app.otherKey })).text, '{"data":[]}')
})

t.test('a request that is wrong', async (t) => {
  const app = await testDaemon(t)
  const right = { type: 'opens', from_date: '2026-11-01', to_date: '2026-11-02' }
  for (const [more, field] of [
    [{ type: 'clicks' }, 'type'],
    [{ from_date: '2026-11-03' }, 'to_date'],
    [{ from_date: '2026-02-30' }, 'from_date'],
    [{ to_date: '2026-11-02T00:00:00' }, 'to_date'],
    [{ to_date: 'tomorrow' }, 'to_date'],
    [{ domain: 'a b' }, 'domain'],
    [{ format: 'xls' }, 'format'],
  ] as const) {
    const answer = await app.rest('POST', '/v1/exports', { body: { ...right, ...more } })
    t.match(answer.json(), { error: { code: 'validation_error', details: { errors: [{ field }] } } }, field)
  }
  const missing = await app.rest('POST', '/v1/exports', { body: { type: 'opens' } })
  t.match(missing.json(), { error: { code: 'missing_required_field' } })
  for (const ids of ['', 'x', ',', `${'0'.repeat(8)}-0000-7000-8000-${'0'.repeat(12)},`]) {
    const { status } = await app.rest('DELETE', `/v1/exports?export_ids=${encodeURIComponent(ids)}`)
    t.equal(status, 400, `"${ids}" is no list of ids`)
  }
  t.equal((await app.rest('DELETE', '/v1/exports')).status, 400)
  const ids = (count: number): string =>
    Array.from({ length: count }, () => '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10').join()
  t.equal((await app.rest('DELETE', `/v1/exports?export_ids=${ids(100)}`)).status, 200)
  t.equal((await app.rest('DELETE', `/v1/exports?export_ids=${ids(101)}`)).status, 400)
})

t.test('a spreadsheet program reads every export', { skip: skipWithout('ssconvert') }, async (t) => {
  const app = await startExports(t)
  await sendAll(app)
  for (const type of types) {
    const id = await requestExport(app, type)
    const { rows } = await finished(app, id)
    const { text } = await app.rest('GET', `/v1/exports/${id}/download`)
    const cells = parse(text) as string[][]
    const seen = spreadsheetCells(t, text)
    t.equal(seen.length, rows + 1, `${type}: ${rows} rows and the names`)
    t.same(
      seen,
      cells.map((row) => row.map(spreadsheetValue)),
      `${type}: the cells are those of the file`,
    )
  }
})

/** A cell of the file as a spreadsheet takes it: numbers as such, and the apostrophe as the sign of a text. */
function spreadsheetValue(cell: string): string {
  return cell
    .replace(/^(?:true|false)$/, (word) => word.toUpperCase())
    .replace(/^0+(?=\d+$)/, '')
    .replace(/^'/, '')
}

/** Days from the first day of spreadsheets to 1970. */
const SPREADSHEET_EPOCH = 25_569

/** What Gnumeric has in its cells: the result of a formula, if it took one for that. */
function spreadsheetCells(t: Test, text: string): readonly (readonly string[])[] {
  const folder = temporaryFolder(t)
  const [from, to] = [join(folder, 'in.csv'), join(folder, 'out.txt')]
  writeFileSync(from, text)
  const form = ['--export-type=Gnumeric_stf:stf_assistant', '-O', 'quoting-mode=always format=raw']
  const { status, stderr } = spawnSync('ssconvert', ['--import-encoding=UTF-8', ...form, from, to], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stderr)
  const rows = parse(readFileSync(to)) as string[][]
  return rows.map((row) => row.map((cell) => (/^\d{5}\.\d+$/.test(cell) ? timeOfCell(Number(cell)) : cell)))
}

/** The time of a cell that counts days, to the millisecond. */
function timeOfCell(days: number): string {
  return new Date(Math.round((days - SPREADSHEET_EPOCH) * DAY)).toISOString()
}
