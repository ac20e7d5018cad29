/** Unsubscribing from broadcasts through the whole daemon: the page, one click, mail, undo; and reports about them. */
import { createSecretKey } from 'node:crypto'
import t, { type Test } from 'tap'
import { createUnsubscribeToken } from '../../src/base/mail/recipient-token.js'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { sentBroadcast } from '../helpers/database/broadcast.js'
import type { RestAnswer } from '../helpers/http/rest-client.js'
import { complaint, dsn } from '../helpers/receiving/report-text.js'
import { deliverInbound } from '../helpers/smtp/deliver-inbound.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const FORM = 'application/x-www-form-urlencoded'

interface Recipient {
  readonly emailId: string
  readonly contactId: string
  readonly token: string
  readonly path: string
}

interface World {
  readonly app: TestDaemon
  readonly broadcastId: string
  readonly audienceId: string
  readonly bob: Recipient
  readonly ann: Recipient
  readonly subscribed: (recipient: Recipient) => Promise<unknown>
  readonly counted: () => unknown
  readonly events: () => Promise<unknown[]>
}

async function start(t: Test, routes: Readonly<Record<string, { readonly port: number }>> = {}): Promise<World> {
  const app = await testDaemon(t, { routes })
  const { read, commit } = app.daemon.database
  const at = app.now()
  const isSent = Object.keys(routes).length > 0
  const sent = await sentBroadcast(read, {
    ...{ workspaceId: app.workspaceId, to: ['bob@b.test', 'ann@b.test'], at },
    ...(isSent ? {} : { deliveredAt: at }),
  })
  await commit(sent.writes)
  const [row] = await app.rows<{ value: string }>(`select value from service_state where key = 'return_path_secret'`)
  const secret = createSecretKey(row?.value ?? '', 'base64')
  const [bob, ann] = sent.messages.map(({ emailId, contactId, recipientId }) => {
    const token = createUnsubscribeToken(secret, recipientId)
    return { emailId, contactId, token, path: `/v1/unsubscribe/${token}` }
  })
  if (bob === undefined || ann === undefined) throw new Error('a message is missing')
  return {
    ...{ app, bob, ann, broadcastId: sent.id, audienceId: sent.audienceId },
    subscribed: async ({ contactId }) => (await app.rest('GET', `/v1/contacts/${contactId}`)).json()['subscribed'],
    counted: async () =>
      (await app.rows<{ unsubscribed: number }>('select unsubscribed from broadcast_counts'))[0]?.unsubscribed,
    events: () => app.rows(`select email_id, recipient from events where type = 'email.unsubscribed' order by seq`),
  }
}

/** As a browser or a mail program asks: without a key. */
const ask = ({ app }: World, method: string, path: string, body?: string, type = FORM): Promise<RestAnswer> =>
  app.rest(method, path, { key: null, ...(body === undefined ? {} : { body, headers: { 'content-type': type } }) })

t.test('a page asks, a form acts, and another one undoes it within the hour', async (t) => {
  const world = await start(t)
  const { app, bob, ann } = world
  for (const method of ['GET', 'HEAD']) t.equal((await ask(world, method, bob.path)).status, 200)
  const page = (await ask(world, 'GET', bob.path)).text
  t.match(page, /<h1>Unsubscribe\?<\/h1>[\s\S]*<b>news@a\.test<\/b> at <b>b…@b\.test<\/b>[\s\S]*still arrive/)
  t.same([await world.subscribed(bob), await world.events()], [true, []], 'reading changes nothing')

  t.match((await ask(world, 'POST', bob.path, '')).text, /<h1>You are unsubscribed<\/h1>[\s\S]*name="undo"/)
  t.same([await world.subscribed(bob), await world.subscribed(ann), await world.counted()], [false, true, 1])
  t.same(await world.events(), [{ email_id: bob.emailId, recipient: 'bob@b.test' }])
  t.same(await app.rows('select 1 from suppressions'), [])
  t.match((await ask(world, 'GET', bob.path)).text, /unsubscribed already[\s\S]*name="undo"/)
  t.match((await ask(world, 'POST', bob.path, '')).text, /already/)
  const listed = (await app.rest('GET', '/v1/events?type=email.unsubscribed')).json<{ readonly data: unknown }>()
  t.match(listed.data, [
    { email_id: bob.emailId, data: { broadcast_id: world.broadcastId, contact_id: bob.contactId, to: 'bob@b.test' } },
  ])

  app.advance(3_500_000)
  t.match((await ask(world, 'POST', bob.path, 'undo=1')).text, /<h1>You are subscribed<\/h1>/)
  t.match((await ask(world, 'POST', bob.path, 'undo=1')).text, /<h1>You are subscribed<\/h1>/, 'loaded again')
  t.same([await world.subscribed(bob), await world.counted()], [true, 0])
  t.match((await ask(world, 'GET', bob.path)).text, /<h1>Unsubscribe\?<\/h1>/)

  await ask(world, 'POST', bob.path, 'List-Unsubscribe=One-Click')
  t.same([await world.subscribed(bob), await world.counted(), (await world.events()).length], [false, 1, 1])
  app.advance(3_600_001)
  const late = (await ask(world, 'GET', bob.path)).text
  t.match(late, /cannot be undone here/)
  t.notMatch(late, /<form/)
  t.match((await ask(world, 'POST', bob.path, 'undo=1')).text, /<h1>You are still unsubscribed<\/h1>/)
  t.same([await world.subscribed(bob), await world.counted()], [false, 1])
  t.same(app.errors, [])
})

