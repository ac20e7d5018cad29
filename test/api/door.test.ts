/** The REST door as a stranger finds it: paths, keys, ids, errors. */
import t from 'tap'
import { testDaemon } from '../helpers/test-daemon.js'

t.test('an unknown path is told in the one form of errors, under every prefix', async (t) => {
  const app = await testDaemon(t)
  for (const prefix of ['', '/v1', '/api/v1']) {
    const answer = await app.rest('GET', `${prefix}/nothing`)
    t.equal(answer.status, 404, prefix)
    t.match(answer.json(), { error: { code: 'not_found', status: 404, details: { path: '/nothing' } } })
    t.match(answer.headers['x-request-id'], /^[0-9a-f-]{36}$/)
  }
  const answer = await app.rest('GET', '/nothing', { headers: { 'x-request-id': 'mine-1' } })
  t.equal(answer.headers['x-request-id'], 'mine-1')
})
