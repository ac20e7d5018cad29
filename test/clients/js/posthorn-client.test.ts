/** The client of our own against the daemon: sending, errors, repetitions that never send twice, and lists. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { PosthornError } from '../../../clients/js/src/posthorn-error.js'
import { hello, TestClient } from '../../helpers/http/client-paths.js'
import { openFaultyProxy } from '../../helpers/http/faulty-proxy.js'
import { openPlainApi } from '../../helpers/http/plain-api.js'

t.test('an email, a batch and a composed message are sent, and read again', async (t) => {
  const { app, sink, host } = await openPlainApi(t)
  const client = new TestClient(`http://${host}/`, app.key)
  const { id } = await client.send(hello)
  await app.waitUntilSettled(id)
  t.equal(sink.messages.length, 1)
  t.match(await client.request('GET', '/v1/emails/{id}', { path: { id } }), { id, subject: 'hello' })
  const raw = await client.request('GET', '/v1/emails/{id}/raw', { path: { id } })
  t.match(Buffer.from(raw).toString(), /^Subject: hello\r$/m, 'what is not JSON comes as bytes')
  const { data } = await client.sendBatch([hello, { ...hello, subject: 'two' }])
  t.equal(data.length, 2)
  const message = 'From: app@a.test\r\nTo: list@b.test\r\nSubject: composed\r\n\r\nü\r\n'
  const composed = await client.sendMessage(message, { from: 'app@a.test', to: ['one+tag@b.test', 'two@b.test'] })
  t.same(
    (await app.findStory(composed.id)).recipients.map(({ email }) => email),
    ['one+tag@b.test', 'two@b.test'],
  )
  const made = await client.request('POST', '/v1/suppressions', { body: { email: 'x@y.test' } })
  t.equal(await client.request('DELETE', '/v1/suppressions/{id}', { path: { id: made.id } }), undefined)
  t.same(app.errors, [])
})

t.test('a refusal is a PosthornError with the facts of the answer, and is not repeated', async (t) => {
  const { app, host } = await openPlainApi(t)
  const proxy = await openFaultyProxy(t, host)
  const client = new TestClient(proxy.url, app.key)
  const error: unknown = await client.send({ ...hello, to: 'nobody' }).catch((error: unknown) => error)
  t.ok(error instanceof PosthornError)
  t.match(error, { code: 'invalid_email_address', status: 400, requestId: /./, message: /^to: / })
  t.match(error, { details: { errors: [{ field: 'to', value: 'nobody' }] } })
  t.equal(proxy.requests.length, 1)
  await t.rejects(new TestClient(proxy.url, 'ph_wrong').send(hello), { code: 'invalid_api_key', status: 401 })
  await t.rejects(client.request('GET', '/v1/emails/{id}', { path: { id: '../x' } }), { code: 'email_not_found' })
  await t.rejects(client.request('GET', '/v1/emails/{id}', { path: { id: '..' } }), TypeError)
  proxy.plan({ status: 302 })
  await t.rejects(client.send(hello), { code: 'unexpected_answer', status: 302, details: { body: '{}' } })
})

t.test('a failed request is repeated with the same idempotency key, and sends once', async (t) => {
  const { app, host } = await openPlainApi(t)
  const proxy = await openFaultyProxy(t, host)
  const client = new TestClient(proxy.url, app.key)
  const countEmails = async (): Promise<number> =>
    (await app.rows<{ n: number }>('select count(*) n from emails'))[0]?.n ?? 0
  for (const [at, status] of [429, 500, 502, 503, 504].entries()) {
    proxy.plan({ status })
    await client.send(hello)
    t.equal(await countEmails(), at + 1, `after ${status}`)
  }
  proxy.plan('lost')
  const { id } = await client.send(hello)
  t.equal(await countEmails(), 6, 'the server had sent it already')
  proxy.plan('lost', { status: 503 }, 'lost')
  const { data } = await client.sendBatch([hello, hello])
  t.equal(await countEmails(), 8, 'a batch too')
  proxy.plan('lost')
  await client.sendMessage('From: app@a.test\r\nTo: bob@b.test\r\n\r\na line\r\n')
  t.equal(await countEmails(), 9, 'a composed message too')
  t.notOk(data.some((one) => one.id === id))
  const keys = proxy.requests.map(({ idempotencyKey }) => idempotencyKey)
  t.equal(new Set(keys).size, 8, 'each call has one key')
  await client.send(hello, { idempotencyKey: 'order-1' })
  await client.send(hello, { idempotencyKey: 'order-1' })
  t.equal(await countEmails(), 10, 'the caller can choose the key')
})

t.test('a daemon that starts again is awaited', async (t) => {
  const first = await openPlainApi(t)
  const [, port = ''] = first.host.split(':')
  const { app: before } = first
  await before.stop()
  const listen = { listen: ['127.0.0.1:0', `http://127.0.0.1:${port}`] }
  // Connections are refused at first. Then the daemon answers 503 with Retry-After until it is ready.
  const patience = { retries: 20, maxPause: 10_000 }
  const sending = new TestClient(`http://${first.host}`, before.key, patience).send(hello)
  const { app } = await openPlainApi(t, listen, { folder: before.folder })
  const { id } = await sending
  t.equal((await app.waitUntilSettled(id)).status, 'delivered')
})

t.test('repetitions are bounded, and what may be done already is not done again', async (t) => {
  const { app, host } = await openPlainApi(t)
  const proxy = await openFaultyProxy(t, host)
  const client = new TestClient(proxy.url, app.key, { retries: 2 })
  const ask = { body: { url: 'http://127.0.0.1:9/hook', events: ['email.sent'] } }
  const refusals = [503, 503, 503].map((status) => ({ status }))
  proxy.plan(...refusals)
  await t.rejects(client.send(hello), { code: 'unexpected_answer', status: 503 })
  t.equal(proxy.requests.length, 3, 'one request and two repetitions')
  proxy.plan({ status: 503, retryAfter: '2' })
  await t.rejects(
    client.send(hello),
    { code: 'unexpected_answer', status: 503 },
    'the server asks for a longer pause than the client may make',
  )
  t.equal(proxy.requests.length, 4)
  proxy.plan({ status: 500 })
  await t.rejects(client.request('POST', '/v1/webhooks', ask), { code: 'unexpected_answer', status: 500 })
  proxy.plan('lost')
  await t.rejects(client.request('POST', '/v1/suppressions', { body: { email: 'x@y.test' } }), {
    code: 'connection_failed',
    status: null,
  })
  t.equal(proxy.requests.length, 6, 'they have no idempotency key')
  proxy.plan({ status: 503 }, { status: 429 })
  await client.request('POST', '/v1/suppressions', { body: { email: 'z@y.test' } })
  t.equal(proxy.requests.length, 9, 'the server did nothing before it said 503 or 429')
  const ended = AbortSignal.abort(new Error('the caller has ended it'))
  await t.rejects(client.send(hello, { signal: ended }), { message: 'the caller has ended it' })
})

t.test('an attempt without an answer ends, and counts as a broken connection', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const client = new TestClient(`http://127.0.0.1:${port}`, 'ph_x', { retries: 1, timeout: 20 })
  await t.rejects(client.send(hello), { code: 'connection_failed', message: /^no answer from http:\/\/127\.0\.0\.1:/ })
})

t.test('lists are read to their end, by place and by cursor', async (t) => {
  const { app, host } = await openPlainApi(t)
  const client = new TestClient(`http://${host}`, app.key)
  const emails = (count: number, from: number): (typeof hello)[] =>
    Array.from({ length: count }, (_, at) => ({ ...hello, subject: `${from + at}` }))
  await client.sendBatch(emails(100, 0))
  await client.sendBatch(emails(100, 100))
  await client.sendBatch(emails(50, 200))
  const seen: string[] = []
  for await (const { subject } of client.list('/v1/emails')) {
    if (seen.length === 0) await client.send({ ...hello, subject: 'during the list' })
    seen.push(subject)
  }
  t.equal(seen.length, 250)
  t.equal(new Set(seen).size, 250, 'an email that arrives meanwhile makes no other one come twice')
  for (let at = 0; at < 25; at += 1) {
    await client.request('POST', '/v1/suppressions', { body: { email: `u${at}@y.test` } })
  }
  const addresses: string[] = []
  for await (const { email } of client.list('/v1/suppressions', { query: { limit: 10 } })) addresses.push(email)
  t.equal(new Set(addresses).size, 25)
  const last: string[] = []
  for await (const { subject } of client.list('/v1/emails', { query: { offset: 240, limit: 7 } })) last.push(subject)
  t.equal(last.length, 11)
})
