/**
 * Webhooks as their users see them: requests over REST, what is refused and why, notices to people, and the receivers
 * of docs/webhooks.md, which run as they stand there.
 */
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { simpleParser } from 'mailparser'
import t, { type Test } from 'tap'
import { type TestDaemon, type TestDaemonOptions, testDaemon } from '../helpers/daemon/test-daemon.js'
import { temporaryFolder } from '../helpers/database/database.js'
import { freePort } from '../helpers/free-port.js'
import type { RestAnswer } from '../helpers/http/rest-client.js'
import { type WebhookReceiver, webhookReceiver } from '../helpers/http/webhook-receiver.js'
import { type ChildServer, childServer } from '../helpers/programs/child-server.js'
import { plainNode } from '../helpers/programs/plain-node.js'
import { python, skipWithoutModule } from '../helpers/programs/run-program.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const onLoopback = { webhooks: { allowed_private_networks: ['127.0.0.0/8'] } }

interface Created {
  readonly id: string
  readonly signing_secret: string
}

interface Delivery {
  readonly id: string
  readonly event_id: string
  readonly status: string
  readonly attempts: number
  readonly response_status: number | null
  readonly error: string | null
}

const HOUR = 3_600_000

async function createHook(app: TestDaemon, url: string, events: readonly string[]): Promise<Created> {
  const answer = await app.rest('POST', '/v1/webhooks', { body: { url, events } })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.json<Created>()
}

async function deliveriesOf(app: TestDaemon, id: string): Promise<readonly Delivery[]> {
  return (await app.rest('GET', `/v1/webhooks/${id}/deliveries`)).json<{ data: readonly Delivery[] }>().data
}

/** A test event; resolves to its delivery after the first attempt. */
async function testHook(app: TestDaemon, id: string): Promise<Delivery> {
  const { delivery_id: deliveryId } = (await app.rest('POST', `/v1/webhooks/${id}/test`)).json<{
    delivery_id: string
  }>()
  return waitUntil('it is attempted', async () =>
    (await deliveriesOf(app, id)).find((one) => one.id === deliveryId && one.attempts > 0),
  )
}

/** What was wrong with the field. */
function errorsOf(answer: RestAnswer): unknown {
  return answer.json<{ error: { details?: { errors?: unknown } } }>().error.details?.errors
}

/** The n-th example of a language on the page, from 0. */
function exampleOf(language: string, position = 0): string {
  const page = readFileSync('docs/webhooks.md', 'utf8')
  const blocks = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].filter(([, name]) => name === language)
  return blocks[position]?.[2] ?? ''
}

interface Receiver {
  readonly file: string
  readonly text: string
  readonly command: (file: string, port: number) => readonly string[]
  readonly skip: false | string
  /** Accepts the secret before the last one, for a day. */
  readonly acceptsPrevious: boolean
}

const receivers: Readonly<Record<string, Receiver>> = {
  'Node.js': {
    file: 'receiver.mjs',
    text: exampleOf('js'),
    command: (file) => ['env', ...plainNode(file)],
    skip: false,
    acceptsPrevious: false,
  },
  'Node.js with standardwebhooks': {
    file: 'receiver.mjs',
    text: exampleOf('js', 1),
    command: (file) => ['env', ...plainNode(file)],
    skip: false,
    acceptsPrevious: true,
  },
  Python: {
    file: 'receiver.py',
    text: exampleOf('python'),
    command: (file) => [python, file],
    skip: skipWithoutModule([python, '-c', ''], 'python3'),
    acceptsPrevious: false,
  },
  PHP: {
    file: 'receiver.php',
    text: exampleOf('php'),
    command: (file, port) => ['php', '-S', `127.0.0.1:${port}`, file],
    skip: skipWithout('php'),
    acceptsPrevious: false,
  },
}

async function startReceiver(t: Test, receiver: Receiver, port: number, secret: string): Promise<ChildServer> {
  const folder = temporaryFolder(t)
  const file = join(folder, receiver.file)
  writeFileSync(file, receiver.text)
  symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'))
  const command = ['env', `WEBHOOK_SECRET=${secret}`, `PORT=${port}`, ...receiver.command(file, port)]
  const child = await childServer(t, ['sh', '-c', 'echo started; exec "$@"', 'sh', ...command], 'started')
  await waitUntil('it listens', () =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    ),
  )
  return child
}

