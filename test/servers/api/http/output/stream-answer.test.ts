/** Streamed answers: produced as they are read; slow clients, clients that leave, too many clients. */
import t, { type Test } from 'tap'
import type { StreamAnswer } from '../../../../../src/servers/api/http/answer.js'
import { request, startTestApi, type TestApi, testRoute, withKey } from '../../../../helpers/http/test-api.js'
import type { Wire } from '../../../../helpers/http/wire.js'
import { waitUntil } from '../../../../helpers/wait-until.js'

const PIECE = 'x'.repeat(100_000)

interface Making {
  pieces: number
  ended: boolean
}

interface Stream {
  readonly api: TestApi
  /** One for each answer. */
  readonly making: readonly Making[]
}

/** A listener whose one route answers with `count` pieces, and fails before piece `broken`. */
async function startStreamApi(t: Test, { count = 3, broken = -1, patience = 60_000 } = {}): Promise<Stream> {
  const making: Making[] = []
  async function* pieces(one: Making): AsyncGenerator<string> {
    try {
      for (let n = 0; n < count; n += 1) {
        if (n === broken) throw new Error('a page cannot be read')
        one.pieces += 1
        yield PIECE
      }
    } finally {
      one.ended = true
    }
  }
  const run = (): StreamAnswer => {
    const one = { pieces: 0, ended: false }
    making.push(one)
    return { kind: 'stream', type: 'text/csv', headers: { 'X-Extra': '1' }, pieces: pieces(one) }
  }
  const routes = [testRoute({ method: 'GET', path: '/list', run })]
  return { api: await startTestApi(t, { routes, streamPatience: patience }), making }
}

const get = request('GET /v1/list', withKey)

/** A client that reads nothing by itself. */
async function lazy(api: TestApi): Promise<Wire> {
  const wire = await api.connect()
  wire.socket.pause()
  wire.send(get)
  return wire
}

async function everything(api: TestApi): Promise<string> {
  const wire = await api.connect()
  let text = ''
  wire.socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
  })
  wire.send(request('GET /v1/list', withKey, 'Connection: close'))
  await wire.closed
  return text
}

t.test('an answer arrives completely, with the usual header fields', async (t) => {
  const { api, making } = await startStreamApi(t)
  const text = await everything(api)
  t.match(text, /^HTTP\/1\.1 200 OK\r\n/)
  for (const field of [
    'x-request-id: ',
    'x-ratelimit-limit: ',
    'content-type: text/csv\r\n',
    'x-extra: 1\r\n',
    'transfer-encoding: chunked',
  ]) {
    t.ok(text.toLowerCase().includes(field), field)
  }
  t.equal(text.split(PIECE).length, 4)
  t.same(making, [{ pieces: 3, ended: true }])
})

t.test('an unread answer is produced as far as the connection buffers it, then cut off', async (t) => {
  const { api, making } = await startStreamApi(t, { count: 10_000, patience: 200 })
  const wire = await lazy(api)
  await waitUntil('it is given up', () => making[0]?.ended)
  t.ok((making[0]?.pieces ?? 0) < 200, String(making[0]?.pieces))
  wire.socket.resume()
  await wire.closed
})

t.test('a client that leaves ends the answer', async (t) => {
  const { api, making } = await startStreamApi(t, { count: 1_000_000 })
  const wire = await lazy(api)
  await waitUntil('it has begun', () => making[0]?.pieces)
  wire.socket.destroy()
  await waitUntil('it is ended', () => making[0]?.ended)
  t.same(
    api.log.filter(({ level }) => level >= 50),
    [],
  )
})

t.test('an error before the first piece is answered; a later one ends the connection', async (t) => {
  const first = await startStreamApi(t, { broken: 0 })
  const answer = await first.api.ask('GET /v1/list', withKey)
  t.equal(answer.status, 500)
  const later = await startStreamApi(t, { broken: 2 })
  const text = await everything(later.api)
  t.match(text, /^HTTP\/1\.1 200 OK\r\n/)
  t.notOk(text.endsWith('0\r\n\r\n'), 'no client takes it for complete')
  t.match(
    later.api.log.filter(({ level }) => level >= 50),
    [{ msg: 'an answer broke off' }],
  )
})

t.test('concurrent streamed answers are limited, and each slot becomes free again', async (t) => {
  const { api, making } = await startStreamApi(t, { count: 10_000 })
  const readers = [await lazy(api), await lazy(api)]
  await waitUntil('both have begun', () => making.length === 2)
  const third = await api.ask('GET /v1/list', withKey)
  t.match(third, { status: 503, headers: { 'retry-after': '5' } })
  for (const { socket } of readers) socket.destroy()
  await waitUntil('both are over', () => making.slice(0, 2).every(({ ended }) => ended))
  const wire = await lazy(api)
  await waitUntil('another one may begin', () => (making[3]?.pieces ?? 0) > 0)
  wire.socket.destroy()
})

t.test('HEAD returns the header alone', async (t) => {
  const { api, making } = await startStreamApi(t)
  const { status, headers } = await api.ask('HEAD /v1/list', withKey)
  t.match({ status, headers }, { status: 200, headers: { 'content-type': 'text/csv' } })
  await waitUntil('it is ended', () => making[0]?.ended)
})
