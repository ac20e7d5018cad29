/** Each wrong request gets its exact answer: status, code and field; never a 5xx, and the daemon goes on. */
import t from 'tap'
import type { ErrorBody } from '../../../src/servers/api/http/error-answer.js'
import type { FieldError } from '../../../src/servers/api/http/input/parse-input.js'
import { wrongRequests } from '../../fixtures/wrong-requests/wrong-requests.js'
import { testDaemon } from '../../helpers/daemon/test-daemon.js'

t.test('every wrong request gets its documented answer', async (t) => {
  const app = await testDaemon(t)
  await app.rest('POST', '/v1/suppressions', { body: { email: 'gone@b.test' } })
  for (const { what, line, request, status, code, field } of wrongRequests) {
    const [method = '', path = ''] = line.split(' ')
    const answer = await app.rest(method, path, request)
    const { error } = answer.json<Partial<ErrorBody>>()
    t.same([answer.status, error?.code, error?.status], [status, code, status], `${line}: ${what}`)
    if (field !== undefined) {
      const errors = (error?.details?.['errors'] ?? []) as readonly FieldError[]
      const fields = errors.map((problem) => problem.field)
      t.ok(fields.includes(field), `${line}: ${what}: names ${field}, found ${fields.join(', ')}`)
    }
  }
  t.same(app.errors, [], 'nothing of it was a fault of ours')
  const right = { from: 'app@a.test', to: 'gone@b.test', cc: 'bob@b.test', subject: 'hello', text: 'a line' }
  t.equal((await app.rest('POST', '/v1/emails', { body: right })).status, 201, 'the listener still answers')
})

t.test('there are at least 80 wrong requests', async (t) => {
  t.ok(wrongRequests.length >= 80, String(wrongRequests.length))
})