for (const [name, receiver] of Object.entries(receivers)) {
  t.test(`the receiver of the documentation in ${name}`, { skip: receiver.skip }, async (t) => {
    const app = await testDaemon(t, { settings: onLoopback })
    const port = await freePort()
    const { id, signing_secret: secret } = await createHook(app, `http://127.0.0.1:${port}/`, ['email.sent'])
    const child = await startReceiver(t, receiver, port, secret)
    const delivery = await testHook(app, id)
    t.match(delivery, { status: 'delivered', response_status: 204, error: null })
    t.match(await child.waitForLine(delivery.event_id), 'webhook.test')

    const rotated = await app.rest('POST', `/v1/webhooks/${id}/rotate-secret`)
    t.not(rotated.json<Created>().signing_secret, secret)
    const expected = receiver.acceptsPrevious
      ? { status: 'delivered', response_status: 204 }
      : { status: 'pending', response_status: 401, error: 'answered 401' }
    t.match(await testHook(app, id), expected, 'it knows the secret before the last one')
    app.advance(25 * HOUR)
    t.match(await testHook(app, id), { status: 'pending', response_status: 401 }, 'and a day later it is refused')
    t.same(app.errors, [])
  })
}

t.test('a change is in the audit log, without the secrets of a URL', async (t) => {
  const app = await testDaemon(t)
  const { id, signing_secret: secret } = await createHook(app, 'https://hooks.example/path-secret?token=query-secret', [
    'email.sent',
    'email.sent',
  ])
  const path = `/v1/webhooks/${id}`
  t.match((await app.rest('GET', path)).json(), { events: ['email.sent'] }, 'a type counts once')
  await app.rest('PATCH', path, { body: { url: 'https://other.example/path-secret', enabled: false } })
  t.equal((await app.rest('PATCH', path, { body: {} })).status, 200, 'nothing changes, and nothing is logged')
  await app.rest('POST', `${path}/rotate-secret`)
  await app.rest('DELETE', path)
  const log = await app.rest('GET', '/v1/audit-log')
  t.match(log.json<{ data: readonly unknown[] }>().data.slice(0, 4), [
    { action: 'webhook.deleted', target: id, details: { origin: 'https://other.example' } },
    { action: 'webhook.secret_rotated', target: id },
    { action: 'webhook.changed', target: id, details: { enabled: false, origin: 'https://other.example' } },
    { action: 'webhook.created', target: id, details: { events: ['email.sent'], origin: 'https://hooks.example' } },
  ])
  for (const word of ['path-secret', 'query-secret', secret]) t.notMatch(log.text, word)
  t.same(app.errors, [])
})

