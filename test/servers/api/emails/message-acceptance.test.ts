/** POST /v1/emails with a composed message as its body. */
import t from 'tap'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { openSink } from '../../../helpers/smtp/scripted-sink.js'

const sink = await openSink()
t.teardown(() => sink.close())
const app = await testDaemon(t, { routes: { 'b.test': sink } })
const headers = { 'content-type': 'message/rfc822' }
const message =
  'From: App <app@a.test>\r\nTo: bob@b.test\r\nCc: carol@b.test\r\nSubject: hello\r\nX-Own: kept\r\n\r\na line\r\n'

function post(body: string | Buffer, query = '', more: Readonly<Record<string, string>> = {}) {
  return app.rest('POST', `/v1/emails${query}`, { body, headers: { ...headers, ...more } })
}

t.test('its header names the sender and the recipients', async (t) => {
  const answer = await post(message)
  t.match(
    [answer.status, answer.json()],
    [201, { from: 'app@a.test', to: ['bob@b.test'], recipient_counts: { queued: 2 }, created_at: /Z$/ }],
  )
  const { id } = answer.json<{ id: string }>()
  const { recipients } = await app.waitUntilSettled(id)
  t.same(recipients.map(({ email }) => email).sort(), ['bob@b.test', 'carol@b.test'])
  t.match(sink.messages[0]?.raw.toString(), /\r\nX-Own: kept\r\n.*\r\n\r\na line\r\n/s)
})

t.test('the query names others, several by repeating it', async (t) => {
  const answer = await post(message, '?from=bounce@a.test&to=dan@b.test&to=eve%2Bx@b.test')
  const { recipients } = await app.waitUntilSettled(answer.json<{ id: string }>().id)
  t.same(
    recipients.map(({ email }) => email),
    ['dan@b.test', 'eve+x@b.test'],
  )
})

t.test('line feeds alone end lines too, in a message of many steps', async (t) => {
  const lines = `${'x'.repeat(70)}\n`.repeat(40_000)
  const answer = await post(`From: app@a.test\nTo: long@b.test\nSubject: long\n\n${lines}`)
  await app.waitUntilSettled(answer.json<{ id: string }>().id)
  const found = sink.messages.find(({ rcptTo }) => rcptTo[0]?.startsWith('<long@b.test>'))
  t.ok(found?.raw.toString().endsWith(`\r\n\r\n${lines.replaceAll('\n', '\r\n')}`))
})

t.test('a repeated key gets the first email, and service fields count', async (t) => {
  const tagged = `X-Service-Tag: campaign=spring\r\n${message}`
  const first = await post(tagged, '', { 'idempotency-key': 'once' })
  const again = await post(tagged, '', { 'idempotency-key': 'once' })
  t.equal(first.json<{ id: string }>().id, again.json<{ id: string }>().id)
  t.match((await app.findStory(first.json<{ id: string }>().id)).tags, [{ name: 'campaign', value: 'spring' }])
  t.equal((await post(message, '', { 'idempotency-key': 'once' })).status, 409)
})

t.test('a key that is empty or too long is refused', async (t) => {
  for (const key of ['', 'x'.repeat(257)]) {
    const answer = await post(message, '', { 'idempotency-key': key })
    const error = { message: /^Idempotency-Key: 1 to 256 characters, found / }
    t.match([answer.status, answer.json()], [400, { error }], `${key.length} characters`)
  }
  t.equal((await post(message, '', { 'idempotency-key': 'x'.repeat(256) })).status, 201)
})

t.test('what cannot be sent is refused with the field', async (t) => {
  for (const [body, query, status, field] of [
    ['Subject: none\r\nTo: bob@b.test\r\n\r\n', '', 400, 'from'],
    ['From: app@a.test\r\n\r\n', '', 400, 'to'],
    [message, '?to=nobody', 400, 'to'],
    ['From: app@elsewhere.test\r\nTo: bob@b.test\r\n\r\n', '', 400, 'sender'],
  ] as const) {
    const answer = await post(body, query)
    t.match([answer.status, answer.json()], [status, { error: { details: { errors: [{ field }] } } }])
  }
  const many = Array.from({ length: 101 }, (_, place) => `to=p${place}@b.test`).join('&')
  t.equal((await post(message, `?${many}`)).status, 400)
  t.equal(
    (await app.rest('POST', '/v1/emails', { body: message, headers: { 'content-type': 'text/plain' } })).status,
    415,
  )
})
