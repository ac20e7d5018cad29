/** Requests that arrive on one connection at once, by a server of Node.js: their turns, their bodies, and their answers. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { answerInTurn, paceConnections } from '../../../../src/base/platform/http/paced-connection.js'
import { waitUntil } from '../../../helpers/wait-until.js'

interface Counts {
  /** Requests that were parsed, and that were answered. */
  parsed: number
  answered: number
  /** The most that were parsed and not answered, and the most that were under way. */
  mostParsed: number
  mostUnderWay: number
}

/** Answers with the method, the path and the body, after a turn of the event loop. */
async function startEcho(
  t: Test,
): Promise<{ readonly server: Server; readonly port: number; readonly counts: Counts }> {
  const counts: Counts = { parsed: 0, answered: 0, mostParsed: 0, mostUnderWay: 0 }
  let underWay = 0
  const answer = async (request: IncomingMessage): Promise<string> => {
    underWay += 1
    counts.mostUnderWay = Math.max(counts.mostUnderWay, underWay)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    await setImmediate()
    underWay -= 1
    return `${request.method} ${request.url} ${Buffer.concat(chunks).toString('latin1')}`
  }
  const server = createServer(
    answerInTurn((request, response) => {
      response.once('close', () => {
        counts.answered += 1
      })
      void answer(request).then((text) => response.end(text))
    }),
  )
  paceConnections(server, 'connection')
  server.on('request', () => {
    counts.parsed += 1
    counts.mostParsed = Math.max(counts.mostParsed, counts.parsed - counts.answered)
  })
  server.on('clientError', (_error, socket) => socket.destroy())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { server, port, counts }
}

/** Sends the pieces, each in a write of its own, and reads until the server has closed. */
async function exchange(port: number, pieces: readonly (string | Buffer)[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  for (const piece of pieces) {
    socket.write(piece)
    await setImmediate()
  }
  await once(socket, 'close')
  return Buffer.concat(chunks).toString('latin1')
}

/** The bodies of answers whose length is known. */
function bodiesOf(answers: string): readonly string[] {
  return answers
    .split('HTTP/1.1 200 OK\r\n')
    .slice(1)
    .map((answer) => answer.slice(answer.indexOf('\r\n\r\n') + 4))
}

const last = 'GET /last HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n'

t.test('of thousands of requests in one piece one is under way, and few are parsed', async (t) => {
  const { port, counts } = await startEcho(t)
  const many = Array.from({ length: 3_000 }, (_, place) => `GET /${place} HTTP/1.1\r\nHost: a\r\n\r\n`)
  const bodies = bodiesOf(await exchange(port, [many.join('') + last]))
  t.same(bodies, [...many.map((_, place) => `GET /${place} `), 'GET /last '], 'answered in their order')
  t.equal(counts.mostUnderWay, 1)
  t.equal(counts.mostParsed, 1)
})

t.test('requests with bodies, cut anywhere, are the same requests', async (t) => {
  const { port, counts } = await startEcho(t)
  const long = 'x'.repeat(20_000)
  const requests = [
    'POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello',
    'POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n\r\n\r\nGET /x',
    'POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n',
    `POST /d HTTP/1.1\r\nHost: a\r\nX-Long: ${'y'.repeat(6_000)}\r\nContent-Length: ${long.length}\r\n\r\n${long}`,
    'GET /e HTTP/1.1\r\nHost: a\r\n\r\n',
  ]
  const expected = [
    'POST /a hello',
    'POST /b \r\n\r\nGET /x',
    'POST /c abc',
    `POST /d ${long}`,
    'GET /e ',
    'GET /last ',
  ]
  const all = requests.join('') + last
  t.same(bodiesOf(await exchange(port, [all])), expected, 'in one piece')
  for (const size of [7, 100, 1_024, 4_097]) {
    const pieces = Array.from({ length: Math.ceil(all.length / size) }, (_, place) =>
      all.slice(place * size, (place + 1) * size),
    )
    t.same(bodiesOf(await exchange(port, pieces)), expected, `in pieces of ${size}`)
  }
  t.equal(counts.mostUnderWay, 1)
})

t.test('a body in thousands of chunks arrives, and so does the request behind it', async (t) => {
  const { port } = await startEcho(t)
  const head = 'POST /chunks HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
  const answers = await exchange(port, [`${head}${'1\r\nz\r\n'.repeat(30_000)}0\r\n\r\n${last}`])
  t.same(bodiesOf(answers), [`POST /chunks ${'z'.repeat(30_000)}`, 'GET /last '])
})

t.test('a client that closes its side gets its answers, one that is gone ends its requests', async (t) => {
  const { port, counts } = await startEcho(t)
  const socket = connect(port, '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.end('GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(socket, 'close')
  t.same(bodiesOf(Buffer.concat(chunks).toString()), ['GET /1 ', 'GET /2 '])

  const before = counts.parsed
  const gone = connect(port, '127.0.0.1')
  gone.write('GET /3 HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(50))
  await once(gone, 'data')
  gone.resetAndDestroy()
  await waitUntil('its requests ended', () => counts.parsed === counts.answered)
  t.ok(counts.parsed - before < 50, 'the others were not begun')
})
