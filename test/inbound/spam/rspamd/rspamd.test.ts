/** The HTTP request to rspamd; its faults cost no message. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { buildHeaders } from '../../../../src/inbound/spam/rspamd/rspamd.js'
import { createSelfSigned } from '../../../helpers/certificates.js'
import { createClient, origin, rspamdRequest } from '../../../helpers/spam/rspamd-client.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const fine = JSON.stringify({ score: 3, required_score: 15, action: 'no action', symbols: {} })

type Answering = (request: IncomingMessage, response: ServerResponse) => void

async function server(t: Test, answering: Answering): Promise<string> {
  const listening = createServer(answering).listen(0, '127.0.0.1')
  await once(listening, 'listening')
  t.teardown(() => {
    listening.closeAllConnections()
    listening.close()
  })
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
}

t.test('it gets the bytes and the envelope, and its score comes back', async (t) => {
  const asked: { request: IncomingMessage; body: Buffer }[] = []
  const url = await server(t, (request, response) => {
    void buffer(request).then((body) => {
      asked.push({ request, body })
      response.end(fine)
    })
  })
  const { ask, log } = createClient(`${url}/filters/`)
  t.same(await ask(rspamdRequest), { score: 3, requiredScore: 15, action: 'none', symbols: [] })
  const [{ request, body } = { request: undefined, body: undefined }] = asked
  t.equal(`${request?.method} ${request?.url}`, 'POST /filters/checkv2')
  t.same(body, rspamdRequest.raw)
  t.match(request?.headersDistinct, {
    ip: ['192.0.2.1'],
    helo: ['mx.b.test'],
    hostname: ['mx.b.test'],
    from: ['<bob@b.test>'],
    rcpt: ['info@a.test', 'sales@a.test'],
    'queue-id': ['in-1'],
    'content-length': [String(rspamdRequest.raw.length)],
  })
  t.same(log, [])
})

t.test('a login in the URL goes to the server and into no log', async (t) => {
  const fields: (string | undefined)[] = []
  const url = await server(t, (request, response) => {
    fields.push(request.headers.authorization, request.url)
    response.statusCode = 403
    response.end()
  })
  const { ask, log } = createClient(`${url.replace('//', '//us%40er:pass%2Fword@')}/checkv2`)
  t.equal(await ask(rspamdRequest), null)
  t.same(fields, [`Basic ${Buffer.from('us@er:pass/word').toString('base64')}`, '/checkv2'])
  t.match(log, [{ level: 40, reason: 'answered 403', rspamd: `${url}/checkv2` }])
  t.notMatch(JSON.stringify(log), /pass|us%40er/)
})

t.test('no untrusted text adds header fields', async (t) => {
  const evil = 'x\r\nPass: all\r\n\r\nGET / \0\u0085é🦊'
  const hostile = {
    ...rspamdRequest,
    id: evil,
    origin: { envelopeFrom: evil, clientAddress: evil, helo: evil, reverseName: evil },
    recipients: [evil, ...Array<string>(500).fill('a@a.test')],
  }
  const values = Object.values(buildHeaders(hostile)).flat()
  t.ok(
    values.every((value) => /^[\x20-\x7e\x80-\xff]*$/.test(value)),
    'nothing but what may stand in a line',
  )
  t.equal(buildHeaders(hostile)['Rcpt']?.length, 100)
  const seen: NodeJS.Dict<string[]>[] = []
  const url = await server(t, (request, response) => {
    seen.push(request.headersDistinct)
    response.end(fine)
  })
  t.not(await createClient(url).ask(hostile), null)
  t.equal(seen[0]?.['pass'], undefined)
  t.match(Buffer.from(seen[0]?.['helo']?.[0] ?? '', 'latin1').toString(), /^x Pass: all GET \/\s+é🦊$/)
  t.same(
    Object.keys(buildHeaders({ ...rspamdRequest, origin: { ...origin, helo: '', reverseName: null } })).includes(
      'Helo',
    ),
    false,
  )
})

t.test('after any fault there is no verdict, and the log says why', async (t) => {
  const ways: readonly (readonly [why: RegExp, answering: Answering])[] = [
    [/answered 500/, (_, response) => response.writeHead(500).end('{"error":"x"}')],
    [/answered 302/, (_, response) => response.writeHead(302, { location: '/other' }).end()],
    [/closed before the answer/, (request) => request.socket.destroy()],
    [/not an answer of rspamd/, (_, response) => response.end('<html>')],
    [/not an answer of rspamd/, (_, response) => response.end('[]')],
    [/not an answer of rspamd/, (_, response) => response.end('{"score":"much"}')],
    [/more than 100000 bytes/, (_, response) => response.end(Buffer.alloc(200_000, 0x20))],
    [/is not HTTP/, (request) => request.socket.end('SMTP ready\r\n\r\n')],
    [
      /closed before the answer/,
      (_, response) => response.writeHead(200, { 'content-length': 9 }).write('{') && response.destroy(),
    ],
  ]
  for (const [why, answering] of ways) {
    const { ask, log } = createClient(await server(t, answering))
    t.equal(await ask(rspamdRequest), null, String(why))
    t.match(log, [{ level: 40, reason: why, messages: 1 }])
  }
})

t.test('an absent or silent server is waited for up to the limit', async (t) => {
  const gone = await server(t, () => undefined)
  const silent = createClient(gone, { timeout: 50 })
  t.equal(await silent.ask(rspamdRequest), null)
  t.match(silent.log, [{ reason: 'no answer within 0.05 s' }])
  const dripping = await server(t, (request, response) => {
    response.writeHead(200)
    const drip = setInterval(() => response.write(' '), 5)
    request.socket.on('close', () => clearInterval(drip))
  })
  t.equal(await createClient(dripping, { timeout: 100 }).ask(rspamdRequest), null, 'the limit is for all of it')
  const unreachable = createClient('http://127.0.0.1:1')
  t.equal(await unreachable.ask(rspamdRequest), null)
  t.match(unreachable.log, [{ reason: 'ECONNREFUSED' }])
})

t.test('waiting for a slot is within the limit, and waiting messages are bounded in bytes', async (t) => {
  let open = 0
  const url = await server(t, () => {
    open += 1
  })
  const { ask, log } = createClient(url, { timeout: 1_500, concurrency: 2, memoryBytes: 5 * rspamdRequest.raw.length })
  const verdicts = Promise.all(Array.from({ length: 8 }, () => ask(rspamdRequest)))
  await waitUntil('the first are asked', () => open === 2)
  await pause(100)
  t.equal(open, 2, 'no more than two at a time, and five under way')
  t.same(await verdicts, Array(8).fill(null))
  t.match(log, [{ reason: 'too many messages wait for it', messages: 1 }])
  t.equal(log.length, 1)
})

t.test('while it is down it is left alone, retried after a pause, and logged once a minute', async (t) => {
  let asked = 0
  let well = false
  const url = await server(t, (_, response) => {
    asked += 1
    response.writeHead(well ? 200 : 500).end(fine)
  })
  const { ask, log, clock } = createClient(url)
  for (let count = 0; count < 10; count += 1) t.equal(await ask(rspamdRequest), null)
  t.equal(asked, 3)
  clock.now += 10_000
  t.equal(await ask(rspamdRequest), null, 'one tries, the next does not')
  t.equal(await ask(rspamdRequest), null)
  t.equal(asked, 4)
  t.equal(log.length, 1)
  clock.now += 60_000
  t.equal(await ask(rspamdRequest), null)
  t.match(log.slice(1), [{ reason: 'answered 500', messages: 12 }])
  well = true
  clock.now += 10_000
  t.match(await ask(rspamdRequest), { score: 3 })
  t.match(await ask(rspamdRequest), { score: 3 }, 'well again')
})

t.test('over TLS its certificate must be valid', async (t) => {
  const { cert, key } = await createSelfSigned(['localhost', '127.0.0.1'])
  const listening = createTlsServer({ cert, key }, (_, response) => response.end(fine)).listen(0, '127.0.0.1')
  await once(listening, 'listening')
  t.teardown(() => listening.close())
  const { ask, log } = createClient(`https://127.0.0.1:${(listening.address() as AddressInfo).port}`)
  t.equal(await ask(rspamdRequest), null)
  t.match(log, [{ reason: 'DEPTH_ZERO_SELF_SIGNED_CERT' }])
})
