/** Exports through the whole daemon: what the files hold, how they are downloaded, and when they go. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import t, { type Test } from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { temporaryFolder } from '../helpers/database/database.js'
import { request } from '../helpers/http/test-api.js'
import { openWire, type WireAnswer } from '../helpers/http/wire.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const DAY = 86_400_000
const types = ['email_logs', 'bounces', 'suppressions', 'opens'] as const
type Type = (typeof types)[number]

interface Listed {
  readonly export_id: string
  readonly status: string
  readonly download_url: string | null
  readonly expires_at: string | null
  readonly rows: number
  readonly progress: number
  readonly error: string | null
}

async function startDaemon(t: Test): Promise<TestDaemon> {
  const sink = await openSink()
  const refusing = await openSink({ script: { rcpt: '550 5.1.1 =HYPERLINK("http://x.test") "no" such user' } })
  t.teardown(() => Promise.all([sink.close(), refusing.close()]))
  return testDaemon(t, { routes: { 'b.test': sink, 'gone.test': refusing } })
}

const today = (app: TestDaemon): string => new Date(app.now()).toISOString().slice(0, 10)

async function requestExport(app: TestDaemon, type: Type, more: object = {}): Promise<string> {
  const day = today(app)
  const answer = await app.rest('POST', '/v1/exports', { body: { type, from_date: day, to_date: day, ...more } })
  if (answer.status !== 202) throw new Error(answer.text)
  return answer.json<{ readonly data: { readonly export_id: string } }>().data.export_id
}

async function listed(app: TestDaemon, id: string): Promise<Listed | undefined> {
  const { data } = (await app.rest('GET', '/v1/exports')).json<{ readonly data: readonly Listed[] }>()
  return data.find(({ export_id }) => export_id === id)
}

const finished = (app: TestDaemon, id: string): Promise<Listed> =>
  waitUntil(`${id} is finished`, async () => {
    const found = await listed(app, id)
    return found !== undefined && found.status !== 'processing' && found
  })

async function exportRows(app: TestDaemon, type: Type, more: object = {}): Promise<readonly Record<string, string>[]> {
  const id = await requestExport(app, type, more)
  const { status, rows } = await finished(app, id)
  const answer = await app.rest('GET', `/v1/exports/${id}/download`)
  const found = parse(answer.text, { columns: true, record_delimiter: '\r\n' }) as Record<string, string>[]
  if (status !== 'completed' || found.length !== rows) throw new Error(`${status}, ${found.length} of ${rows} rows`)
  return found
}

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

async function send(app: TestDaemon, more: object): Promise<string> {
  const body = { from: 'app@a.test', to: 'bob@b.test', subject: 's', text: 't', ...more }
  const answer = await app.rest('POST', '/v1/emails', { body })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.json<{ readonly id: string }>().id
}

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
  await waitUntil('both are recorded', () => app.rows(count).length === 2)
  return { opened, bounced }
}

t.test('the rows of each type', async (t) => {
  const app = await startDaemon(t)
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
      to: 'one@gone.test',
      user_agent: `'=cmd|"x"`,
      ip_address: '127.0.0.1',
      machine: /^(true|false)$/,
    },
    { email_id: opened, user_agent: /Firefox/, opened_at: /Z$/ },
  ])
  t.same(app.errors, [])
})

t.test('a range of time and a domain choose the rows', async (t) => {
  const app = await startDaemon(t)
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
})

interface Download {
  readonly app: TestDaemon
  readonly id: string
  readonly path: string
  readonly text: string
  /** On a connection of its own, with the fields that are given and no others. */
  readonly ask: (line: string, ...fields: readonly string[]) => Promise<WireAnswer>
}

async function prepareDownload(t: Test): Promise<Download> {
  const app = await startDaemon(t)
  await app.waitUntilSettled(await send(app, { subject: 'ü' }))
  const id = await requestExport(app, 'email_logs')
  await finished(app, id)
  const path = `/v1/exports/${id}/download`
  const endpoint = app.daemon.api.find(({ kind }) => kind === 'tls')
  if (endpoint === undefined || endpoint.kind === 'unix') throw new Error('no HTTPS port')
  const ask: Download['ask'] = async (line, ...fields) => {
    const wire = await openWire(t, { port: endpoint.port, ca: app.daemon.tls.cert })
    wire.send(request(line, `Authorization: Bearer ${app.key}`, ...fields))
    return wire.answer(line.startsWith('HEAD') ? 'head' : undefined)
  }
  const file = join(app.config.service.data_dir, 'exports', `${id}.csv`)
  return { app, id, path, text: readFileSync(file, 'latin1'), ask }
}

