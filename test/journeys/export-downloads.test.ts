/** Files of exports: how they are downloaded, and when they go. */
import { request } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { waitUntil } from '../helpers/wait-until.js'
import { finished, listed, requestExport, send, startExports } from './support/exports.js'

const DAY = 86_400_000

/** The file as it is stored. */
async function storedBytes(app: TestDaemon, id: string): Promise<Buffer> {
  const sql = 'select bytes from export_chunks where export_id = ? order by start_at'
  return Buffer.concat((await app.rows<{ readonly bytes: Buffer }>(sql, id)).map(({ bytes }) => bytes))
}

interface Answer {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Buffer
}

interface Download {
  readonly app: TestDaemon
  readonly id: string
  readonly path: string
  readonly bytes: Buffer
  /** With the key, and with these fields alone. */
  readonly ask: (method: 'GET' | 'HEAD', headers?: Readonly<Record<string, string>>) => Promise<Answer>
}

async function prepareDownload(t: Test): Promise<Download> {
  const app = await startExports(t)
  await app.waitUntilSettled(await send(app, { subject: 'ü' }))
  const id = await requestExport(app, 'email_logs')
  await finished(app, id)
  const path = `/v1/exports/${id}/download`
  const bytes = await storedBytes(app, id)
  const endpoint = app.daemon.api.find(({ kind }) => kind === 'tls')
  if (endpoint === undefined || endpoint.kind === 'unix') throw new Error('no HTTPS port')
  const where = { host: '127.0.0.1', port: endpoint.port, ca: app.daemon.tls.cert, servername: 'localhost', path }
  const ask: Download['ask'] = (method, headers = {}) =>
    new Promise((resolve, reject) => {
      const all = { authorization: `Bearer ${app.key}`, ...headers }
      const asked = request({ ...where, method, headers: all }, (answer) => {
        const { statusCode: status, headers } = answer
        buffer(answer).then((body) => resolve({ status, headers, body }), reject)
      })
      asked.on('error', reject).end()
    })
  return { app, id, path, bytes, ask }
}

t.test('a download: complete, in ranges, compressed, its header alone', async (t) => {
  const { app, id, bytes, ask } = await prepareDownload(t)
  const size = bytes.length
  const etag = `"${id}-${size}"`
  const fields = {
    'content-type': 'text/csv; charset=utf-8',
    'content-length': String(size),
    'content-disposition': /^attachment; filename="email_logs-\d{4}-\d\d-\d\d.csv"$/,
    'accept-ranges': 'bytes',
    'x-content-type-options': 'nosniff',
    etag,
    vary: 'Accept-Encoding',
  }
  t.match(await ask('GET'), { status: 200, headers: fields, body: bytes })
  t.match(await ask('HEAD'), { status: 200, headers: fields, body: Buffer.alloc(0) })

  const parts = [
    ['bytes=0-9', bytes.subarray(0, 10), `bytes 0-9/${size}`],
    ['bytes=10-', bytes.subarray(10), `bytes 10-${size - 1}/${size}`],
    ['bytes=-7', bytes.subarray(-7), `bytes ${size - 7}-${size - 1}/${size}`],
    ['bytes=5-999999', bytes.subarray(5), `bytes 5-${size - 1}/${size}`],
  ] as const
  for (const [range, body, contentRange] of parts) {
    const answer = await ask('GET', { range, 'accept-encoding': 'gzip' })
    t.match(answer, { status: 206, headers: { 'content-range': contentRange, etag } }, range)
    t.same(answer.body, body)
  }
  const beyond = await ask('GET', { range: `bytes=${size}-` })
  t.match(beyond, { status: 416, headers: { 'content-range': `bytes */${size}` } })
  t.match(JSON.parse(String(beyond.body)), {
    error: {
      code: 'validation_error',
      status: 416,
      details: { errors: [{ field: 'Range', value: `bytes=${size}-` }] },
    },
  })
  t.equal((await ask('GET', { range: 'bytes=0-9', 'if-range': etag })).status, 206)
  t.match(await ask('GET', { range: 'bytes=0-9', 'if-range': '"another"' }), { status: 200, body: bytes })
  t.match(await ask('GET', { range: 'bytes=0-1,3-4' }), { status: 200, body: bytes }, 'several ranges')

  const small = await ask('GET', { 'accept-encoding': 'br, gzip;q=0.5' })
  t.match(small, { status: 200, headers: { 'content-encoding': 'gzip', vary: 'Accept-Encoding' } })
  t.same(
    ['accept-ranges', 'content-length'].filter((name) => name in small.headers),
    [],
  )
  t.same(gunzipSync(small.body), bytes)
  t.notOk('content-encoding' in (await ask('GET', { 'accept-encoding': 'gzip;q=0' })).headers)
  t.same(app.errors, [])
})

