/** The listener of the metrics: what it answers, and what a client can take of it. */
import { EventEmitter, once } from 'node:events'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { startMetricsListener } from '../../../src/operations/monitoring/metrics-listener.js'

const TEXT = '# HELP a A.\n# TYPE a gauge\na 1\n'

interface Answer {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

interface Listening {
  readonly port: number
  readonly errors: readonly unknown[]
  readonly ask: (path: string, method?: string, body?: string) => Promise<Answer>
  readonly stop: (limit: number) => Promise<void>
}

async function listen(t: Test, collect: () => Promise<string> = async () => TEXT): Promise<Listening> {
  const errors: unknown[] = []
  const log = { error: (about: unknown) => errors.push(about), warn: () => undefined }
  const { endpoints, stop } = await startMetricsListener([{ host: '127.0.0.1', port: 0 }], { collect, log } as never)
  t.teardown(() => stop(0))
  const port = endpoints[0]?.port ?? 0
  return { port, errors, stop, ask: (...words) => ask(port, ...words) }
}

function ask(port: number, path: string, method = 'GET', body = ''): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method, agent: false }, (response) => {
      let text = ''
      response.on('data', (piece: Buffer) => {
        text += piece.toString()
      })
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body: text }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

t.test('GET and HEAD of two paths, and nothing else', async (t) => {
  const { ask } = await listen(t)
  const metrics = await ask('/metrics')
  t.match(metrics, { status: 200, body: TEXT, headers: { 'content-type': /^text\/plain; version=0\.0\.4/ } })
  t.match(await ask('/metrics?x=1'), { status: 200, body: TEXT })
  t.match(await ask('/metrics', 'HEAD'), { status: 200, body: '', headers: { 'content-length': `${TEXT.length}` } })
  t.match(await ask('/'), { status: 200, body: /href="\/metrics"/, headers: { 'content-type': /html/ } })
  for (const path of ['/metrics/', '/v1/emails', '/healthz', '//metrics', '/%6detrics', '/../metrics', '*']) {
    t.match(await ask(path), { status: 404 }, path)
  }
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
    t.match(await ask('/metrics', method, 'x'), { status: 405, headers: { allow: 'GET, HEAD' } }, method)
  }
})

t.test('a fault of the collection is answered 500 and logged', async (t) => {
  const { ask, errors } = await listen(t, () => Promise.reject(new Error('broken')))
  t.match(await ask('/metrics'), { status: 500 })
  t.notMatch((await ask('/metrics')).body, /broken/)
  t.equal(errors.length, 2)
})

t.test('a header that is too large is refused', async (t) => {
  const { port } = await listen(t)
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET /metrics HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(10_000)}\r\n\r\n`)
  const [reply] = (await once(socket, 'data')) as [Buffer]
  t.match(reply.toString(), /^HTTP\/1\.1 431 /)
  socket.destroy()
})

t.test('more than twenty connections are not accepted, and others are served again afterwards', async (t) => {
  const { port, ask } = await listen(t)
  const sockets: Socket[] = Array.from({ length: 20 }, () => connect(port, '127.0.0.1'))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  await t.rejects(ask('/metrics'))
  for (const socket of sockets) socket.destroy()
  for (;;) {
    const answer = await ask('/metrics').catch(() => null)
    if (answer?.status === 200) break
  }
})

t.test('an address that is taken rejects, and leaves nothing open', async (t) => {
  const { port } = await listen(t)
  const logged: string[] = []
  const log = { error: () => undefined, warn: (_about: object, text: string) => logged.push(text) }
  const endpoints = [
    { host: '127.0.0.1', port: 0 },
    { host: '127.0.0.1', port },
  ]
  await t.rejects(startMetricsListener(endpoints, { collect: async () => TEXT, log } as never), { code: 'EADDRINUSE' })
  t.same(logged, [], 'the start reports it')
})

t.test('a stop waits for an answer that is under way', async (t) => {
  const events = new EventEmitter()
  const { ask, stop } = await listen(t, async () => {
    const go = once(events, 'go')
    events.emit('begun')
    await go
    return TEXT
  })
  const begun = once(events, 'begun')
  const answer = ask('/metrics')
  await begun
  const stopped = stop(60_000)
  events.emit('go')
  t.match(await answer, { status: 200, body: TEXT })
  await stopped
  await t.rejects(ask('/metrics'), { code: 'ECONNREFUSED' })
})

t.test('a stop ends a connection that sends nothing at its limit', async (t) => {
  const { port, stop } = await listen(t)
  const silent = connect(port, '127.0.0.1')
  silent.on('error', () => undefined)
  await once(silent, 'connect')
  await Promise.all([once(silent, 'close'), stop(50)])
})
