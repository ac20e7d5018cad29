/** Answers with files: read as the client reads them, slow clients, clients that leave, files that end too early. */
import { randomBytes } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { FileAnswer } from '../../../../../src/servers/api/http/answer.js'
import {
  request,
  startTestApi,
  type TestApi,
  type TestApiOptions,
  testRoute,
  withKey,
} from '../../../../helpers/http/test-api.js'
import type { Wire } from '../../../../helpers/http/wire.js'
import { waitUntil } from '../../../../helpers/wait-until.js'

interface Reading {
  bytes: number
  closed: boolean
}

interface Files {
  readonly api: TestApi
  /** One for each answer. */
  readonly readings: readonly Reading[]
}

/** A listener whose one route answers with a file of random bytes; `broken`: it is shorter than it says. */
async function startFileApi(t: Test, size: number, options: TestApiOptions = {}, broken = false): Promise<Files> {
  const content = randomBytes(Math.min(size, 1_000_000))
  const readings: Reading[] = []
  const run = (): FileAnswer => {
    const reading = { bytes: 0, closed: false }
    readings.push(reading)
    const read = async (at: number, length: number): Promise<Buffer> => {
      reading.bytes += length
      const from = at % content.length
      return broken && at > 0 ? Buffer.alloc(0) : content.subarray(from, from + length)
    }
    const close = async (): Promise<void> => {
      reading.closed = true
    }
    return { kind: 'file', type: 'text/csv', headers: { 'X-Extra': '1' }, tag: 't', file: { size, read, close } }
  }
  const routes = [testRoute({ method: 'GET', path: '/file', run })]
  return { api: await startTestApi(t, { routes, streamPatience: 60_000, ...options }), readings }
}

/** A client that reads nothing by itself. */
async function lazy(api: TestApi, ...fields: readonly string[]): Promise<Wire> {
  const wire = await api.connect()
  wire.socket.pause()
  wire.send(request('GET /v1/file', withKey, ...fields))
  return wire
}

async function bodyOf(api: TestApi, ...fields: readonly string[]): Promise<Buffer> {
  const wire = await api.connect()
  const pieces: Buffer[] = []
  wire.socket.on('data', (piece: Buffer) => pieces.push(piece))
  wire.send(request('GET /v1/file', withKey, 'Connection: close', ...fields))
  await wire.closed
  const all = Buffer.concat(pieces)
  return all.subarray(all.indexOf('\r\n\r\n') + 4)
}

/** The bytes of a body in chunks. */
function joinChunks(body: Buffer): Buffer {
  const pieces: Buffer[] = []
  for (let at = 0; at < body.length; ) {
    const end = body.indexOf('\r\n', at)
    const length = Number.parseInt(body.toString('latin1', at, end), 16)
    pieces.push(body.subarray(end + 2, end + 2 + length))
    at = end + 2 + length + 2
  }
  return Buffer.concat(pieces)
}

t.test('a file arrives completely, in parts and compressed', async (t) => {
  const { api, readings } = await startFileApi(t, 1_000_000)
  const all = await bodyOf(api)
  t.equal(all.length, 1_000_000)
  const halves = [await bodyOf(api, 'Range: bytes=0-499999'), await bodyOf(api, 'Range: bytes=500000-')]
  t.ok(Buffer.concat(halves).equals(all), 'its parts are the file')
  t.ok(gunzipSync(joinChunks(await bodyOf(api, 'Accept-Encoding: gzip'))).equals(all), 'and so is what was compressed')
  await waitUntil('all are closed', () => readings.length === 4 && readings.every(({ closed }) => closed))
})

t.test('what the client does not read is not read from the file, and in the end it is disconnected', async (t) => {
  for (const fields of [[], ['Accept-Encoding: gzip']]) {
    const { api, readings } = await startFileApi(t, 2 ** 40, { streamPatience: 200 })
    const wire = await lazy(api, ...fields)
    await waitUntil('it is given up', () => readings[0]?.closed)
    t.ok((readings[0]?.bytes ?? 0) < 20_000_000, String(readings[0]?.bytes))
    wire.socket.resume()
    await wire.closed
  }
})

t.test('a client below the least pace is disconnected', async (t) => {
  const { api, readings } = await startFileApi(t, 2 ** 40, { streamPatience: 300, streamPace: 2 ** 50 })
  const wire = await api.connect()
  wire.send(request('GET /v1/file', withKey))
  wire.socket.on('data', () => undefined)
  await wire.closed
  await waitUntil('it is closed', () => readings[0]?.closed)
})

t.test('a client that leaves ends the answer', async (t) => {
  for (const fields of [[], ['Accept-Encoding: gzip']]) {
    const { api, readings } = await startFileApi(t, 2 ** 40)
    const wire = await lazy(api, ...fields)
    await waitUntil('it has begun', () => readings[0]?.bytes)
    wire.socket.destroy()
    await waitUntil('it is closed', () => readings[0]?.closed)
    t.same(
      api.log.filter(({ level }) => level >= 50),
      [],
    )
  }
})

t.test('a file that ends too early breaks the connection', async (t) => {
  for (const fields of [[], ['Accept-Encoding: gzip']]) {
    const { api, readings } = await startFileApi(t, 10_000_000, {}, true)
    const body = await bodyOf(api, ...fields)
    t.ok(body.length < 10_000_000 && !body.toString('latin1').endsWith('0\r\n\r\n'), 'no client takes it for complete')
    await waitUntil('it is closed', () => readings[0]?.closed)
    t.match(
      api.log.filter(({ level }) => level >= 50),
      [{ msg: 'an answer broke off' }],
    )
  }
})

t.test('concurrent files are limited, and a refused one is closed too', async (t) => {
  const { api, readings } = await startFileApi(t, 2 ** 40)
  const readers = [await lazy(api), await lazy(api)]
  await waitUntil('both have begun', () => readings.length === 2)
  t.match(await api.ask('GET /v1/file', withKey), { status: 503, headers: { 'retry-after': '5' } })
  t.ok(readings[2]?.closed)
  for (const { socket } of readers) socket.destroy()
  await waitUntil('both are closed', () => readings.every(({ closed }) => closed))
  t.match(await api.ask('HEAD /v1/file', withKey), { status: 200, headers: { 'content-length': String(2 ** 40) } })
})

t.test('few answers are compressed at once: another one goes out as it is', async (t) => {
  const { api, readings } = await startFileApi(t, 2 ** 40, { streamSlots: 5 })
  const readers = [await lazy(api, 'Accept-Encoding: gzip'), await lazy(api, 'Accept-Encoding: gzip')]
  await waitUntil('both have begun', () => readings.filter(({ bytes }) => bytes > 0).length === 2)
  const ask = async () => (await api.ask('HEAD /v1/file', withKey, 'Accept-Encoding: gzip')).headers
  t.notOk('content-encoding' in (await ask()))
  readers[1]?.socket.destroy()
  await waitUntil('one is over', () => readings.slice(0, 2).some(({ closed }) => closed))
  t.equal((await ask())['content-encoding'], 'gzip')
  readers[0]?.socket.destroy()
  await waitUntil('all are closed', () => readings.every(({ closed }) => closed))
})