t.test('a wrong request names the field, the value and the rule', async (t) => {
  const zone = {
    'inside.test': { addresses: ['10.1.2.3'] },
    'public.test': { addresses: ['8.8.8.8'] },
    'silent.test': { addresses: 'failure' },
    // As the resolver of the daemon answers by itself.
    localhost: { addresses: ['127.0.0.1'] },
  } as const
  const app = await testDaemon(t, { zone })
  const create = (body: object): Promise<RestAnswer> => app.rest('POST', '/v1/webhooks', { body })
  const withUrl = (url: string): Promise<RestAnswer> => create({ url, events: ['email.sent'] })
  const refused: readonly (readonly [string, RegExp])[] = [
    ['ftp://hooks.example/', /must begin with https/],
    ['http://169.254.169.254/latest', /public address/],
    ['https://inside.test/', /public address/],
    ['https://localhost/', /public address/],
  ]
  for (const [url, message] of refused) {
    const answer = await withUrl(url)
    t.match([answer.status, errorsOf(answer)], [400, [{ field: 'url', message }]], url.slice(0, 60))
  }
  for (const url of ['https://public.test/', 'https://nowhere.test/', 'https://silent.test:8443/', 'http://8.8.8.8/']) {
    t.equal((await withUrl(url)).status, 201, url)
  }

  const both = await create({ url: 'ftp://public.test/', events: ['email.eaten'] })
  t.match(errorsOf(both), [{ field: 'url' }, { field: 'events[0]' }], 'all problems at once')
  const types = await create({ url: 'https://public.test/', events: ['email.sent', 'email.eaten', 'webhook.disabled'] })
  t.match(errorsOf(types), [
    { field: 'events[1]', value: 'email.eaten', message: /allowed: email\.queued, / },
    { field: 'events[2]', value: 'webhook.disabled' },
  ])
  const { id } = await createHook(app, 'https://public.test/', ['email.sent', 'email.bounced'])
  const change = await app.rest('PATCH', `/v1/webhooks/${id}`, { body: { events: [], url: null, enabled: 'no' } })
  t.match(errorsOf(change), [{ field: 'events' }, { field: 'enabled', message: /true or false/ }])
  const replay = (body: object): Promise<RestAnswer> => app.rest('POST', `/v1/webhooks/${id}/replay`, { body })
  const [from, to] = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z']
  t.match(errorsOf(await replay({ from, to })), [{ field: 'to', message: 'must be later than from' }])
  t.match(errorsOf(await replay({ from: 'yesterday', to, types: [] })), [{ field: 'from', value: 'yesterday' }])
  const foreign = await replay({ from, to: '2026-01-02T00:00:00Z', types: ['email.sent', 'email.opened'] })
  const message = 'allowed: the types of the webhook: email.sent, email.bounced'
  t.match(errorsOf(foreign), [{ field: 'types', value: 'email.opened', message }])
  t.same(app.errors, [])
})

t.test('the fifty-first webhook is refused, whatever comes at once', async (t) => {
  const app = await testDaemon(t)
  const body = { url: 'https://hooks.example/', events: ['email.sent'] }
  const answers = await Promise.all(Array.from({ length: 53 }, () => app.rest('POST', '/v1/webhooks', { body })))
  t.equal(answers.filter(({ status }) => status === 201).length, 50)
  const refusals = answers.filter(({ status }) => status !== 201)
  for (const answer of refusals) t.match(answer.json(), { error: { code: 'conflict', details: { limit: 50 } } })
  const { data } = (await app.rest('GET', '/v1/webhooks')).json<{ data: readonly Created[] }>()
  t.equal(data.length, 50)
  await app.rest('DELETE', `/v1/webhooks/${data[0]?.id ?? ''}`)
  t.equal((await app.rest('POST', '/v1/webhooks', { body })).status, 201, 'one is deleted, one may be created')
})

interface Delivering {
  readonly app: TestDaemon
  readonly endpoint: WebhookReceiver
}

/** A daemon whose mail to b.test and to its own users arrives. */
async function deliveringDaemon(t: Test, options: TestDaemonOptions = {}): Promise<Delivering> {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const routes = { 'b.test': sink, ...options.routes }
  return { app: await testDaemon(t, { settings: onLoopback, ...options, routes }), endpoint: await webhookReceiver(t) }
}

async function deliverMails(app: TestDaemon, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    await app.waitUntilSettled(await app.submitAccepted({ to: [`bob${at}@b.test`] }))
  }
}

t.test('events of a range, and a single one, are delivered again with their ids', async (t) => {
  const { app, endpoint } = await deliveringDaemon(t)
  const from = new Date(app.now() - 1_000).toISOString()
  const { id } = await createHook(app, endpoint.url, ['email.queued', 'email.delivered'])
  await deliverMails(app, 3)
  await waitUntil('all are delivered', () => endpoint.requests.length === 6)
  const first = endpoint.events().map(({ id }) => id)
  const to = new Date(app.now() + HOUR).toISOString()
  const replay = await app.rest('POST', `/v1/webhooks/${id}/replay`, { body: { from, to, types: ['email.delivered'] } })
  t.match([replay.status, replay.json()], [202, { count: 3 }])
  await waitUntil('they come again', () => endpoint.requests.length === 9)
  const again = endpoint.events().slice(6)
  t.same([...new Set(again.map(({ type }) => type))], ['email.delivered'])
  t.ok(again.every((event) => first.includes(event.id)))
  await waitUntil('the replay ends', async () => (await app.rows('select 1 from webhook_replays')).length === 0)

  const [newest] = await deliveriesOf(app, id)
  const once = await app.rest('POST', `/v1/webhooks/${id}/deliveries/${newest?.id ?? ''}/replay`)
  t.equal(once.status, 202)
  await waitUntil('it comes once more', () => endpoint.requests.length === 10)
  t.equal(endpoint.events()[9]?.id, newest?.event_id)
  t.match((await app.rest('GET', `/v1/webhooks/${id}`)).json(), {
    last_delivery: { status: 'delivered', response_status: 200 },
  })
  t.same(app.errors, [])
})

