/** Header fields of every answer that tell a browser what it may do. */
import t from 'tap'
import { testDaemon } from '../../../../helpers/daemon/test-daemon.js'
import { request, startTestApi, withKey } from '../../../../helpers/http/test-api.js'

const hsts = 'strict-transport-security'
const bare = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
}

t.test('every answer over TLS has HSTS and may neither load nor be framed, errors included', async (t) => {
  const api = await startTestApi(t)
  const rows: readonly (readonly [status: number, line: string, ...fields: readonly string[]])[] = [
    [200, 'GET /v1/things', withKey],
    [401, 'GET /v1/things'],
    [404, 'GET /v1/nothing'],
    [405, 'PUT /v1/things'],
    [400, 'GET /v1/things?colour=red', withKey],
    [414, `GET /${'a'.repeat(8_200)}`],
    [431, 'GET /v1/things', `X-Large: ${'a'.repeat(17_000)}`],
    [405, 'CONNECT a.test:443'],
    [400, 'no request'],
    [200, 'GET /healthz'],
  ]
  for (const [status, line, ...fields] of rows) {
    const answer = await api.ask(line, ...fields)
    t.equal(answer.status, status, line.slice(0, 40))
    t.match(answer.headers, { ...bare, [hsts]: 'max-age=31536000' }, line.slice(0, 40))
    t.notOk('server' in answer.headers || 'x-powered-by' in answer.headers)
  }
})

t.test('HSTS is sent where the client speaks TLS, to us or to our proxy (RFC 6797 section 7.2)', async (t) => {
  const api = await startTestApi(t, {
    listen: [
      { kind: 'tls', host: '127.0.0.1', port: 0 },
      { kind: 'http', host: '127.0.0.1', port: 0 },
    ],
  })
  const answerOf = async (...fields: readonly string[]) => {
    const client = await api.connect({ port: api.port(1) })
    client.send(request('GET /healthz', ...fields))
    return client.answer()
  }
  t.notOk(hsts in (await answerOf()).headers, 'a proxy that says nothing')
  t.notOk(hsts in (await answerOf('X-Forwarded-Proto: http')).headers)
  t.ok(hsts in (await answerOf('X-Forwarded-Proto: https')).headers)
  const plain = await api.connect({ port: api.port() })
  plain.send(request('GET /v1/things'))
  t.notOk(hsts in (await plain.answer()).headers, 'plain HTTP at the TLS port')
})

t.test('pages keep the policy of their own', async (t) => {
  const app = await testDaemon(t)
  const page = await app.rest('GET', '/ui/docs', { key: null })
  t.match(page.headers, { [hsts]: 'max-age=31536000', 'x-frame-options': 'DENY' })
  t.match(page.headers['content-security-policy'], /^default-src 'none'; style-src /)
})
