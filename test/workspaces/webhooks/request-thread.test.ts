/** The thread that makes the requests of webhooks: what waits for what, and what becomes of jobs when it ends. */
import type { ServerResponse } from 'node:http'
import type { Worker } from 'node:worker_threads'
import t from 'tap'
import { MAX_REQUESTS, type RequestContent } from '../../../src/workspaces/webhooks/request-protocol.js'
import { RequestThread } from '../../../src/workspaces/webhooks/request-thread.js'
import { webhookReceiver } from '../../helpers/http/webhook-receiver.js'
import { waitUntil } from '../../helpers/wait-until.js'

const event = { id: 'evt_1', type: 'email.sent', created_at: 5, data: '{"email_id":"e1"}' }

function contentFor(url: string, webhookId: string): RequestContent {
  const secret = `whsec_${Buffer.alloc(32).toString('base64')}`
  const form = {
    format: 'posthorn',
    email: null,
    body: null,
    headers: {},
    login: null,
    verificationSecret: null,
  } as const
  const identity = { webhookId, deliveryId: 'd1', attempt: 1, secret, previousSecret: null }
  return { ...identity, ...form, limit: 8, event, url, addresses: ['127.0.0.1'], at: 1_000, timeout: 600_000 }
}

t.test('webhooks with the same host wait for none of each other', async (t) => {
  const receiver = await webhookReceiver(t)
  const held: ServerResponse[] = []
  receiver.answer((response, { path }) => {
    if (path === '/slow') held.push(response)
    else response.end('ok')
  })
  const thread = new RequestThread({ userAgent: 'test', authorities: undefined }, () => undefined)
  t.teardown(() => thread.stop())
  const slow = `http://127.0.0.1:${receiver.port}/slow`
  const all = Array.from({ length: MAX_REQUESTS - 1 }, (_, at) =>
    thread.request(contentFor(slow, `wh_${Math.floor(at / 8)}`)),
  )
  await waitUntil('all of them have come', () => held.length === MAX_REQUESTS - 1)
  t.match(await thread.request(contentFor(receiver.url, 'wh_other')), { kind: 'answer', status: 200, body: 'ok' })
  for (const response of held) response.writeHead(503).end()
  for (const outcome of await Promise.all(all)) t.match(outcome, { kind: 'answer', status: 503 })
})

t.test(
  'what is under way when the thread is stopped has no known outcome, and nothing begins afterwards',
  async (t) => {
    const receiver = await webhookReceiver(t)
    receiver.answer(() => undefined)
    const thread = new RequestThread({ userAgent: 'test', authorities: undefined }, () => undefined)
    const outcome = thread.request(contentFor(receiver.url, 'wh_1'))
    await waitUntil('the request has come', () => receiver.requests.length === 1)
    await thread.stop()
    t.equal(await outcome, null)
    t.equal(await thread.request(contentFor(receiver.url, 'wh_1')), null)
    t.equal(receiver.requests.length, 1)
  },
)

t.test('an error that ends the thread is reported, and the next request starts another one', async (t) => {
  const receiver = await webhookReceiver(t)
  receiver.answer((response, { path }) => {
    if (path !== '/never') response.end('ok')
  })
  const faults: unknown[] = []
  const thread = new RequestThread({ userAgent: 'test', authorities: undefined }, (err) => faults.push(err))
  t.teardown(() => thread.stop())
  const never = thread.request(contentFor(`http://127.0.0.1:${receiver.port}/never`, 'wh_1'))
  await waitUntil('the request has come', () => receiver.requests.length === 1)
  const worker: Worker = Reflect.get(thread, 'worker')
  const error = new Error('a fault of the thread')
  worker.emit('error', error)
  t.equal(await never, null)
  t.same(faults, [error])
  await worker.terminate()
  t.match(await thread.request(contentFor(receiver.url, 'wh_2')), { kind: 'answer', status: 200 })
})

t.test('jobs that cannot be handed over have no known outcome', async (t) => {
  const receiver = await webhookReceiver(t)
  const faults: unknown[] = []
  const thread = new RequestThread({ userAgent: 'test', authorities: undefined }, (err) => faults.push(err))
  t.teardown(() => thread.stop())
  const content = contentFor(receiver.url, 'wh_1')
  t.equal(await thread.request({ ...content, addresses: [Symbol('no message') as never] }), null)
  t.match(faults, [{ name: 'DataCloneError' }])
  t.match(await thread.request(content), { kind: 'answer', status: 200 })
})
