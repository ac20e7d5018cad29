/** Who may go on at the REST door, and who is told 429. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { keylessSender, type Principal } from '../../src/accounts/principal.js'
import { rateLimit } from '../../src/accounts/rate-limit.js'
import { admission } from '../../src/api/admission.js'
import { apiApp } from '../../src/api/app.js'
import { nothing, route } from '../../src/api/route.js'
import { Refusal } from '../../src/mail/refusal.js'

const principal: Principal = keylessSender('ws_1')

t.test('a workspace and a client without a key are counted apart', async (t) => {
  let now = Date.UTC(2026, 10, 21, 12)
  const door = admission({
    keyRing: {
      admit: (secret) => {
        if (secret !== 'good') throw new Refusal('bad-credentials', 'wrong')
        return principal
      },
    },
    requests: rateLimit({ limitsOf: (key) => (key === 'ws_1' ? { requests_per_minute: 2 } : {}) }),
    clients: rateLimit({ limitsOf: (key) => (key === '127.0.0.1' ? { requests_per_minute: 3 } : {}) }),
    remoteAddress: (ctx) => ctx.req.socket.remoteAddress ?? '',
    clock: () => now,
  })
  const remaining: number[] = []
  const routes = [
    route({
      method: 'GET',
      path: '/thing',
      area: 'send',
      tag: 'Things',
      summary: 'A thing',
      answers: { 204: { description: 'there' } },
      refusals: [],
      run: () => nothing,
    }),
  ]
  const app = apiApp(routes, {
    admit: (ctx) => {
      try {
        return door.admit(ctx)
      } finally {
        remaining.push(door.rate(ctx).remaining)
      }
    },
    remoteAddress: () => '',
    document: '{}',
    clock: () => now,
    log: { error: () => t.fail('nothing is our fault') },
  })
  const server = createServer(app.callback()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const ask = (key: string | null): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}/v1/thing`, { headers: key === null ? {} : { authorization: `Bearer ${key}` } })
  const statuses = async (...keys: readonly (string | null)[]): Promise<number[]> => {
    const found: number[] = []
    for (const key of keys) found.push((await ask(key)).status)
    return found
  }

  t.same(await statuses('bad', null, 'worse', 'bad', null), [401, 401, 401, 429, 429])
  t.same(await statuses('good', 'good', 'good'), [204, 204, 429], 'a valid key does not suffer for its neighbours')
  t.same(remaining, [2, 1, 0, 0, 0, 1, 0, 0])
  const answer = (await (await ask('good')).json()) as { error: Record<string, unknown> }
  t.match(answer.error, {
    code: 'rate_limit_exceeded',
    retry_after: 61,
    details: { retry_after: 61, limit: 2, remaining: 0 },
  })
  now += 61_000
  t.same(await statuses('bad', 'good'), [401, 204])
})
