/** Events that reach endpoints: signed, retried, once each if the endpoint works. */
import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { type TestDaemon, type TestDaemonOptions, testDaemon } from '../helpers/daemon/test-daemon.js'
import { type ReceivedRequest, type WebhookReceiver, webhookReceiver } from '../helpers/http/webhook-receiver.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const MINUTE = 60_000

interface Subscription {
  readonly id: string
  readonly signing_secret: string
}

const open = { webhooks: { allowed_private_networks: ['127.0.0.0/8'] } }

async function start(t: Test, options: TestDaemonOptions = {}): Promise<TestDaemon> {
  const sink = await openSink()
  t.teardown(() => sink.close())
  return testDaemon(t, { routes: { 'b.test': sink }, settings: open, ...options })
}

async function subscribe(
  app: TestDaemon,
  { url }: Pick<WebhookReceiver, 'url'>,
  events = ['email.delivered'],
  key = app.key,
): Promise<Subscription> {
  const answer = await app.rest('POST', '/v1/webhooks', { body: { url, events }, key })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.json<never>()
}

interface DeliveryRow {
  readonly status: string
  readonly attempts: number
  readonly next_attempt_at: number | null
  readonly response_status: number | null
  readonly response_body: string | null
  readonly error: string | null
}

async function deliveriesOf(app: TestDaemon, { id }: Pick<Subscription, 'id'>): Promise<readonly DeliveryRow[]> {
  return app.rows<DeliveryRow>('select * from webhook_deliveries where webhook_id = ? order by event_seq', id)
}

function waitForDeliveries(app: TestDaemon, hook: Subscription, status: string, count = 1): Promise<unknown> {
  return waitUntil(`${count} ${status}`, async () => {
    return (await deliveriesOf(app, hook)).filter((each) => each.status === status).length === count
  })
}

t.test('each event arrives once, signed in both ways, over kept connections', async (t) => {
  const app = await start(t)
  const receiver = await webhookReceiver(t)
  const hook = await subscribe(app, receiver, ['email.queued', 'email.delivered'])
  const ids = [await app.submitAccepted(), await app.submitAccepted(), await app.submitAccepted()]
  await waitUntil('six requests', () => receiver.requests.length === 6)
  await waitForDeliveries(app, hook, 'delivered', 6)
  const logged = await app.rows<{ id: string; type: string; data: string }>(
    "select * from events where type in ('email.queued', 'email.delivered') order by seq",
  )
  t.same(new Set(receiver.events().map(({ id }) => id)), new Set(logged.map(({ id }) => id)))
  t.same(new Set(receiver.events().map(({ data }) => data['email_id'])), new Set(ids))
  const library = new Webhook(hook.signing_secret)
  for (const request of receiver.requests) {
    const { headers, body } = request
    const event = JSON.parse(body) as Readonly<Record<string, unknown>>
    t.same(Object.keys(event), ['id', 'type', 'created_at', 'data'])
    t.same(event['data'], JSON.parse(logged.find(({ id }) => id === event['id'])?.data ?? ''))
    t.equal(headers['x-service-signature'], `sha256=${hexOf(hook.signing_secret, body)}`)
    t.same(library.verify(body, webhookHeaders(request)), event)
    t.equal(headers['webhook-id'], event['id'])
    t.match(headers, { 'content-type': 'application/json', 'user-agent': /^Posthorn\/\d/ })
    t.match(headers, { 'x-service-delivery': /^[0-9a-f-]{36}$/, 'x-service-attempt': '1' })
  }
  const ports = new Set(receiver.requests.map(({ clientPort }) => clientPort))
  await app.submitAccepted()
  await waitForDeliveries(app, hook, 'delivered', 8)
  t.ok(ports.has(receiver.requests.at(-1)?.clientPort ?? 0), 'a connection is used again')
  t.same(app.errors, [])
})

function hexOf(secret: string, body: string): string {
  return createHmac('sha256', secret).update(body).digest('hex')
}

