/** Duplicates of a broadcast, and broadcasts to those who did not open another one. */
import t from 'tap'
import type { ErrorBody } from '../../../../src/servers/api/http/error-answer.js'
import { sendBroadcast, sendToFive, startWithRecipients } from '../../../helpers/broadcasts/sent-to-five.js'
import type { TestDaemon } from '../../../helpers/daemon/test-daemon.js'
import { schemaCheck } from '../../../helpers/http/answer-schemas.js'
import type { RestAnswer } from '../../../helpers/http/rest-client.js'
import { waitUntil } from '../../../helpers/wait-until.js'

interface Shown {
  readonly id: string
  readonly audience_id: string
}

const copy = (app: TestDaemon, id: string, body?: object, key = app.key): Promise<RestAnswer> =>
  app.rest('POST', `/v1/broadcasts/${id}/duplicate`, body === undefined ? { key } : { key, body })

const codeOf = (answer: RestAnswer): string => answer.json<ErrorBody>().error.code

t.test('a duplicate is a draft with the same content for the same audience', async (t) => {
  const { app } = await startWithRecipients(t)
  const check = schemaCheck(app.daemon.routes)
  const id = await sendToFive(app)
  const first = (await app.rest('GET', `/v1/broadcasts/${id}`)).json<Record<string, unknown>>()
  const made = await copy(app, id)
  t.same([made.status, check('POST /broadcasts/:id/duplicate', made)], [201, []], made.text)
  const { audience_id, from, reply_to, subject, html, text, template_id } = first
  t.match(made.json(), {
    ...{ audience_id, from, reply_to, subject, html, text, template_id, status: 'draft', recipients: 0 },
    ...{ name: 'Copy: May', started_at: null, not_opened_of: null },
  })
  t.not(made.json<Shown>().id, id)
  t.match((await copy(app, id, { name: 'June' })).json(), { name: 'June' })
  const again = await copy(app, made.json<Shown>().id)
  t.match(again.json(), { name: 'Copy: Copy: May' }, 'a draft is duplicated too')
  t.equal(codeOf(await copy(app, id, {}, app.otherKey)), 'not_found')
  t.equal(codeOf(await copy(app, id, { name: '' })), 'validation_error')
  t.equal((await app.rest('DELETE', `/v1/audiences/${String(audience_id)}`)).status, 200)
  t.equal(codeOf(await copy(app, id)), 'audience_not_found')
  t.same(app.errors, [])
})

t.test('the second broadcast goes once to those who got the first and did not open it', async (t) => {
  const { app, sink } = await startWithRecipients(t)
  const id = await sendToFive(app)
  const late = await app.rest('GET', `/v1/broadcasts/${id}`)
  const { audience_id } = late.json<Shown>()
  await app.rest('POST', '/v1/contacts', { body: { email: 'zoe@b.test', audience_id } })
  const before = sink.messages.length
  const made = await copy(app, id, { only_not_opened: true })
  t.match(made.json(), { name: 'Again: May', status: 'draft', not_opened_of: id })
  const again = made.json<Shown>().id
  const other = (await app.rest('POST', '/v1/audiences', { body: { name: 'Other' } })).json<Shown>().id
  const moved = await app.rest('PATCH', `/v1/broadcasts/${again}`, { body: { audience_id: other } })
  t.match(moved.json(), { error: { code: 'validation_error' } }, 'its audience stays')
  t.equal((await app.rest('PATCH', `/v1/broadcasts/${again}`, { body: { audience_id, name: 'Second' } })).status, 200)
  app.advance(1)
  await sendBroadcast(app, again)
  const got = sink.messages.slice(before).flatMap(({ rcptTo }) => rcptTo)
  t.match(got, [/bob@b\.test/])
  t.equal(got.length, 1, 'not those who opened, clicked or unsubscribed, whose message bounced, or who came later')
  t.match((await app.rest('GET', `/v1/broadcasts/${again}`)).json(), { recipients: 1, delivered: 1, not_opened_of: id })
  t.match((await app.rest('GET', `/v1/broadcasts/${again}/recipients`)).json(), { data: [{ to: 'bob@b.test' }] })
  t.same(app.errors, [])
})

/** Does what retention does first. */
async function removeOldest(app: TestDaemon, id: string): Promise<void> {
  const [oldest] = await app.rows<{ email_id: string }>(
    'select email_id from broadcast_messages where broadcast_id = ? order by contact_id limit 1',
    id,
  )
  await app.daemon.database.commit([{ sql: 'delete from emails where id = ?', parameters: [oldest?.email_id ?? ''] }])
}

t.test('it is refused where it is not known who opened', async (t) => {
  const { app } = await startWithRecipients(t)
  const id = await sendToFive(app)
  const draft = (await copy(app, id)).json<Shown>().id
  const unsent = await copy(app, draft, { only_not_opened: true })
  t.equal(codeOf(unsent), 'conflict')
  t.match(unsent.text, 'has ended')
  const made = (await copy(app, id, { only_not_opened: true })).json<Shown>().id
  await removeOldest(app, id)
  const refused = await copy(app, id, { only_not_opened: true })
  t.equal(codeOf(refused), 'conflict')
  t.match(refused.text, 'were removed')
  const sent = await app.rest('POST', `/v1/broadcasts/${made}/send`)
  t.equal(codeOf(sent), 'conflict', 'and at the sending')
  t.match(sent.text, 'were removed')
  t.equal((await copy(app, id)).status, 201, 'a duplicate for all is possible')
  t.same(app.errors, [])
})

t.test('it is paused where emails of the first are removed before its time comes', async (t) => {
  const { app, sink } = await startWithRecipients(t)
  const first = await sendToFive(app)
  const { id } = (await copy(app, first, { only_not_opened: true })).json<Shown>()
  const scheduled_for = new Date(app.now() + 86_400_000).toISOString()
  t.equal((await app.rest('POST', `/v1/broadcasts/${id}/send`, { body: { scheduled_for } })).status, 202)
  await removeOldest(app, first)
  const before = sink.messages.length
  app.advance(86_400_001)
  const isPaused = async (): Promise<boolean> =>
    (await app.rest('GET', `/v1/broadcasts/${id}`)).json<{ status: string }>().status === 'paused'
  await waitUntil('the broadcast is paused', isPaused)
  const paused = (await app.rest('GET', `/v1/broadcasts/${id}`)).json()
  t.match(paused, { note: /were removed.*: cancel this broadcast, and duplicate the first one/, recipients: 0 })
  t.equal((await app.rest('POST', `/v1/broadcasts/${id}/resume`)).status, 200)
  await waitUntil('it is paused again, and not sent to nobody', isPaused)
  t.equal(sink.messages.length, before)
  t.same(app.errors, [])
})