t.test('bodies of any kind act, and only the form with the field undoes', async (t) => {
  const world = await start(t)
  const { bob } = world
  const multipart = '--x\r\nContent-Disposition: form-data; name="undo"\r\n\r\n1\r\n--x--\r\n'
  const bodies: readonly (readonly [body: string, type: string])[] = [
    ['List-Unsubscribe=One-Click', FORM],
    [multipart, 'multipart/form-data; boundary=x'],
    ['undo=1', 'text/plain'],
    ['{"undo":1}', 'application/json'],
    [`x=${'y'.repeat(5_000)}&undo=1`, FORM],
    ['%', `${FORM}; charset=utf-8`],
  ]
  for (const [body, type] of bodies) {
    await ask(world, 'POST', bob.path, 'undo=1', `${FORM.toUpperCase()} ; charset=utf-8`)
    t.equal(await world.subscribed(bob), true)
    t.match(await ask(world, 'POST', bob.path, body, type), { status: 200, text: /You are unsubscribed</ })
    t.equal(await world.subscribed(bob), false, body.slice(0, 30))
  }
  const other = bob.path.replace(/.$/, (end) => (end === '1' ? '2' : '1'))
  t.match(await ask(world, 'POST', other, 'undo=1'), { status: 404 })
  t.match(await ask(world, 'GET', `${bob.path}?undo=1`), { status: 200, text: /already/ })
  t.equal(await world.subscribed(bob), false)
})

t.test('a link undoes nothing that was done after the contact was subscribed again', async (t) => {
  const world = await start(t)
  const { app, bob, ann } = world
  await ask(world, 'POST', ann.path, '')
  await ask(world, 'POST', bob.path, '')
  for (const subscribed of [true, false]) {
    t.match(await app.rest('PATCH', `/v1/contacts/${bob.contactId}`, { body: { subscribed } }), { status: 200 })
  }
  t.notMatch((await ask(world, 'GET', bob.path)).text, /Subscribe again/)
  t.match((await ask(world, 'POST', bob.path, 'undo=1')).text, /<h1>You are still unsubscribed<\/h1>/)
  t.equal(await world.subscribed(bob), false)
  t.match((await ask(world, 'POST', ann.path, 'undo=1')).text, /You are subscribed</)
  await app.rest('PATCH', `/v1/contacts/${bob.contactId}`, { body: { subscribed: true } })
  t.match((await ask(world, 'POST', bob.path, '')).text, /Subscribe again/, 'what the link does now can be undone')
})

t.test('a mail to the address unsubscribes too; a contact that is gone changes nothing else', async (t) => {
  const world = await start(t)
  const { app, bob, ann } = world
  const address = `unsubscribe+${ann.token}@posthorn.a.test`
  const raw = `From: ann@b.test\r\nTo: ${address}\r\nSubject: unsubscribe\r\n\r\nno more\r\n`
  for (const times of [1, 2]) {
    t.match(await deliverInbound(t, app, { from: 'ann@b.test', to: [address], raw }), /^250 /)
    await waitUntil(
      'it was read',
      async () => (await app.rows(`select 1 from inbound_emails where status = 'received'`)).length === 0,
    )
    t.same(
      [await world.subscribed(ann), await world.counted(), (await world.events()).length],
      [false, 1, 1],
      `${times}`,
    )
  }
  t.match((await ask(world, 'POST', ann.path, 'undo=1')).text, /You are subscribed</)
  t.equal(await world.subscribed(ann), true)

  await app.rest('DELETE', `/v1/contacts/${bob.contactId}`)
  t.match((await ask(world, 'POST', bob.path, '')).text, /<h1>You are unsubscribed<\/h1>/)
  t.equal(await world.counted(), 1)
  t.same(await app.rows('select 1 from suppressions'), [])
  t.same(app.errors, [])
})