function webhookHeaders({ headers }: ReceivedRequest): Record<string, string> {
  const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature']
  return Object.fromEntries(names.map((name) => [name, String(headers[name])]))
}

t.test('after a rotation both secrets verify for a day, and the new one alone signs X-Service-Signature', async (t) => {
  const app = await start(t)
  const receiver = await webhookReceiver(t)
  const hook = await subscribe(app, receiver)
  const rotated = await app.rest('POST', `/v1/webhooks/${hook.id}/rotate-secret`)
  const { signing_secret: next } = rotated.json<never>() as Subscription
  await app.submitAccepted()
  await waitUntil('a request', () => receiver.requests.length === 1)
  const [first] = receiver.requests
  if (first === undefined) throw new Error('no request')
  for (const secret of [hook.signing_secret, next]) {
    t.doesNotThrow(() => new Webhook(secret).verify(first.body, webhookHeaders(first)))
  }
  t.equal(first.headers['x-service-signature'], `sha256=${hexOf(next, first.body)}`)
  app.advance(24 * 60 * MINUTE + 1)
  await app.submitAccepted()
  await waitUntil('another request', () => receiver.requests.length === 2)
  t.notMatch(receiver.requests[1]?.headers['webhook-signature'], / /, 'one signature')
  t.equal(
    receiver.requests[1]?.headers['x-service-signature'],
    `sha256=${hexOf(next, receiver.requests[1]?.body ?? '')}`,
  )
})

t.test('a failure is retried after 1, 5, 30, 120 and 480 minutes, then no more', async (t) => {
  const app = await start(t)
  const receiver = await webhookReceiver(t)
  receiver.answer((response) => response.writeHead(500).end('broken'))
  const hook = await subscribe(app, receiver)
  await app.submitAccepted()
  for (const [at, minutes] of [1, 5, 30, 120, 480].entries()) {
    await waitUntil(`attempt ${at + 1}`, async () => (await deliveriesOf(app, hook))[0]?.attempts === at + 1)
    t.match(await deliveriesOf(app, hook), [{ status: 'pending', response_status: 500, response_body: 'broken' }])
    const wait = ((await deliveriesOf(app, hook))[0]?.next_attempt_at ?? 0) - app.now()
    t.ok(wait <= minutes * MINUTE && wait > (minutes - 1) * MINUTE, `${minutes} minutes`)
    app.advance(minutes * MINUTE)
  }
  await waitForDeliveries(app, hook, 'failed')
  t.match(await deliveriesOf(app, hook), [{ attempts: 6, next_attempt_at: null, error: 'answered 500' }])
  t.equal(receiver.requests.length, 6)
  t.same(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size, 1)
  const stamps = receiver.requests.map(({ headers }) => Number(headers['webhook-timestamp']))
  t.ok(
    stamps.every((stamp, at) => at === 0 || stamp > (stamps[at - 1] ?? 0)),
    'each attempt has its own time',
  )
})