t.test('a signed link needs no key, and works as long as the file is kept', async (t) => {
  const { app, id, bytes, path } = await prepareDownload(t)
  const url = new URL((await listed(app, id))?.download_url ?? '')
  t.equal(url.pathname, path)
  const get = (query: URLSearchParams, key: string | null = null) =>
    app.rest('GET', `${path}?${query.toString()}`, { key })
  const changed = (name: string, value: string): URLSearchParams => {
    const query = new URLSearchParams(url.searchParams)
    query.set(name, value)
    return query
  }
  t.equal((await get(url.searchParams)).text, bytes.toString())
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
  const foreign = id.replace(/.$/, (end) => (end === '0' ? '1' : '0'))
  const other = await app.rest('GET', `/v1/exports/${foreign}/download${url.search}`, { key: null })
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
  t.ok((await storedBytes(app, id)).length > 0)
  const ids = [id, theirs, unfinished, '0197b9e5-5c1c-7cf4-8d1f-000000000000', id].join()
  const answer = await app.rest('DELETE', `/v1/exports?export_ids=${ids}`)
  t.match(answer.json(), { message: /./, deleted: [id] })
  await waitUntil('its file is gone', async () => (await storedBytes(app, id)).length === 0)
  t.equal((await app.rest('GET', `/v1/exports/${id}/download`)).status, 404)
  t.same((await app.rest('DELETE', `/v1/exports?export_ids=${id}`)).json(), {
    message: 'the exports are deleted',
    deleted: [],
  })
  t.equal((await app.rest('GET', '/v1/exports', { key: app.otherKey })).json<{ data: unknown[] }>().data.length, 1)
})

t.test('an export that failed says why, and has no file', async (t) => {
  const { app, id, path } = await prepareDownload(t)
  const fail = (error: string) =>
    app.daemon.database.commit([{ sql: `update exports set status = 'failed', error = ?`, parameters: [error] }])
  await fail('disk-full')
  t.match(await listed(app, id), { status: 'failed', download_url: null, expires_at: null, error: /no room/ })
  t.equal((await app.rest('GET', path)).status, 404)
  await fail('internal')
  t.match(await listed(app, id), { error: 'internal error' })
  const { deleted } = (await app.rest('DELETE', `/v1/exports?export_ids=${id}`)).json<{ readonly deleted: string[] }>()
  t.same(deleted, [id])
})

t.test('an export goes on after a restart, and an expired one goes at the next clean-up', async (t) => {
  const { app, id, bytes } = await prepareDownload(t)
  const { workspaceId, folder } = app
  await app.stop()
  const header = bytes.indexOf('\r\n') + 2
  const again = await testDaemon(t, { folder })
  const back = `update exports set status = 'processing', finished_at = null, bytes = ?, rows = 0, cursor = null`
  const chunk = 'insert into export_chunks (workspace_id, export_id, start_at, bytes) values (?, ?, ?, ?)'
  await again.daemon.database.commit([
    { sql: back, parameters: [header] },
    { sql: 'delete from export_chunks', parameters: [] },
    { sql: chunk, parameters: [workspaceId, id, 0, bytes.subarray(0, header)] },
    { sql: chunk, parameters: [workspaceId, id, header, Buffer.from('half a step')] },
    { sql: chunk, parameters: [workspaceId, 'gone', 0, Buffer.from('without a record')] },
  ])
  await again.stop()
  const last = await testDaemon(t, { folder })
  await finished(last, id)
  t.same(await storedBytes(last, id), bytes, 'the rows behind what is stored are written again')
  await waitUntil('what has no record is gone', async () => (await storedBytes(last, 'gone')).length === 0)
  await last.stop()
  const later = await testDaemon(t, { folder, ahead: 7 * DAY + 60_000 })
  await waitUntil('it is gone', async () => (await storedBytes(later, id)).length === 0)
  t.same(await later.rows('select * from exports where workspace_id = ?', workspaceId), [])
})

t.test('the files of a workspace go with it', async (t) => {
  const { app, id } = await prepareDownload(t)
  const url = new URL((await listed(app, id))?.download_url ?? '')
  const { status } = await app.rest('DELETE', `/v1/workspaces/${app.workspaceId}`)
  t.equal(status, 200)
  t.equal((await app.rest('GET', `${url.pathname}${url.search}`, { key: null })).status, 404, 'the link at once')
  await waitUntil('the file soon', async () => (await storedBytes(app, id)).length === 0)
})
