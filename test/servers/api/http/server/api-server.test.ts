/**
 * The REST listener as clients see it: order of checks, keys, rates, bodies, errors, readiness and shutdown.
 *
 * Runs alone: it sets a flag of V8 and measures the heap.
 */
import { once } from 'node:events'
import { readdirSync, rmSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { z } from 'zod'
import { Refusal } from '../../../../../src/base/mail/refusal.js'
import { MemoryBudget } from '../../../../../src/base/platform/memory/budget.js'
import type { MemoryHolder } from '../../../../../src/base/platform/memory/holders.js'
import { StorageFault, WriteConflict } from '../../../../../src/base/storage/db/write.js'
import { type Answer, json } from '../../../../../src/servers/api/http/answer.js'
import { openRoute } from '../../../../../src/servers/api/http/route/route.js'
import { messageText, testDaemon } from '../../../../helpers/daemon/test-daemon.js'
import { temporaryFolder } from '../../../../helpers/database/database.js'
import {
  findFaults,
  post,
  request,
  startTestApi,
  testRoute,
  testRoutes,
  withKey,
} from '../../../../helpers/http/test-api.js'
import type { WireAnswer } from '../../../../helpers/http/wire.js'
import { openSink } from '../../../../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../../../../helpers/wait-until.js'

interface ErrorBody {
  readonly code: string
  readonly message: string
  readonly status: number
  readonly details?: Readonly<Record<string, unknown>>
  readonly retry_after?: number
}

function errorOf({ body }: WireAnswer): ErrorBody {
  return (JSON.parse(body) as { readonly error: ErrorBody }).error
}

const authorization = (value: string): string => `Authorization: ${value}`

t.test('the daemon answers under every prefix, with one form of errors and the limits in the header', async (t) => {
  const app = await testDaemon(t)
  for (const prefix of ['', '/v1', '/api/v1']) {
    const answer = await app.rest('GET', `${prefix}/nothing`)
    t.equal(answer.status, 404, prefix)
    t.match(answer.json(), { error: { code: 'not_found', status: 404, details: { path: '/nothing' } } })
    t.match(answer.headers, { 'x-request-id': /^[0-9a-f-]{36}$/, 'x-ratelimit-limit': '1000' })
  }
  for (const path of ['/healthz', '/readyz']) {
    const healthy = await app.rest('GET', path, { key: null })
    t.same([healthy.status, healthy.json()], [200, { status: 'ok' }])
  }
  t.equal((await app.rest('GET', '/v1/nothing', { key: null })).headers['x-ratelimit-limit'], '100')
})

t.test('an unknown path names the path that was probably meant', async (t) => {
  const api = await startTestApi(t)
  const rows = [
    ['/v1/thing', 'no such resource: /thing; did you mean "/v1/things"?'],
    ['/v1/Things', 'no such resource: /Things; did you mean "/v1/things"?'],
    ['/v1/nothing-like-it', 'no such resource: /nothing-like-it'],
  ] as const
  for (const [path, message] of rows) {
    t.match(JSON.parse((await api.ask(`GET ${path}`, withKey)).body), { error: { code: 'not_found', message } }, path)
  }
})

t.test('the route is checked first, then the key, then the request', async (t) => {
  const api = await startTestApi(t)
  const rows: readonly (readonly [status: number, line: string, ...fields: readonly string[]])[] = [
    [404, 'GET /v1/nothing'],
    [404, 'GET /v1/v1/things', withKey],
    [404, 'GET /v1/things//1', withKey],
    [401, 'GET //things'],
    [404, 'GET /v1/Things', withKey],
    [404, 'POST /v1/things/1/POKE', withKey],
    [404, 'GET /v1', withKey],
    [404, 'GET /', withKey],
    [404, 'OPTIONS *', withKey],
    [405, 'PUT /v1/things'],
    [405, 'DELETE /v1/things', withKey],
    [405, 'OPTIONS /v1/things', withKey, 'Origin: https://evil.test', 'Access-Control-Request-Method: GET'],
    [405, 'TRACE /v1/things', withKey],
    [405, 'POST /healthz'],
    [401, 'GET /v1/things?colour=red'],
    [401, 'POST /v1/things', 'Content-Type: text/plain', 'Content-Length: 0'],
    [403, 'POST /v1/things', authorization('Bearer ph_reader'), 'Content-Type: text/plain', 'Content-Length: 0'],
    [400, 'GET /v1/things?colour=red', withKey],
    [200, 'GET /v1/things/?', withKey],
    [200, 'GET //things', withKey],
    [200, 'GET //v1//things', withKey],
    [200, 'GET https://localhost/v1/things', withKey],
    [200, 'HEAD /v1/things', withKey],
    [200, 'GET /v1/things/%zz%00', withKey],
    [200, 'GET /v1/things', withKey, 'Expect: the-impossible'],
    [200, 'GET /v1/things', withKey, 'Connection: Upgrade', 'Upgrade: h2c'],
  ]
  for (const [status, line, ...fields] of rows) {
    const answer = await api.ask(line, ...fields)
    t.equal(answer.status, status, `${line} ${fields.join(' ')}`)
    t.match(
      answer.headers,
      {
        'x-request-id': /^[0-9a-f-]{36}$/,
        'x-ratelimit-limit': '1000',
        'x-ratelimit-remaining': /^\d+$/,
        'x-ratelimit-reset': /^\d{10}$/,
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'content-type': 'application/json; charset=utf-8',
      },
      line,
    )
    t.notOk(Object.keys(answer.headers).some((name) => name.startsWith('access-control')))
    if (status >= 400) t.equal(errorOf(answer).status, status)
  }
  t.equal((await api.ask('PUT /v1/things')).headers['allow'], 'GET, HEAD, POST')
  t.equal((await api.ask('PUT /v1/things/1/poke')).headers['allow'], 'POST')
  t.same(findFaults(api.log), [], 'nothing of it is worth a line in the log')
})

t.test('a well-formed request id is kept, any other is replaced', async (t) => {
  const api = await startTestApi(t)
  const idOf = async (given: string) =>
    (await api.ask('GET /healthz', `X-Request-Id: ${given}`)).headers['x-request-id']
  t.equal(await idOf('mine-1_2.3:4'), 'mine-1_2.3:4')
  for (const odd of ['', 'a b', 'x'.repeat(129), '<script>', 'ü']) t.match(await idOf(odd), /^[0-9a-f-]{36}$/, odd)
})

t.test('a key is read from the Authorization field only', async (t) => {
  const api = await startTestApi(t)
  const code = async (line: string, ...fields: readonly string[]) => errorOf(await api.ask(line, ...fields)).code
  for (const line of ['GET /v1/things?key=ph_own', 'GET /v1/things?access_token=ph_own']) {
    t.equal(await code(line), 'missing_api_key', line)
  }
  t.equal(await code('GET /v1/things', 'X-Api-Key: ph_own'), 'missing_api_key')
  t.equal(await code('GET /v1/things', 'Authorization:'), 'missing_api_key')
  const wrong = [
    'Bearer',
    'Bearer ',
    'Basic cGg6b3du',
    'ph_own',
    'Bearer ph_own, Bearer x',
    `Bearer ${'x'.repeat(201)}`,
  ]
  for (const value of [...wrong, 'Bearer ph_other', 'Bearer ph_ own']) {
    t.equal(await code('GET /v1/things', authorization(value)), 'invalid_api_key', value)
  }
  for (const value of ['bearer ph_own', 'Bearer  ph_own ']) {
    t.equal((await api.ask('GET /v1/things', authorization(value))).status, 200, value)
  }
})

t.test('a page of another origin cannot use a key, valid or not', async (t) => {
  const api = await startTestApi(t)
  const status = async (host: string, ...fields: readonly string[]) => {
    const client = await api.connect()
    client.send(['GET /v1/things HTTP/1.1', `Host: ${host}`, ...fields, '', ''].join('\r\n'))
    return (await client.answer()).status
  }
  t.equal(await status('api.test', withKey, 'Origin: https://api.test'), 200)
  t.equal(await status('API.test:443', withKey, 'Origin: https://api.test'), 200)
  t.equal(await status('api.test:8443', withKey, 'Origin: https://api.test:8443'), 200)
  const foreign = [
    'null',
    'https://evil.test',
    'http://api.test',
    'https://api.test:8443',
    'https://api.test@evil.test',
  ]
  for (const origin of [...foreign, 'api.test', 'https://api.test.evil.test', 'https://', '']) {
    t.equal(await status('api.test', withKey, `Origin: ${origin}`), 403, origin)
  }
  t.equal(await status('api.test', authorization('Bearer ph_other'), 'Origin: https://evil.test'), 403)
  t.equal(await status('api.test', 'Origin: https://evil.test'), 401, 'without a key nothing is at stake')
})

t.test('a rate-limited client is informed when to retry, in three places', async (t) => {
  const api = await startTestApi(t, { requests: 2, unauthenticatedRequests: 2 })
  const mine = () => api.ask('GET /v1/things', withKey)
  t.equal((await mine()).headers['x-ratelimit-remaining'], '1')
  t.equal((await mine()).headers['x-ratelimit-remaining'], '0')
  const refused = await mine()
  t.equal(refused.status, 429)
  const wait = Number(refused.headers['retry-after'])
  t.ok(wait >= 1 && wait <= 61, String(wait))
  t.match(errorOf(refused), {
    code: 'rate_limit_exceeded',
    retry_after: wait,
    details: { retry_after: wait, limit: 2, remaining: 0, reset_at: /^20.*Z$/ },
  })
  t.equal((await api.ask('GET /v1/nothing', withKey)).status, 429, 'before the path is looked for')
  t.equal((await api.ask('GET /healthz', withKey)).status, 200, 'health has a limit of its own')

  t.equal((await api.ask('GET /v1/things')).status, 401, 'requests without a key are counted apart')
  t.equal((await api.ask('GET /v1/things', authorization('Bearer wrong'))).status, 401)
  t.equal((await api.ask('GET /v1/things', authorization('Bearer wrong'))).status, 429)
  t.equal((await api.ask('GET /v1/things')).status, 429)
  t.equal((await api.ask('GET /v1/openapi.json')).status, 429)
  for (const line of ['GET /v1/nothing', 'PUT /v1/things', 'OPTIONS *', 'GET /.well-known/mta-sts.txt'])
    t.equal((await api.ask(line)).status, 429, line)
})

t.test('what is open to all counts for its client in a limit of its own', async (t) => {
  const pixel = openRoute({
    method: 'GET',
    area: 'tracking',
    path: '/pixels/:id',
    tag: 'test',
    summary: 'test',
    query: z.strictObject({}),
    answers: {},
    refusals: [],
    run: () => json(200, {}),
  })
  const api = await startTestApi(t, { routes: [pixel], openRequests: 4, unauthenticatedRequests: 1 })
  t.equal((await api.ask('GET /v1/nothing')).status, 404)
  const lines = ['GET /healthz', 'GET /readyz', 'GET /pixels/1']
  for (const line of lines) t.equal((await api.ask(line)).status, 200, line)
  t.equal((await api.ask('GET /pixels/1/2')).status, 404, 'an unknown path of the kind counts too')
  for (const line of lines) {
    const refused = await api.ask(line)
    t.equal(refused.status, 429, line)
    t.equal(refused.headers['x-ratelimit-limit'], '4')
  }
})

t.test('a request names one host', async (t) => {
  const api = await startTestApi(t)
  const ask = async (...fields: readonly string[]): Promise<number> => {
    const client = await api.connect()
    client.send(['GET /healthz HTTP/1.1', ...fields, '', ''].join('\r\n'))
    return (await client.answer()).status
  }
  for (const host of [
    'localhost',
    'a.test:443',
    'A_b-c.test.',
    '127.0.0.1:1',
    '[::1]:8443',
    '[fe80::1]',
    '',
    'xn--p.test:',
  ])
    t.equal(await ask(`Host: ${host}`), 200, host)
  const odd = ['a b', 'a/x', 'user@a.test', 'a.test:x', 'a.test:123456', '::1', '[::1', 'a?b', 'a'.repeat(300)]
  for (const host of odd) t.equal(await ask(`Host: ${host}`), 400, host)
  t.equal(await ask('Host: a.test', 'Host: a.test'), 400, 'twice')
  t.equal(await ask('Host: a.test', 'X-Other: 1', 'hOST: b.test'), 400, 'twice, apart')
  t.equal(await ask('X-Other: 1'), 400, 'none')
})

t.test('a signed-link route needs no key, counts its clients, and accepts its own query only', async (t) => {
  const link = openRoute({
    method: 'GET',
    path: '/links/:id',
    area: 'link',
    tag: 'test',
    summary: 'test',
    query: z.strictObject({ word: z.string() }),
    answers: {},
    refusals: [],
    run: ({ params, query }) => json(200, { ...params, ...query }),
  })
  const api = await startTestApi(t, { routes: [link], requests: 2, unauthenticatedRequests: 3 })
  const follow = (...fields: readonly string[]): Promise<WireAnswer> => api.ask('GET /v1/links/7?word=x', ...fields)
  const first = await follow()
  t.same([first.status, JSON.parse(first.body)], [200, { id: '7', word: 'x' }])
  t.equal((await follow(authorization('Bearer wrong'))).status, 200, 'a wrong key opens and closes nothing')
  t.equal((await api.ask('GET /v1/links/7')).status, 400)
  t.equal((await follow()).status, 429)
  t.equal((await follow(withKey)).headers['x-ratelimit-remaining'], '1', 'a key counts for its workspace')
  t.equal((await follow(withKey)).status, 200)
  t.equal((await follow(withKey)).status, 429)
  t.equal((await api.ask('POST /v1/links/7')).status, 429)
})

t.test('only known query parameters are accepted, each once', async (t) => {
  const api = await startTestApi(t)
  const fields = async (path: string) => {
    const answer = await api.ask(`GET ${path}`, withKey)
    t.equal(answer.status, 400, path)
    t.equal(errorOf(answer).code, 'validation_error')
    const errors = (errorOf(answer).details?.['errors'] ?? []) as readonly { readonly field: string }[]
    return errors.map(({ field }) => field)
  }
  t.same(await fields('/v1/things/search?word=a&word=b'), ['word'])
  t.same(await fields('/v1/things/search?word=a&colour=red'), ['colour'])
  t.same(await fields('/v1/things?limit=1'), ['limit'], 'a route without parameters takes none')
  t.same(await fields('/v1/things/search?word[]=a'), ['word[]'])
  t.same(await fields('/v1/things/search?__proto__=a'), ['__proto__'])
  t.equal((await api.ask('GET /v1/things/search?word=%zz', withKey)).body, '{"word":"%zz"}')
  t.equal((await api.ask('GET /v1/things/search?word=a%20b+c', withKey)).body, '{"word":"a b c"}')
})

t.test('a body must be complete JSON of a bounded size', async (t) => {
  const api = await startTestApi(t)
  const say = async (text: string) => {
    const client = await api.connect()
    client.send(text)
    return client.answer()
  }
  const body = '{"text":"hello"}'
  t.equal((await say(post('/v1/things', body))).body, '{"length":5}')
  const chunked = request(
    'POST /v1/things',
    withKey,
    'Content-Type: application/json; charset="UTF-8"',
    'Transfer-Encoding: chunked',
  )
  t.equal((await say(`${chunked}4\r\n{"te\r\nc\r\nxt":"hello"}\r\n0\r\n\r\n`)).body, '{"length":5}')
  const missing = await say(request('POST /v1/things', withKey, 'Content-Length: 0'))
  t.match(errorOf(missing), { code: 'missing_required_field', details: { errors: [{ field: '', value: null }] } })
  t.equal(
    errorOf(await say(request('POST /v1/things', withKey, 'Content-Type: application/json'))).code,
    'invalid_json',
  )
  for (const type of [
    'text/plain',
    'application/json; charset=latin1',
    'application/jsonp',
    'multipart/form-data',
    '',
  ]) {
    const answer = await say(`${request('POST /v1/things', withKey, `Content-Type: ${type}`, 'Content-Length: 2')}{}`)
    t.equal(answer.status, 415, type)
  }
  t.equal((await say(post('/v1/things', body, 'Content-Encoding: gzip'))).status, 415)
})

t.test('a body that was not read is never taken for the next request', async (t) => {
  const api = await startTestApi(t)
  const client = await api.connect()
  const next = request('GET /v1/things', withKey)
  const withBody = (line: string, ...fields: readonly string[]) =>
    `${request(line, 'Content-Type: text/plain', `Content-Length: ${next.length}`, ...fields)}${next}`
  const lines = [
    [200, 'GET /v1/things', withKey],
    [200, 'POST /v1/things/1/poke', withKey],
    [404, 'POST /v1/nothing'],
    [401, 'POST /v1/things'],
    [415, 'POST /v1/things', withKey],
    [405, 'PATCH /v1/things', withKey],
  ] as const
  client.send(lines.map(([, line, ...fields]) => withBody(line, ...fields)).join('') + request('GET /v1/nothing'))
  for (const [status, line] of lines) t.equal((await client.answer()).status, status, line)
  t.equal((await client.answer()).status, 404, 'the connection is still in step')
})

t.test('a body that is too large is answered at once, and its connection ends', async (t) => {
  const api = await startTestApi(t)
  const declared = await api.connect()
  declared.send(
    request('POST /v1/things', withKey, 'Content-Type: application/json', `Content-Length: ${23 * 1_048_576 + 1}`),
  )
  const early = await declared.answer()
  t.match(errorOf(early), { code: 'payload_too_large', status: 413 })
  t.equal(early.headers['connection'], 'close')
  declared.socket.end()
  await declared.closed

  const chunked = await api.connect()
  chunked.send(request('POST /v1/things', withKey, 'Content-Type: application/json', 'Transfer-Encoding: chunked'))
  const megabyte = Buffer.alloc(1_048_576, 0x20)
  for (let sent = 0; sent < 24; sent += 1) {
    chunked.send(`${megabyte.length.toString(16)}\r\n`)
    chunked.send(megabyte)
    chunked.send('\r\n')
  }
  t.equal((await chunked.answer()).status, 413, 'though it never ends')
  chunked.socket.end()
  await chunked.closed

  const unauthenticated = await api.connect()
  unauthenticated.send(
    request('POST /v1/things', 'Content-Type: application/json', `Content-Length: ${22 * 1_048_576}`),
  )
  const refused = await unauthenticated.answer()
  t.equal(refused.status, 401, 'a client without a key cannot make us read 22 MB')
  t.equal(refused.headers['connection'], 'close')
  await unauthenticated.closed
})

t.test('a client that keeps sending an unread body is disconnected', async (t) => {
  const api = await startTestApi(t)
  const client = await api.connect()
  client.send(request('POST /v1/things', 'Content-Type: application/json', 'Transfer-Encoding: chunked'))
  t.equal((await client.answer()).status, 401)
  const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`
  let more = true
  void client.closed.then(() => {
    more = false
  })
  while (more) {
    if (!client.socket.write(chunk)) await Promise.race([client.closed, once(client.socket, 'drain')])
  }
  t.pass('the connection is closed')
})

t.test('100 Continue is sent when the body is wanted', async (t) => {
  const api = await startTestApi(t)
  const body = '{"text":"hello"}'
  const expecting = post('/v1/things', '', 'Expect: 100-continue').replace(
    'Content-Length: 0',
    `Content-Length: ${body.length}`,
  )
  const client = await api.connect()
  client.send(expecting)
  t.equal((await client.answer()).status, 100)
  client.send(body)
  t.equal((await client.answer()).status, 201)
  for (const [what, wrong] of [
    ['too long', expecting.replace(`Content-Length: ${body.length}`, 'Content-Length: 99000000')],
    ['HTTP/1.0', `${expecting.replace('HTTP/1.1', 'HTTP/1.0')}${body}`],
    ['another expectation', `${expecting.replace('100-continue', 'the-impossible')}${body}`],
  ] as const) {
    const unasked = await api.connect()
    unasked.send(wrong)
    t.not((await unasked.answer()).status, 100, what)
  }
  const other = await api.connect()
  other.send(expecting.replace('ph_own', 'ph_other'))
  const refused = await other.answer()
  t.equal(refused.status, 401)
  t.equal(refused.headers['connection'], 'close')
})

t.test('a key that is revoked during the body does nothing', async (t) => {
  let revoked = false
  let acted = 0
  const run = () => {
    acted += 1
    return json(201, {})
  }
  const memory = new MemoryBudget(2_000)
  const api = await startTestApi(t, {
    memory,
    routes: [testRoute({ method: 'POST', path: '/things', body: z.strictObject({ text: z.string() }), run })],
    keyCheck: () => {
      if (revoked) throw new Refusal('bad-credentials', 'the key is wrong or revoked')
    },
  })
  const client = await api.connect()
  const whole = post('/v1/things', '{"text":"hello"}')
  client.send(whole.slice(0, -1))
  await waitUntil('it was let in', () => memory.usedBytes() > 0)
  revoked = true
  client.send(whole.slice(-1))
  t.match(errorOf(await client.answer()), { code: 'invalid_api_key', status: 401 })
  t.same([acted, memory.usedBytes()], [0, 0])
})

t.test('a slow body gives its memory back when others need it, and is answered 503', async (t) => {
  const holders: MemoryHolder[] = []
  class WatchedBudget extends MemoryBudget {
    override addHolder(holder: MemoryHolder): () => void {
      holders.push(holder)
      return super.addHolder(holder)
    }
  }
  const whole = new WatchedBudget(2_000)
  const api = await startTestApi(t, { memory: whole })
  const holding = await api.connect()
  const body = `{"text":"${'x'.repeat(1_500)}"}`
  holding.send(post('/v1/things', body).slice(0, -1))
  await waitUntil('the body is in memory', () => whole.usedBytes() === body.length - 1)
  t.match(holders, [{ held: body.length - 1, rate: null }])
  holders[0]?.evict()
  t.match(errorOf(await holding.answer()), { code: 'service_unavailable', status: 503 })
  t.equal(whole.usedBytes(), 0)
})

t.test('bodies in memory share one budget, and every byte is released', async (t) => {
  const memory = new MemoryBudget(2_000)
  const api = await startTestApi(t, { memory })
  const holding = await api.connect()
  const body = `{"text":"${'x'.repeat(1_500)}"}`
  holding.send(post('/v1/things', body).slice(0, -1))
  await waitUntil('the body is in memory', () => memory.usedBytes() === body.length - 1)
  const other = await api.connect()
  other.send(post('/v1/things', body))
  const refused = await other.answer()
  t.match(errorOf(refused), { code: 'service_unavailable', status: 503 })
  t.equal(refused.headers['retry-after'], '1')
  holding.send('}')
  t.equal((await holding.answer()).status, 201)
  t.equal(memory.usedBytes(), 0)
  other.send(post('/v1/things', body))
  t.equal((await other.answer()).status, 201, 'the same connection goes on')
  for (const wrong of [body.replace('"text"', '"texx"'), body.replace('}', '{')]) {
    other.send(post('/v1/things', wrong))
    t.equal((await other.answer()).status, 400)
    t.equal(memory.usedBytes(), 0)
  }
  const larger = post('/v1/things', `{"text":"${'x'.repeat(3_000)}"}`)
  other.send(larger.slice(0, -1))
  t.equal((await other.answer()).status, 503, 'before its body is there')
  other.send(`${larger.slice(-1)}${post('/v1/things', body)}`)
  t.equal((await other.answer()).status, 201, 'what is left of it is thrown away')
  const leaving = await api.connect()
  leaving.send(post('/v1/things', body).slice(0, -1))
  await waitUntil('the body is in memory', () => memory.usedBytes() > 0)
  leaving.socket.destroy()
  await waitUntil('it is given back', () => memory.usedBytes() === 0)
  t.same(findFaults(api.log), [], 'a client that leaves is no news')
})

t.test('a large body waits for memory before it is read, and is read when there is room', async (t) => {
  const memory = new MemoryBudget(1_000_000)
  const api = await startTestApi(t, { memory })
  const body = `{"text":"${'x'.repeat(600_000)}"}`
  const holding = await api.connect()
  holding.send(post('/v1/things', body).slice(0, -1))
  await waitUntil('it has its memory', () => memory.usedBytes() === body.length)
  const asking = await api.connect()
  asking.send(post('/v1/things', body, 'Expect: 100-continue').slice(0, -body.length))
  const sending = await api.connect()
  await waitUntil('it waits', () => memory.countWaiting() === 1)
  sending.send(post('/v1/things', body))
  await waitUntil('both wait', () => memory.countWaiting() === 2)
  t.equal(
    (await api.ask('POST /v1/things', withKey, 'Content-Type: application/json', 'Content-Length: 0')).status,
    400,
  )
  const short = await api.connect()
  short.send(post('/v1/things', `{"text":"${'x'.repeat(200_000)}"}`))
  t.equal((await short.answer()).status, 201, 'a short body waits behind no long one')
  holding.send('}')
  t.equal((await holding.answer()).status, 201)
  const goOn = await asking.answer('head')
  t.equal(goOn.status, 100, 'not before its turn')
  asking.send(body)
  t.equal((await asking.answer()).status, 201)
  t.equal((await sending.answer()).status, 201)
  t.same([memory.usedBytes(), memory.countWaiting()], [0, 0])
})

t.test(
  'a large body that gets no memory in time is answered 503, and a client that leaves frees its turn',
  async (t) => {
    const memory = new MemoryBudget(1_000_000)
    const api = await startTestApi(t, { memory, pace: { memoryWait: 300 } })
    const body = `{"text":"${'x'.repeat(600_000)}"}`
    const head = post('/v1/things', body, 'Expect: 100-continue').slice(0, -body.length)
    const holding = await api.connect()
    holding.send(post('/v1/things', body).slice(0, -1))
    await waitUntil('it has its memory', () => memory.usedBytes() === body.length)
    const leaving = await api.connect()
    leaving.send(head)
    await waitUntil('it waits', () => memory.countWaiting() === 1)
    leaving.socket.destroy()
    await waitUntil('its place is free', () => memory.countWaiting() === 0)
    const late = await api.connect()
    late.send(head)
    const refused = await late.answer()
    t.match(errorOf(refused), { code: 'service_unavailable', status: 503 })
    t.equal(refused.headers['retry-after'], '1')
    holding.send('}')
    t.equal((await holding.answer()).status, 201)
    const breaking = await api.connect()
    breaking.send(post('/v1/things', body).slice(0, -1))
    await waitUntil('it has its memory', () => memory.usedBytes() === body.length)
    breaking.socket.destroy()
    await waitUntil('what it did not use is back too', () => memory.usedBytes() === 0)
    t.equal(memory.countWaiting(), 0)
    t.same(findFaults(api.log), [])
  },
)

t.test('one workspace has a share of the memory for bodies, and others have room beside it', async (t) => {
  const memory = new MemoryBudget(2_000)
  const api = await startTestApi(t, { memory, share: 1_000 })
  const body = `{"text":"${'x'.repeat(900)}"}`
  const holding = await api.connect()
  holding.send(post('/v1/things', body).slice(0, -1))
  await waitUntil('the body is in memory', () => memory.usedBytes() === body.length - 1)
  const own = await api.connect()
  own.send(post('/v1/things', body))
  t.equal((await own.answer()).status, 503)
  const other = await api.connect()
  other.send(post('/v1/things', body).replace('ph_own', 'ph_other_workspace'))
  t.equal((await other.answer()).status, 201)
  holding.send('}')
  t.equal((await holding.answer()).status, 201)
  own.send(post('/v1/things', body))
  t.equal((await own.answer()).status, 201, 'it was given back')
  t.equal(memory.usedBytes(), 0)
})

t.test('a body that arrives too slowly is answered and holds no memory', async (t) => {
  const memory = new MemoryBudget(100_000)
  const api = await startTestApi(t, { memory, pace: { patience: 50, bytesPerSecond: 1e9 } })
  const client = await api.connect()
  client.send(post('/v1/things', '{"text":"hello"}').slice(0, -1))
  t.match(errorOf(await client.answer()), { code: 'validation_error', status: 408 })
  t.equal(memory.usedBytes(), 0)
})

t.test('large answers that are not read have one budget and a time limit', async (t) => {
  const answers = new MemoryBudget(40_000_000)
  const bytes = Buffer.alloc(30_000_000)
  const large = testRoute({ method: 'GET', path: '/large', run: () => ({ kind: 'bytes', type: 'text/plain', bytes }) })
  const api = await startTestApi(t, { answers, routes: [...testRoutes, large] })
  const slow = await api.connect()
  slow.socket.pause()
  slow.send(request('GET /large', withKey) + request('GET /v1/things', withKey))
  await waitUntil('it is on its way', () => answers.usedBytes() === bytes.length)
  const refused = await api.ask('GET /large', withKey)
  t.match(errorOf(refused), { code: 'service_unavailable', status: 503 })
  t.equal(refused.headers['retry-after'], '1')
  t.equal((await api.ask('GET /v1/things', withKey)).status, 200, 'a small one needs no room')
  slow.socket.destroy()
  await waitUntil('it is given back', () => answers.usedBytes() === 0)
  t.equal((await api.ask('GET /large', withKey)).status, 200)
  await waitUntil('it is given back', () => answers.usedBytes() === 0)

  const hasty = await startTestApi(t, { answers, routes: [large], answerLimit: 50 })
  const never = await hasty.connect()
  never.socket.pause()
  never.send(request('GET /large', withKey))
  await waitUntil('it was begun', () => answers.usedBytes() > 0)
  await waitUntil('it was given up', () => answers.usedBytes() === 0 && hasty.connections.size === 0)
})

t.test('a slow reader of a large answer holds no memory, blocks no other client, and gets every byte', async (t) => {
  const answers = new MemoryBudget(40_000_000)
  const unread = new MemoryBudget(120_000_000)
  const made: WeakRef<Buffer>[] = []
  const bytesOf = (n: number): Buffer => Buffer.alloc(30_000_000, `answer ${n} `)
  const run = (): Answer => {
    const bytes = bytesOf(made.length)
    made.push(new WeakRef(bytes))
    return { kind: 'bytes', type: 'text/plain', bytes }
  }
  const spoolFolder = temporaryFolder(t)
  const routes = [testRoute({ method: 'GET', path: '/large', run })]
  const api = await startTestApi(t, { answers, unread, spoolFolder, answerMoment: 20, routes })
  const slow = []
  for (let n = 0; n < 3; n += 1) {
    const wire = await api.connect()
    wire.socket.pause()
    wire.send(request('GET /large', withKey, 'Connection: close'))
    await waitUntil('it waits in a file', () => made.length === n + 1 && answers.usedBytes() === 0)
    slow.push(wire)
  }
  t.equal(unread.usedBytes(), 90_000_000)
  t.same(readdirSync(spoolFolder), [], 'which has no name')
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  await waitUntil('nothing holds the bytes', () => {
    gc()
    return made.every((one) => one.deref() === undefined)
  })
  const quick = await api.connect()
  quick.socket.removeAllListeners('data')
  quick.socket.resume()
  quick.send(request('GET /large', withKey, 'Connection: close'))
  await quick.closed
  t.equal(made.length, 4, 'a fourth one reads')
  await waitUntil('it is over', () => unread.usedBytes() === 90_000_000)
  const fourth = await api.connect()
  fourth.socket.pause()
  fourth.send(request('GET /large', withKey))
  await waitUntil('it waits too', () => unread.usedBytes() === 120_000_000)
  t.equal((await api.ask('GET /large', withKey)).status, 503, 'the files are bounded as well')
  fourth.socket.destroy()
  for (const [n, wire] of slow.entries()) {
    const chunks: Buffer[] = []
    wire.socket.removeAllListeners('data')
    wire.socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    wire.socket.resume()
    await wire.closed
    const text = Buffer.concat(chunks)
    t.ok(text.subarray(text.indexOf('\r\n\r\n') + 4).equals(bytesOf(n)), `answer ${n}`)
  }
  await waitUntil('all is given back', () => unread.usedBytes() === 0 && answers.usedBytes() === 0)

  rmSync(spoolFolder, { recursive: true })
  const left = await api.connect()
  left.socket.pause()
  left.send(request('GET /large', withKey, 'Connection: close'))
  await waitUntil('it was begun', () => answers.usedBytes() > 0)
  const body = new Promise<number>((resolve) => {
    let size = 0
    left.socket.removeAllListeners('data')
    left.socket.on('data', (chunk: Buffer) => {
      size += chunk.length
    })
    void left.closed.then(() => resolve(size))
  })
  left.socket.resume()
  t.ok((await body) > 30_000_000, 'without a file it comes from memory')
  t.equal(answers.usedBytes(), 0)
})

t.test('an internal error is hidden from the client and logged completely', async (t) => {
  const failing = (path: string, error: unknown) =>
    testRoute({
      method: 'GET',
      path,
      run: () => {
        throw error
      },
    })
  const circle: { self?: unknown } = {}
  circle.self = circle
  const api = await startTestApi(t, {
    routes: [
      failing('/bug', new TypeError('secret detail')),
      failing('/missed', new WriteConflict('select secret')),
      failing('/thrown-text', 'secret'),
      failing('/fault', new StorageFault('SQLITE_FULL', 'secret disk')),
      failing('/stored', new Refusal('storage-full', 'too many messages')),
      testRoute({ method: 'GET', path: '/circle', run: () => json(200, circle) }),
    ],
  })
  for (const path of ['/bug', '/missed', '/thrown-text', '/circle']) {
    const answer = await api.ask(`GET ${path}`, withKey, 'X-Request-Id: bug-1')
    t.same(
      [answer.status, errorOf(answer)],
      [500, { code: 'internal_server_error', message: 'internal error', status: 500 }],
    )
    t.equal(answer.headers['x-request-id'], 'bug-1')
  }
  const fault = await api.ask('GET /fault', withKey)
  t.equal(fault.status, 503)
  t.notMatch(fault.body, /secret/)
  t.match(fault.headers['retry-after'], /^\d+$/)
  t.equal((await api.ask('GET /stored', withKey)).headers['retry-after'], '5')
  const errors = api.log.filter(({ level }) => level >= 50)
  t.equal(errors.length, 5)
  t.match(errors[0], { requestId: 'bug-1', err: { message: 'secret detail', stack: /api-server\.test/ } })
})

t.test('each request has one log line at a level that fits it, without its key', async (t) => {
  const api = await startTestApi(t)
  await api.ask('POST /v1/things', withKey, 'X-Request-Id: traced')
  const line = await waitUntil('the line', () => api.log.find(({ msg }) => msg === 'request'))
  t.match(line, { level: 30, method: 'POST', route: '/things', status: 400, requestId: 'traced', workspace: 'ws_own' })
  t.ok(Number(line['ms']) >= 0)
  t.notMatch(JSON.stringify(api.log), /ph_own/)
})

t.test('the log line of a request counts the bytes of its answer, streamed ones too', async (t) => {
  const sizes = [70, 200_000]
  const routes = sizes.map((size) =>
    testRoute({
      method: 'GET',
      path: `/of-${size}`,
      run: () => ({ kind: 'bytes', type: 'x/y', bytes: Buffer.alloc(size) }),
    }),
  )
  const api = await startTestApi(t, { routes })
  for (const size of sizes) {
    t.equal((await api.ask(`GET /of-${size}`, withKey)).status, 200)
    const line = await waitUntil('the line', () =>
      api.log.find(({ msg, route }) => msg === 'request' && route === `/of-${size}`),
    )
    t.equal(line['bytes'], size)
  }
})

t.test('readiness says whether new work is accepted, and frequent checks cost little', async (t) => {
  let room = true
  let probes = 0
  let works = true
  let now = 1_000_000
  const api = await startTestApi(t, {
    serving: false,
    hasRoom: () => room,
    probe: () => {
      probes += 1
      return works ? Promise.resolve() : Promise.reject(new StorageFault('SQLITE_READONLY', 'no'))
    },
    clock: () => now,
  })
  const states = async () => [(await api.ask('GET /healthz')).status, (await api.ask('GET /v1/readyz', withKey)).status]
  t.same(await states(), [503, 503], 'starting')
  t.match(errorOf(await api.ask('GET /v1/things', withKey)), { code: 'service_unavailable', message: /starting/ })
  api.serve()
  t.same(await states(), [200, 200])
  t.same(await states(), [200, 200])
  t.equal(probes, 1)
  room = false
  t.same(await states(), [503, 503], 'no room on the disk')
  room = true
  works = false
  t.same(await states(), [200, 200], 'as it was a moment ago')
  now += 1_000
  t.same(await states(), [503, 503], 'nothing can be written')
  t.equal(probes, 2)
  works = true
  now += 1_000
  const answer = await api.ask('GET /healthz')
  t.same([answer.status, answer.body], [200, '{"status":"ok"}'])
  t.equal(answer.headers['x-ratelimit-remaining'], '1000')
})

t.test(
  'a stopping daemon says so to probes while another listener receives a message and until the last attempt ends',
  async (t) => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<string>()
    const sink = await openSink({ script: { rcpt: () => answered } })
    t.teardown(() => sink.close())
    const stopTimeouts = { listeners: 10_000, delivery: 20_000 }
    const app = await testDaemon(t, { stopTimeouts, routes: { 'b.test': sink } })
    t.equal((await app.rest('GET', '/readyz')).status, 200)
    await app.submitAccepted({ to: ['held@b.test'], raw: messageText({}) })
    await waitUntil(
      'an attempt is under way',
      async () => (await app.rows('select 1 from queue where leased = 1')).length === 1,
    )
    const session = await app.openSession()
    for (const line of ['MAIL FROM:<app@a.test>', 'RCPT TO:<bob@b.test>', 'DATA']) await session.sendCommand(line)
    const stopping = app.stop()
    for (const path of ['/readyz', '/healthz', '/v1/emails']) t.equal((await app.rest('GET', path)).status, 503, path)
    t.match(await session.sendCommand(`${messageText({})}.`), /^250/)
    await session.waitForClose()
    t.equal((await app.rest('GET', '/readyz')).status, 503, 'an attempt is under way')
    answer('250 2.1.5 ok')
    await stopping
    await t.rejects(app.rest('GET', '/readyz'))
  },
)

t.test('on shutdown, running requests are answered, new ones refused, and the rest ended', async (t) => {
  let finish = (): void => undefined
  let running = 0
  const held = new Promise<void>((resolve) => {
    finish = resolve
  })
  const run = () => {
    running += 1
    return held.then(() => json(200, { done: true }))
  }
  const api = await startTestApi(t, { routes: [...testRoutes, testRoute({ method: 'GET', path: '/slow', run })] })
  const [busy, kept, fresh] = [await api.connect(), await api.connect(), await api.connect()]
  kept.send(request('GET /v1/things', withKey))
  t.equal((await kept.answer()).headers['connection'], 'keep-alive')
  busy.send(request('GET /slow', withKey))
  await waitUntil('it is under way', () => running === 1)
  const drained = api.listener.drain(20_000)
  const probe = await api.ask('GET /readyz')
  t.same([probe.status, probe.headers['connection']], [503, 'close'], 'probes are still answered')
  kept.send(request('GET /v1/things', withKey))
  const late = await kept.answer()
  t.same([late.status, late.headers['connection'], errorOf(late).code], [503, 'close', 'service_unavailable'])
  finish()
  const last = await busy.answer()
  t.same([last.status, last.headers['connection']], [200, 'close'], 'what was under way is answered')
  await Promise.all([drained, busy.closed, kept.closed])
  t.equal((await api.ask('GET /readyz')).status, 503, 'until it is closed')
  await Promise.all([api.listener.close(), fresh.closed])
  await t.rejects(api.connect(), 'no new connection is accepted')
})

t.test('shutdown does not wait beyond its limit', async (t) => {
  let running = 0
  const run = () => {
    running += 1
    return new Promise<never>(() => undefined)
  }
  const api = await startTestApi(t, { routes: [testRoute({ method: 'GET', path: '/hung', run })] })
  const client = await api.connect()
  client.send(request('GET /hung', withKey))
  await waitUntil('it is under way', () => running === 1)
  await Promise.all([api.listener.drain(10), client.closed])
  await waitUntil('it is counted out', () => api.connections.size === 0)
})