t.test('an endpoint that is down for an hour gets every event, and none twice without a retry', async (t) => {
  const app = await start(t, { level: 'info' })
  const receiver = await webhookReceiver(t)
  const hook = await subscribe(app, receiver, ['email.queued', 'email.delivered'])
  await app.submitAccepted()
  await waitForDeliveries(app, hook, 'delivered', 2)
  await receiver.close()
  for (let count = 0; count < 5; count += 1) await app.submitAccepted()
  await waitUntil('a failure', async () => (await deliveriesOf(app, hook)).some(({ status }) => status === 'pending'))
  app.advance(30 * MINUTE)
  await waitUntil('a second failure', async () =>
    (await deliveriesOf(app, hook)).some(({ attempts }) => attempts === 2),
  )
  await receiver.open()
  app.advance(30 * MINUTE)
  await waitUntil(
    'a success',
    async () => (await deliveriesOf(app, hook)).filter(({ status }) => status === 'delivered').length > 2,
  )
  // For an attempt that failed at that very moment.
  app.advance(6 * MINUTE)
  await waitForDeliveries(app, hook, 'delivered', 12)
  t.same(new Set(receiver.events().map(({ id }) => id)).size, 12)
  t.equal(receiver.requests.length, 12, 'the endpoint answered each request that reached it')
  const said = app.lines.map((line) => (JSON.parse(line) as { msg: string }).msg).filter((msg) => /webhook/.test(msg))
  t.same(said, ['a webhook fails', 'a webhook answers again'], 'one line each')
  t.notMatch(app.lines.filter((line) => /webhook/.test(line)).join(), /\/hook"/, 'hosts alone')
})

t.test('what was not delivered before a stop is delivered after the start', async (t) => {
  const app = await start(t)
  const receiver = await webhookReceiver(t)
  await receiver.close()
  const hook = await subscribe(app, receiver, ['email.queued', 'email.delivered'])
  for (let count = 0; count < 4; count += 1) await app.submitAccepted()
  await waitUntil('a failure', async () => (await deliveriesOf(app, hook)).length > 0)
  await waitUntil(
    'events',
    async () => (await app.rows("select 1 from events where type = 'email.delivered'")).length === 4,
  )
  await app.stop()
  await receiver.open()
  const again = await testDaemon(t, { folder: app.folder, settings: open, ahead: 2 * MINUTE })
  await waitForDeliveries(again, hook, 'delivered', 8)
  t.same(new Set(receiver.events().map(({ id }) => id)).size, 8)
  t.equal(receiver.requests.length, 8)
})

t.test('an attempt that a stop cuts off is made again, others are not', async (t) => {
  const app = await start(t)
  const receiver = await webhookReceiver(t)
  let held = ''
  receiver.answer((response, { headers }) => {
    if (held === '') held = String(headers['webhook-id'])
    if (held !== headers['webhook-id']) response.end()
  })
  const hook = await subscribe(app, receiver, ['email.queued', 'email.delivered'])
  for (let count = 0; count < 3; count += 1) await app.submitAccepted()
  await waitForDeliveries(app, hook, 'delivered', 5)
  t.equal(
    (await app.rows<{ c: number }>('select max(seq) as c from webhook_cursors'))[0]?.c ?? -1,
    await cursorBefore(app, held),
  )
  await app.stop()
  receiver.answer((response) => response.end())
  const again = await testDaemon(t, { folder: app.folder, settings: open })
  await waitForDeliveries(again, hook, 'delivered', 6)
  const ids = receiver.events().map(({ id }) => id)
  t.equal(ids.length, 7)
  t.equal(ids.filter((id) => id === held).length, 2)
})

async function cursorBefore(app: TestDaemon, eventId: string): Promise<number> {
  return ((await app.rows<{ seq: number }>('select seq from events where id = ?', eventId))[0]?.seq ?? 0) - 1
}

t.test('what is no answer of 2xx is a failure, and the record says why', async (t) => {
  const app = await start(t, { settings: { webhooks: { ...open.webhooks, timeout: '1s' } } })
  const receiver = await webhookReceiver(t)
  const other = await webhookReceiver(t)
  const ways: readonly (readonly [why: RegExp, respond: Parameters<WebhookReceiver['answer']>[0]])[] = [
    [/answered 302; redirects/, (response) => response.writeHead(302, { location: other.url }).end()],
    [/answered 404/, (response) => response.writeHead(404).end()],
    [/closed before the answer/, (response) => response.socket?.destroy()],
    [/is not HTTP/, (response) => response.socket?.end('220 smtp ready\r\n\r\n')],
    [/no answer within/, () => undefined],
    [/no answer within/, (response) => drip(response)],
  ]
  for (const [why, respond] of ways) {
    receiver.answer(respond)
    const hook = await subscribe(app, receiver)
    await app.submitAccepted()
    await waitForDeliveries(app, hook, 'pending')
    t.match(await deliveriesOf(app, hook), [{ error: why, attempts: 1 }])
    await app.rest('DELETE', `/v1/webhooks/${hook.id}`)
  }
  t.equal(other.requests.length, 0, 'no redirect is followed')
})

/** One byte now and then, without an end. */
function drip(response: Parameters<Parameters<WebhookReceiver['answer']>[0]>[0]): void {
  response.writeHead(200)
  const timer = setInterval(() => response.write('.'), 20)
  response.on('close', () => clearInterval(timer))
}

t.test('4 KB of an answer are kept, and an endless one ends the connection', async (t) => {
  const app = await start(t)
  const receiver = await webhookReceiver(t)
  const hook = await subscribe(app, receiver)
  const sizes: number[] = []
  for (const bytes of [4096, 4098, 50_000_000]) {
    receiver.answer((response) => {
      let sent = 0
      response.on('close', () => sizes.push(sent))
      const sendMore = (): void => {
        while (sent < bytes && !response.destroyed) {
          const size = Math.min(65_536, bytes - sent)
          sent += size
          if (!response.write('é'.repeat(size / 2))) return void response.once('drain', sendMore)
        }
        response.end()
      }
      sendMore()
    })
    await app.submitAccepted()
    await waitForDeliveries(app, hook, 'delivered', (await deliveriesOf(app, hook)).length + 1)
  }
  t.same(
    (await deliveriesOf(app, hook)).map(({ response_body: body }) => body?.length),
    [2048, 2048, 2048],
  )
  await waitUntil('the connection is closed', () => sizes.length >= 3)
  t.ok(Math.max(...sizes) < 40_000_000, 'the endless answer was cut off')
})

t.test('one dead endpoint and a slow one delay no other', async (t) => {
  const app = await start(t)
  const [dead, slow] = [await webhookReceiver(t), await webhookReceiver(t)]
  await dead.close()
  slow.answer(() => undefined)
  const receivers = [await webhookReceiver(t), await webhookReceiver(t), await webhookReceiver(t)]
  await subscribe(app, dead)
  await subscribe(app, slow)
  const hooks: Subscription[] = []
  for (const receiver of receivers) hooks.push(await subscribe(app, receiver))
  for (let count = 0; count < 20; count += 1) await app.submitAccepted()
  for (const hook of hooks) await waitForDeliveries(app, hook, 'delivered', 20)
  t.ok(slow.requests.length <= 8, 'and has no more than its slots')
})

t.test('an address that may not be dialled is not dialled, whatever DNS says later', async (t) => {
  const receiver = await webhookReceiver(t)
  const zone = { 'rebinding.test': { addresses: ['127.0.0.1'] }, 'inside.test': { addresses: ['10.0.0.1', '::1'] } }
  const app = await start(t, { zone, settings: { webhooks: { allowed_private_networks: ['127.0.0.0/8'] } } })
  const named = { url: `http://rebinding.test:${receiver.port}/` }
  const hook = await subscribe(app, named)
  await app.submitAccepted()
  await waitForDeliveries(app, hook, 'delivered')
  t.equal(receiver.requests[0]?.headers.host, `rebinding.test:${receiver.port}`)
  const refused = await app.rest('POST', '/v1/webhooks', {
    body: { url: 'http://inside.test/', events: ['email.sent'] },
  })
  t.equal(refused.status, 400)
  await app.stop()
  const strict = await testDaemon(t, { folder: app.folder, zone, settings: { webhooks: {} } })
  await strict.submitAccepted({ to: ['bob@b.test'] })
  await strict.rest('POST', `/v1/webhooks/${hook.id}/test`)
  const failed = await waitUntil('a failure', async () =>
    (await deliveriesOf(strict, hook)).find(({ error }) => error !== null),
  )
  t.match(failed, { status: 'pending', attempts: 1, error: 'the host has no address that may be dialled' })
  t.equal(receiver.requests.length, 1)
})