t.test('a download: complete, in ranges, compressed, its header alone', async (t) => {
  const { app, id, path, text, ask } = await prepareDownload(t)
  const folder = join(app.config.service.data_dir, 'exports')
  t.equal(statSync(folder).mode & 0o777, 0o700)
  t.equal(statSync(join(folder, `${id}.csv`)).mode & 0o777, 0o600)
  const all = await ask(`GET ${path}`)
  const etag = `"${id}-${text.length}"`
  t.match(all, {
    status: 200,
    body: text,
    headers: {
      'content-type': 'text/csv; charset=utf-8',
      'content-length': String(text.length),
      'content-disposition': `attachment; filename="email_logs-${today(app)}.csv"`,
      'accept-ranges': 'bytes',
      etag,
      vary: 'Accept-Encoding',
      'x-content-type-options': 'nosniff',
    },
  })
  const { status, headers, body } = await ask(`HEAD ${path}`)
  t.match(
    { status, headers, body },
    { status: 200, headers: { 'content-length': String(text.length), etag }, body: '' },
  )

  const ranges = [
    ['bytes=0-9', text.slice(0, 10), `bytes 0-9/${text.length}`],
    ['bytes=10-', text.slice(10), `bytes 10-${text.length - 1}/${text.length}`],
    ['bytes=-7', text.slice(-7), `bytes ${text.length - 7}-${text.length - 1}/${text.length}`],
    ['bytes=5-999999', text.slice(5), `bytes 5-${text.length - 1}/${text.length}`],
  ] as const
  for (const [range, part, contentRange] of ranges) {
    const answer = await ask(`GET ${path}`, `Range: ${range}`, 'Accept-Encoding: gzip')
    t.match(answer, { status: 206, body: part, headers: { 'content-range': contentRange, etag } }, range)
  }
  t.match(await ask(`GET ${path}`, `Range: bytes=${text.length}-`), {
    status: 416,
    headers: { 'content-range': `bytes */${text.length}` },
  })
  t.match(await ask(`GET ${path}`, 'Range: bytes=0-9', `If-Range: ${etag}`), { status: 206 })
  t.match(await ask(`GET ${path}`, 'Range: bytes=0-9', 'If-Range: "another"'), { status: 200, body: text })
  t.match(await ask(`GET ${path}`, 'Range: bytes=0-1,3-4'), { status: 200, body: text }, 'several ranges')

  const small = await ask(`GET ${path}`, 'Accept-Encoding: br, gzip;q=0.5')
  t.match(small, { status: 200, headers: { 'content-encoding': 'gzip', vary: 'Accept-Encoding' } })
  t.notOk('accept-ranges' in small.headers || 'content-length' in small.headers)
  t.equal(gunzipSync(Buffer.from(small.body, 'latin1')).toString('latin1'), text)
  t.notOk('content-encoding' in (await ask(`GET ${path}`, 'Accept-Encoding: gzip;q=0')).headers)
  t.same(app.errors, [])
})

t.test('a signed link needs no key, and works as long as the file is kept', async (t) => {
  const { app, id, text, path } = await prepareDownload(t)
  const url = new URL((await listed(app, id))?.download_url ?? '')
  t.equal(url.pathname, path)
  const get = (query: URLSearchParams, key: string | null = null) =>
    app.rest('GET', `${path}?${query.toString()}`, { key })
  const changed = (name: string, value: string): URLSearchParams => {
    const query = new URLSearchParams(url.searchParams)
    query.set(name, value)
    return query
  }
  t.equal(Buffer.from((await get(url.searchParams)).text).toString('latin1'), text)
  t.equal((await get(url.searchParams, app.otherKey)).status, 200, 'whatever key comes with it')
  const expires = url.searchParams.get('expires') ?? ''
  for (const query of [
    changed('workspace', app.otherWorkspaceId),
    changed('expires', String(Number(expires) + 1)),
    changed('signature', 'A'.repeat(43)),
    changed('signature', ''),
  ]) {
    t.equal((await get(query)).status, 403, query.toString())
  }
  const other = await app.rest('GET', `/v1/exports/${id.replace(/.$/, '0')}/download${url.search}`, { key: null })
  t.ok([403, 404].includes(other.status), 'the link is for one export')
  t.equal((await app.rest('GET', path, { key: null })).status, 401)
  t.equal((await app.rest('GET', path, { key: app.otherKey })).status, 404)
  t.equal((await app.rest('GET', `${path}?workspace=x`)).status, 400, 'a part of a link is no link')

  app.advance(7 * DAY)
  t.equal((await get(url.searchParams)).status, 404)
  t.equal((await app.rest('GET', path)).status, 404)
  t.match(await listed(app, id), { download_url: null, expires_at: new Date(Number(expires)).toISOString() })
})

