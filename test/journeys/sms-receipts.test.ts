/** Receipts of a gateway with a templated body, through the whole daemon: retries, a restart, and a workspace that is gone. */
import { createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { buildReceiptUrl } from '../../src/workspaces/sms/receipt-url.js'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { wordsOfJson } from '../helpers/database/test-engine.js'
import { type WebhookReceiver, webhookReceiver } from '../helpers/http/webhook-receiver.js'
import { waitUntil } from '../helpers/wait-until.js'

interface SentBody {
  readonly to: string
  readonly text: string
  readonly ref: string
  readonly report: string
}

const settingsOf = (gateway: WebhookReceiver) => ({
  sms: {
    provider: 'http',
    allowed_countries: ['DE'],
    http: {
      ...{ style: 'template', url: gateway.url, password: 'gateway-token' },
      body_template: '{"to":"{to}","text":"{text}","ref":"{id}","report":"{receipt_url}"}',
    },
  },
})

const bodiesOf = ({ requests }: WebhookReceiver): SentBody[] => requests.map(({ body }) => JSON.parse(body) as SentBody)

async function sendCode(app: TestDaemon, phone: string, key = app.key): Promise<string> {
  const answer = await app.rest('POST', '/v1/sms/verify/send', { key, body: { phone, template: 'code {code}' } })
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json<{ readonly id: string }>().id
}

/** The URL as the gateway calls it, at the daemon behind `public_url`. */
const pathOf = (bodies: readonly SentBody[], id: string): string =>
  new URL(bodies.find(({ ref }) => ref === id)?.report ?? '').pathname

const eventsOf = async (app: TestDaemon, id: string): Promise<string[]> =>
  (
    await app.rows<{ type: string }>(
      `select type from events where ${wordsOfJson('data', 'sms_id')} = ? order by seq`,
      id,
    )
  ).map(({ type }) => type)

const deliveryOf = async (app: TestDaemon, id: string): Promise<unknown> =>
  (await app.rows('select delivery, reason from sms_codes where id = ?', id))[0]

t.test('a gateway that is busy, reports in the query, and outlives the daemon', async (t) => {
  const gateway = await webhookReceiver(t)
  let busy = 2
  gateway.answer((response) => {
    busy -= 1
    response.writeHead(busy >= 0 ? 503 : 200).end('{"message_id":4711}')
  })
  const app = await testDaemon(t, { level: 'debug', settings: settingsOf(gateway) })
  const failed = await sendCode(app, '+4915123456701')
  const bodies = bodiesOf(gateway)
  t.equal(bodies.length, 3, 'two requests were repeated')
  t.equal(new Set(bodies.map((each) => JSON.stringify(each))).size, 1)
  t.equal(gateway.requests[0]?.headers.authorization, 'Bearer gateway-token')
  t.same(await app.rows('select message_id, state from sms_parts'), [{ message_id: '4711', state: 'sent' }])

  const path = pathOf(bodies, failed)
  t.equal((await app.rest('GET', `${path}?status=ACCEPTD`, { key: null })).status, 204)
  t.same(await deliveryOf(app, failed), { delivery: 'sent', reason: null })
  t.equal((await app.rest('GET', `${path}?status=UNDELIV&err=001`, { key: null })).status, 204)
  t.equal((await app.rest('GET', `${path}?status=DELIVRD`, { key: null })).status, 204)
  t.same(await deliveryOf(app, failed), { delivery: 'failed', reason: 'undelivered' })
  t.same(await eventsOf(app, failed), ['sms.sent', 'sms.failed'])
  t.ok(
    app.lines.some((line) => line.includes('UNDELIV, code 001')),
    "the gateway's words are logged",
  )
  const code = bodies[0]?.text.slice('code '.length)
  const checked = await app.rest('POST', '/v1/sms/verify/check', { body: { phone: '+4915123456701', code } })
  t.match(checked.json(), { valid: true, status: 'verified' })

  const late = await sendCode(app, '+4915123456702')
  await app.stop()
  const again = await testDaemon(t, { folder: app.folder, settings: settingsOf(gateway) })
  const report = { key: null, body: { delivery_status: 'delivered' } }
  t.equal((await again.rest('POST', pathOf(bodiesOf(gateway), late), report)).status, 204)
  t.same(await deliveryOf(again, late), { delivery: 'delivered', reason: null })
  t.same(await eventsOf(again, late), ['sms.sent', 'sms.delivered'])
  t.same([...app.errors, ...again.errors], [])
})

t.test('a receipt of a deleted workspace changes nothing, and none touches another', async (t) => {
  const gateway = await webhookReceiver(t)
  const app = await testDaemon(t, { settings: settingsOf(gateway) })
  const own = await sendCode(app, '+4915123456701')
  const gone = await sendCode(app, '+4915123456701', app.otherKey)
  t.equal((await app.rest('DELETE', `/v1/workspaces/${app.otherWorkspaceId}`, { key: app.otherKey })).status, 200)
  await waitUntil('its codes are erased', async () => (await deliveryOf(app, gone)) === undefined)
  const report = { key: null, body: { status: 'failed' } }
  t.equal((await app.rest('POST', pathOf(bodiesOf(gateway), gone), report)).status, 204)
  t.same(await app.rows(`select type from events where type = 'sms.failed'`), [])
  t.same(await deliveryOf(app, own), { delivery: 'sent', reason: null })
  t.same(app.errors, [])
})

t.test('whatever is reported with the right token: 204 or 413, and nothing fails', async (t) => {
  const gateway = await webhookReceiver(t)
  const app = await testDaemon(t, { settings: settingsOf(gateway) })
  const id = await sendCode(app, '+4915123456701')
  const path = pathOf(bodiesOf(gateway), id)
  const part = fc.constantFrom(
    'status',
    '=',
    '&',
    'delivered',
    'sent',
    '{',
    '}',
    '"',
    ':',
    ',',
    '%',
    '%ff',
    '[',
    '\0',
    'x'.repeat(9_000),
  )
  const bodies = fc.oneof(
    fc.array(part, { maxLength: 12 }).map((parts) => Buffer.from(parts.join(''))),
    fc.uint8Array({ maxLength: 300 }).map((octets) => Buffer.from(octets)),
  )
  const types = fc.constantFrom('application/json', 'application/x-www-form-urlencoded', 'text/xml', '')
  const queries = fc.string({ unit: 'binary', maxLength: 40 }).map((text) => encodeURI(Buffer.from(text).toString()))
  await fc.assert(
    fc.asyncProperty(bodies, types, queries, async (body, type, query) => {
      const headers = { 'content-type': type }
      const { status } = await app.rest('POST', `${path}?${query}`, { key: null, headers, body })
      return status === 204 || status === 413
    }),
    { numRuns: 300 },
  )
  const otherSecret = buildReceiptUrl(createSecretKey(Buffer.alloc(32)), '', id)
  t.equal((await app.rest('POST', otherSecret, { key: null, body: { status: 'failed' } })).status, 404)
  t.same(app.errors, [])
})
