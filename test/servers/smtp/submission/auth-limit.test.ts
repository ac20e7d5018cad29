/** The limit of wrong keys from one address. */
import t from 'tap'
import { AuthLimit } from '../../../../src/servers/smtp/submission/auth-limit.js'

t.test('wrong keys', async (t) => {
  const settings = { failures: 3, window: 60, ban: 300, maxClients: 2 }
  const fail = (limit: AuthLimit, client: string, ...times: readonly number[]): readonly boolean[] =>
    times.map((now) => limit.recordFailure(client, now))

  t.test('bring a ban once there are enough within the window, and it ends', async (t) => {
    const limit = new AuthLimit(settings)
    t.same(fail(limit, 'a', 0, 30, 59), [false, false, true])
    t.ok(limit.isBanned('a', 59))
    t.ok(limit.isBanned('a', 358))
    t.notOk(limit.isBanned('a', 359))
    t.notOk(limit.isBanned('b', 59))
    t.same(fail(limit, 'a', 359), [false], 'and counting starts anew')
  })

  t.test('are forgotten once the window has moved on', async (t) => {
    t.same(fail(new AuthLimit(settings), 'a', 0, 30, 60, 89, 90), [false, false, false, true, true])
  })

  t.test('prolong a ban', async (t) => {
    const limit = new AuthLimit(settings)
    fail(limit, 'a', 0, 0, 0, 10)
    t.ok(limit.isBanned('a', 309))
    t.notOk(limit.isBanned('a', 310))
  })

  t.test('are remembered of a bounded number of clients', async (t) => {
    const limit = new AuthLimit(settings)
    for (let client = 0; client < 100; client++) fail(limit, `c${client}`, client)
    t.equal(limit.size, 2)
    t.same(fail(limit, 'c99', 100, 101), [false, true], 'the latest are kept')
  })
})
