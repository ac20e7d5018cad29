/** Which services are served, their documents, and what is said of the paths of others. */
import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'

const names = ['postmark', 'sendgrid', 'ses', 'zeptomail'] as const

interface Document {
  readonly info: { readonly title: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: object }>>>>
}

/** By it, Postmark's `/email` is told apart from that of others. */
const token = { 'x-postmark-server-token': 'wrong' }

t.test('each service has an OpenAPI document of its paths', async (t) => {
  const app = await testDaemon(t)
  for (const name of names) {
    const answer = await app.rest('GET', `/v1/openapi/${name}.json`, { key: null })
    t.equal(answer.status, 200, name)
    const verdict = await new Validator().validate(answer.json<Record<string, never>>())
    t.same(verdict.errors ?? [], [], name)
    const { info, paths } = answer.json<Document>()
    t.match(info.title, /^Posthorn for clients of /)
    t.ok(Object.keys(paths).length > 0)
    for (const [path, operations] of Object.entries(paths))
      for (const [method, { responses }] of Object.entries(operations)) {
        t.ok('default' in responses, `${path} says what an error is`)
        const refused = await app.rest(method.toUpperCase(), path, { key: null, body: {}, headers: token })
        t.not(refused.status, 404, `${method} ${path} exists`)
      }
  }
})

t.test('only those that the configuration names are served', async (t) => {
  const app = await testDaemon(t, { settings: { api: { listen: ['127.0.0.1:0'], compatible: ['ses'] } } })
  const off = await app.rest('POST', '/v3/mail/send', { body: {} })
  t.match([off.status, off.json()], [404, { error: { message: /the interface of sendgrid is off: api\.compatible/ } }])
  t.equal((await app.rest('GET', '/v1/openapi/sendgrid.json', { key: null })).status, 404)
  t.equal((await app.rest('POST', '/v2/email/outbound-emails', { body: {} })).status, 400)
})

t.test('paths of services that are not served name the page to read', async (t) => {
  const app = await testDaemon(t)
  for (const [path, service] of [
    ['/api/1.0/messages/send.json', 'Mandrill'],
    ['/v3/smtp/email', 'Brevo'],
    ['/v1/email', 'MailerSend'],
    ['/v3.1/send', 'Mailjet'],
    ['/api/v1/transmissions', 'SparkPost'],
  ] as const) {
    const answer = await app.rest('POST', path, { body: {} })
    t.equal(answer.status, 404, path)
    const { message } = answer.json<{ message: string }>()
    t.match(message, new RegExp(`the interface of ${service} is not served here: read docs/coming-from\\.md`), path)
  }
})

t.test('a path of a service that does not exist is an error in its form', async (t) => {
  const app = await testDaemon(t)
  const answer = await app.rest('POST', '/v1.1/email/none', { body: {} })
  t.match([answer.status, answer.json()], [404, { error: { details: [{ message: /^no such resource/ }] } }])
  const method = await app.rest('GET', '/v3/mail/send')
  t.match([method.status, method.json(), method.headers['allow']], [405, { errors: [{ field: null }] }, 'POST'])
})

t.test('unknown paths of a service are errors in its form, which name the page to read', async (t) => {
  const app = await testDaemon(t)
  const mailgun = { authorization: `Basic ${Buffer.from(`api:${app.key}`).toString('base64')}` }
  const served = (name: string): RegExp => new RegExp(`docs/coming-from/${name}\\.md has the paths`)
  for (const path of ['/bounces', '/webhooks', '/templates', '/messages/outbound', '/stats/outbound']) {
    const headers = { 'x-postmark-server-token': app.key }
    const answer = await app.rest('GET', path, { key: null, headers })
    t.match([answer.status, answer.json()], [404, { ErrorCode: 300, Message: served('postmark') }], path)
  }
  for (const path of [
    '/v3/templates',
    '/v3/stats?start_date=2030-01-01',
    '/v3/suppression/bounces',
    '/v3/asm/groups',
  ]) {
    const answer = await app.rest('GET', path)
    t.match([answer.status, answer.json()], [404, { errors: [{ message: served('sendgrid'), field: null }] }], path)
  }
  const other = await app.rest('GET', '/v3/a.test/templates', { key: null, headers: mailgun })
  t.match([other.status, other.json()], [404, { message: served('mailgun') }])
  t.equal((await app.rest('GET', '/templates')).status, 200, 'ours without a token of Postmark')
})

t.test('a path of SendGrid is not one of Mailgun if SendGrid is off', async (t) => {
  const app = await testDaemon(t, { settings: { api: { listen: ['127.0.0.1:0'], compatible: ['mailgun'] } } })
  const answer = await app.rest('GET', '/v3/suppression/bounces')
  t.match([answer.status, answer.json()], [404, { error: { message: /the interface of sendgrid is off/ } }])
})