t.test('the administrators get a mail when an endpoint is gone, and enable it again', async (t) => {
  const people = await openSink()
  t.teardown(() => people.close())
  const { app, endpoint } = await deliveringDaemon(t, { routes: { 'a.test': people } })
  const { id } = await createHook(app, `${endpoint.url}s?token=hidden`, ['email.delivered'])
  endpoint.answer((response) => response.writeHead(410).end())
  t.match(await testHook(app, id), { status: 'failed', response_status: 410 })
  const path = `/v1/webhooks/${id}`
  await waitUntil('it is disabled', async () => {
    const { enabled } = (await app.rest('GET', path)).json<{ enabled: boolean }>()
    return !enabled
  })
  t.match((await app.rest('GET', path)).json(), { enabled: false, disabled_reason: 'gone' })
  await people.waitUntil(() => people.messages.length === 1)
  const [message] = people.messages
  t.match(message?.rcptTo, [/^<owner@a\.test>/])
  const mail = await simpleParser(message?.raw ?? '')
  t.match(mail, { subject: /^The webhook at http:\/\/127\.0\.0\.1:\d+ was disabled$/, text: /answered 410 \(Gone\)/ })
  t.match(mail.text, `https://mail.service.test/v1/webhooks/${id}`)
  t.notMatch(`${mail.text}${String(mail.html)}`, /hidden|\/hooks/, 'the path and the query may be secrets')

  const refused = await app.rest('POST', `${path}/test`)
  t.match(refused.json(), { error: { code: 'conflict', details: { disabled_reason: 'gone' } } })
  await deliverMails(app, 1)
  endpoint.answer((response) => response.end())
  const enabled = await app.rest('PATCH', path, { body: { enabled: true } })
  t.match(enabled.json(), { enabled: true, disabled_reason: null })
  await deliverMails(app, 1)
  await waitUntil('events from then on come', () => endpoint.requests.length === 2)
  t.match(endpoint.events()[1], { type: 'email.delivered', data: { to: 'bob0@b.test' } })
  t.match((await app.rest('GET', '/v1/audit-log')).text, /webhook\.disabled/)
  t.same(app.errors, [])
})

t.test('a deleted webhook, and one of a deleted workspace, gets nothing any more', async (t) => {
  const { app, endpoint } = await deliveringDaemon(t)
  endpoint.answer((response) => response.writeHead(500).end())
  const deleted = await createHook(app, endpoint.url, ['email.queued'])
  const left = await createHook(app, endpoint.url, ['email.queued'])
  for (const { id } of [deleted, left]) t.match(await testHook(app, id), { status: 'pending', error: 'answered 500' })
  t.equal(endpoint.requests.length, 2)
  t.equal((await app.rest('DELETE', `/v1/webhooks/${deleted.id}`)).status, 200)
  t.same(await app.rows('select 1 from webhook_deliveries where webhook_id = ?', deleted.id), [])
  app.advance(90_000)
  await waitUntil('the other is retried', () => endpoint.requests.length === 3)

  t.equal((await app.rest('DELETE', `/v1/workspaces/${app.workspaceId}`)).status, 200)
  t.same(await app.rows('select 1 from webhooks'), [], 'they end in the commit that closes the workspace')
  app.advance(24 * HOUR)
  await waitUntil('all is erased', async () => (await app.rows('select 1 from webhook_deliveries')).length === 0)
  t.equal(endpoint.requests.length, 3)
  t.same(app.errors, [])
})