t.test('DELETE removes finished exports of the workspace, with their files', async (t) => {
  const { app, id } = await prepareDownload(t)
  const foreign = await app.rest('POST', '/v1/exports', {
    key: app.otherKey,
    body: { type: 'opens', from_date: '2026-11-01', to_date: '2026-11-02' },
  })
  const theirs = foreign.json<{ readonly data: { readonly export_id: string } }>().data.export_id
  await app.daemon.database.commit([
    {
      sql: `insert into exports (id, workspace_id, type, status, from_at, to_at, rows, bytes, progress, created_at)
        values (?, ?, 'opens', 'processing', 0, 1, 0, 0, 0, 0)`,
      parameters: ['0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10', app.workspaceId],
    },
  ])
  const unfinished = '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10'
  const path = `/v1/exports/${unfinished}/download`
  t.match((await app.rest('GET', path)).json(), { error: { code: 'conflict' } }, 'it has no file yet')
  const folder = join(app.config.service.data_dir, 'exports')
  t.ok(existsSync(join(folder, `${id}.csv`)))
  const ids = [id, theirs, unfinished, '0197b9e5-5c1c-7cf4-8d1f-000000000000', id].join()
  const answer = await app.rest('DELETE', `/v1/exports?export_ids=${ids}`)
  t.match(answer.json(), { message: /./, deleted: [id] })
  t.notOk(existsSync(join(folder, `${id}.csv`)))
  t.equal((await app.rest('GET', `/v1/exports/${id}/download`)).status, 404)
  t.same((await app.rest('DELETE', `/v1/exports?export_ids=${id}`)).json(), {
    message: 'the exports are deleted',
    deleted: [],
  })
  t.equal((await app.rest('GET', '/v1/exports', { key: app.otherKey })).json<{ data: unknown[] }>().data.length, 1)
})

t.test('an export goes on after a restart, and an expired one goes at the next clean-up', async (t) => {
  const { app, id, text } = await prepareDownload(t)
  const { workspaceId, folder, config } = app
  await app.stop()
  const file = join(config.service.data_dir, 'exports', `${id}.csv`)
  writeFileSync(`${file.slice(0, -5)}f.csv`, 'without a record', { mode: 0o600 })
  const half = text.indexOf('\r\n') + 2
  const again = await testDaemon(t, { folder })
  const back = `update exports set status = 'processing', finished_at = null, bytes = ?, rows = 0, cursor = null`
  await again.daemon.database.commit([{ sql: back, parameters: [half] }])
  await again.stop()
  const last = await testDaemon(t, { folder })
  await finished(last, id)
  t.equal(readFileSync(file, 'latin1'), text, 'the rows behind what is on disk are written again')
  t.same(readdirSync(join(config.service.data_dir, 'exports')), [`${id}.csv`])
  await last.stop()
  const later = await testDaemon(t, { folder, ahead: 7 * DAY + 60_000 })
  await waitUntil('it is gone', () => !existsSync(file))
  t.same(later.rows('select * from exports where workspace_id = ?', workspaceId), [])
})

t.test('the files of a workspace go with it', async (t) => {
  const { app, id } = await prepareDownload(t)
  const url = new URL((await listed(app, id))?.download_url ?? '')
  const { status } = await app.rest('DELETE', `/v1/workspaces/${app.workspaceId}`)
  t.equal(status, 200)
  t.equal((await app.rest('GET', `${url.pathname}${url.search}`, { key: null })).status, 404, 'the link at once')
  await waitUntil('the file soon', () => readdirSync(join(app.config.service.data_dir, 'exports')).length === 0)
})

t.test('a spreadsheet program reads every export', { skip: skipWithout('ssconvert') }, async (t) => {
  const app = await startDaemon(t)
  await sendAll(app)
  for (const type of types) {
    const id = await requestExport(app, type)
    const { rows } = await finished(app, id)
    const text = readFileSync(join(app.config.service.data_dir, 'exports', `${id}.csv`), 'utf8')
    const cells = parse(text) as string[][]
    const seen = spreadsheetCells(t, text)
    t.equal(seen.length, rows + 1, `${type}: ${rows} rows and the names`)
    t.same(seen, cells, `${type}: the cells are those of the file, and none is a formula`)
  }
})

/** What Gnumeric has in its cells: the result of a formula, if it took one for that. */
function spreadsheetCells(t: Test, text: string): readonly (readonly string[])[] {
  const folder = temporaryFolder(t)
  const [from, to] = [join(folder, 'in.csv'), join(folder, 'out.txt')]
  writeFileSync(from, text)
  const words = [
    '--import-encoding=UTF-8',
    '--export-type=Gnumeric_stf:stf_assistant',
    '-O',
    'quoting-mode=always format=raw',
    from,
    to,
  ]
  const { status, stderr } = spawnSync('ssconvert', words, { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return parse(readFileSync(to)) as string[][]
}
