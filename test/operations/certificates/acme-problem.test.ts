/** What an error of an ACME server is about. */
import t from 'tap'
import { readRequestProblem, readValidationProblem } from '../../../src/operations/certificates/acme-problem.js'

const now = Date.UTC(2026, 10, 23)
const urn = 'urn:ietf:params:acme:error:'

t.test('requests', async (t) => {
  const rows: readonly (readonly [number, unknown, string, string])[] = [
    [403, { type: `${urn}rejectedIdentifier`, detail: 'no' }, 'name', 'rejectedIdentifier: no'],
    [400, { type: `${urn}accountDoesNotExist`, detail: 'gone' }, 'account', 'accountDoesNotExist: gone'],
    [401, { type: `${urn}unauthorized`, detail: 'deactivated' }, 'account', 'unauthorized: deactivated'],
    [429, { type: `${urn}rateLimited`, detail: 'too many' }, 'rate-limit', 'rateLimited: too many'],
    [500, { type: `${urn}serverInternal`, detail: 'oops' }, 'server', 'serverInternal: oops'],
    [503, '<html>busy</html>', 'server', 'the server answered 503'],
    [404, 'not found', 'server', 'the server answered 404'],
    [400, { type: 7, detail: ['x'] }, 'server', 'the server answered 400'],
  ]
  for (const [status, body, subject, message] of rows) {
    t.match(readRequestProblem(body, { status, retryAfter: undefined, now }), { subject, message })
  }
})

t.test('text of the server is printable and bounded', async (t) => {
  const { message } = readRequestProblem(
    { type: `${urn}caa`, detail: `\u001b[2J${'x'.repeat(10_000)}` },
    { status: 403, retryAfter: undefined, now },
  )
  t.notMatch(message, '\u001b')
  t.ok(message.length < 600)
})

t.test('a failed validation is about the name, whatever its type', async (t) => {
  t.match(readValidationProblem({ type: `${urn}unauthorized`, detail: 'wrong key' }), { subject: 'name' })
  t.match(readValidationProblem(undefined), { subject: 'name', message: 'the server gives no reason' })
})