t.test('the link of another email still suppresses, and its form undoes nothing', async (t) => {
  const world = await start(t)
  const { app } = world
  const html = '<a href="{{unsubscribe_url}}">no more</a>'
  const created = await app.rest('POST', '/v1/emails', {
    body: { from: 'app@a.test', to: 'bob@b.test', subject: 's', html },
  })
  const [row] = await app.rows<{ value: string }>(`select value from service_state where key = 'return_path_secret'`)
  const [recipient] = await app.rows<{ id: string }>(
    'select id from recipients where email_id = ?',
    created.json()['id'],
  )
  const path = `/v1/unsubscribe/${createUnsubscribeToken(createSecretKey(row?.value ?? '', 'base64'), recipient?.id ?? '')}`
  t.match((await ask(world, 'POST', path, 'undo=1')).text, /<h1>Unsubscribe\?<\/h1>/)
  t.same(await app.rows('select 1 from suppressions'), [])
  t.notMatch((await ask(world, 'POST', path, '')).text, /undo/)
  t.match((await ask(world, 'POST', path, 'undo=1')).text, /<h1>You are still unsubscribed<\/h1>/)
  t.match(await app.rows('select email, reason from suppressions'), [{ email: 'bob@b.test', reason: 'unsubscribe' }])
  const [event] = await app.rows<{ data: string }>(`select data from events where type = 'email.unsubscribed'`)
  t.match(JSON.parse(event?.data ?? ''), { broadcast_id: null, contact_id: null })
})

t.test('with the workspace its links end', async (t) => {
  const world = await start(t)
  const { app, bob } = world
  await app.daemon.database.commit([
    { sql: 'insert into erasures (id, asked_at) values (?, 1)', parameters: [app.workspaceId] },
  ])
  for (const body of [undefined, '', 'undo=1'])
    t.match(await ask(world, body === undefined ? 'GET' : 'POST', bob.path, body), { status: 404 })
  t.same([await world.counted(), await world.events()], [0, []])
})

t.test('a later bounce and a complaint about a message are as about any email', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const { app, bob, ann, broadcastId } = await start(t, { 'b.test': sink })
  for (const { emailId } of [bob, ann]) t.match(await app.waitUntilSettled(emailId), { status: 'delivered' })
  const sentTo = (to: string) => {
    const message = sink.messages.find(({ rcptTo }) => rcptTo[0]?.includes(to))
    if (message === undefined) throw new Error(`${to} got no message`)
    return { raw: message.raw.toString(), path: /bounce\+[^>]*/.exec(message.mailFrom)?.[0] ?? '' }
  }
  const report = async (to: string, raw: string, from: string): Promise<void> => {
    t.match(await deliverInbound(t, app, { from, to: [to], raw }), /^250 /)
    await waitUntil(
      'it was read',
      async () => (await app.rows(`select 1 from inbound_emails where status = 'received'`)).length === 0,
    )
  }
  const { path } = sentTo('ann@')
  await report(path, dsn({ path, status: '5.1.1', recipient: 'ann@b.test' }), '')
  await report('fbl@mail.service.test', complaint(sentTo('bob@').raw), 'abuse@b.test')
  t.same(await Promise.all([bob, ann].map(async ({ emailId }) => (await app.findStory(emailId)).status)), [
    'complained',
    'bounced',
  ])
  t.match(await app.rows('select email, reason, source_email_id from suppressions order by reason'), [
    { email: 'ann@b.test', reason: 'hard_bounce', source_email_id: ann.emailId },
    { email: 'bob@b.test', reason: 'spam_complaint', source_email_id: bob.emailId },
  ])
  t.match(
    await app.rows(
      'select delivered, bounced, complained, unsubscribed from broadcast_counts where broadcast_id = ?',
      broadcastId,
    ),
    [{ delivered: 0, bounced: 1, complained: 1, unsubscribed: 0 }],
  )
  t.same(app.errors, [])
})
