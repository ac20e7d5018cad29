/** A broadcast to five contacts, each with another outcome, through a whole daemon. */
import { createSecretKey } from 'node:crypto'
import type { Test } from 'tap'
import { createUnsubscribeToken } from '../../../src/base/mail/recipient-token.js'
import { type TestDaemon, testDaemon } from '../daemon/test-daemon.js'
import { openSink, type ScriptedSink } from '../smtp/scripted-sink.js'
import { waitUntil } from '../wait-until.js'

const LINK = 'https://shop.example/spring'
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'

/** `carl@gone.test` bounces, and the others get their mail. */
export async function startWithRecipients(t: Test): Promise<{ readonly app: TestDaemon; readonly sink: ScriptedSink }> {
  const sink = await openSink()
  const refusing = await openSink({ script: { rcpt: '550 5.1.1 no such user' } })
  t.teardown(() => Promise.all([sink.close(), refusing.close()]))
  return { app: await testDaemon(t, { routes: { 'b.test': sink, 'gone.test': refusing } }), sink }
}

const contacts = ['ann@b.test', 'bob@b.test', 'carl@gone.test', 'dan@b.test', 'eve@b.test']

async function create(app: TestDaemon, path: string, body: object): Promise<string> {
  const answer = await app.rest('POST', path, { body })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.json<{ readonly id: string }>().id
}

export async function sendBroadcast(app: TestDaemon, id: string): Promise<void> {
  const answer = await app.rest('POST', `/v1/broadcasts/${id}/send`)
  if (answer.status !== 202) throw new Error(answer.text)
  await waitUntil('the broadcast is sent', async () => (await read(app, id))['status'] === 'sent')
}

const read = async (app: TestDaemon, id: string): Promise<Record<string, unknown>> =>
  (await app.rest('GET', `/v1/broadcasts/${id}`)).json()

/** Ann opens it, Bob does nothing, Carl's bounces, Dan unsubscribes, Eve follows a link. Returns the broadcast's id. */
export async function sendToFive(app: TestDaemon): Promise<string> {
  const audience_id = await create(app, '/v1/audiences', { name: 'Readers' })
  for (const email of contacts) {
    await create(app, '/v1/contacts', { email, audience_id, first_name: email.slice(0, 3) })
    app.advance(1)
  }
  const words = { subject: 'News for {{first_name}}', html: `<p>Look: <a href="${LINK}">spring</a></p>` }
  const id = await create(app, '/v1/broadcasts', { name: 'May', audience_id, from: 'News <news@a.test>', ...words })
  await sendBroadcast(app, id)
  // Shortly after a delivery a click may be that of a scanner.
  app.advance(120_000)
  const [ann, , , dan, eve] = await app.rows<{ email_id: string; recipient_id: string }>(
    'select email_id, recipient_id from broadcast_messages where broadcast_id = ? order by address',
    id,
  )
  const asPerson = { key: null, headers: { 'user-agent': BROWSER } }
  await app.rest('GET', `/v1/track/open/${ann?.email_id}?bid=${id}`, asPerson)
  await app.rest('GET', `/v1/track/click/${eve?.email_id}?${new URLSearchParams({ url: LINK })}`, asPerson)
  const [secret] = await app.rows<{ value: string }>(`select value from service_state where key = 'return_path_secret'`)
  const token = createUnsubscribeToken(createSecretKey(secret?.value ?? '', 'base64'), dan?.recipient_id ?? '')
  await app.rest('POST', `/v1/unsubscribe/${token}`, { key: null })
  const counts = ['unique_opens', 'unique_clicks', 'unsubscribed', 'bounced']
  await waitUntil('everything is counted', async () => {
    const shown = await read(app, id)
    return counts.every((name) => shown[name] === 1)
  })
  return id
}
