/** SendGrid's own client library sends through the daemon. */

import { Client } from '@sendgrid/client'
import { MailService } from '@sendgrid/mail'
import { simpleParser } from 'mailparser'
import t from 'tap'
import { openPlainApi } from '../../../helpers/http/plain-api.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const { app, sink, host } = await openPlainApi(t)

function mailService(key: string): MailService {
  const client = new Client()
  client.setApiKey(key)
  client.setDefaultRequest('baseUrl', `http://${host}/`)
  const service = new MailService()
  service.setClient(client)
  return service
}

const service = mailService(app.key)
const email = { from: 'app@a.test', to: 'bob@b.test', subject: 'hello', text: 'a line' }

async function receive(recipient: string): Promise<Awaited<ReturnType<typeof simpleParser>>> {
  const found = () => sink.messages.find(({ rcptTo }) => rcptTo[0]?.startsWith(`<${recipient}>`))
  await waitUntil(`mail for ${recipient}`, found)
  return simpleParser(found()?.raw ?? '')
}

t.test('an email with everything arrives', async (t) => {
  const [answer] = await service.send({
    from: { email: 'app@a.test', name: 'The App, Inc.' },
    to: [{ email: 'bob@b.test', name: 'Bob' }, 'carol@b.test'],
    cc: 'dan@b.test',
    bcc: 'eve@b.test',
    replyTo: 'help@a.test',
    subject: 'Your bill',
    html: '<p>It is attached. <img src="cid:logo"></p>',
    text: 'It is attached.',
    categories: ['bills', 'spring'],
    customArgs: { customer: '17' },
    headers: { 'X-Campaign': 'spring' },
    trackingSettings: { openTracking: { enable: true }, clickTracking: { enable: false } },
    attachments: [
      { filename: 'bill.txt', type: 'text/plain', content: Buffer.from('99.00').toString('base64') },
      { filename: 'logo.png', type: 'image/png', content: 'iVBORw0KGgo=', disposition: 'inline', contentId: 'logo' },
    ],
  })
  t.match([answer.statusCode, answer.body], [202, ''])
  const { tags, tracking, recipients } = await app.waitUntilSettled(String(answer.headers['x-message-id']))
  t.same(tags, [
    { name: 'tag', value: 'bills' },
    { name: 'tag', value: 'spring' },
    { name: 'customer', value: '17' },
  ])
  t.match(tracking, { open: true, click: false })
  t.equal(recipients.length, 4)
  const mail = await receive('bob@b.test')
  t.match(mail.from?.value, [{ name: 'The App, Inc.', address: 'app@a.test' }])
  t.match([mail.subject, mail.headers.get('x-campaign')], ['Your bill', 'spring'])
  t.same(mail.attachments.map(({ filename }) => filename).sort(), ['bill.txt', 'logo.png'])
})

t.test('each personalization is one email, with its words', async (t) => {
  const people = Array.from({ length: 250 }, (_, place) => ({
    to: [{ email: `p${place}@b.test` }],
    substitutions: { name: `Person ${place}`, n: String(place) },
  }))
  const before = (await app.rows<{ count: number }>('select count(*) as count from emails'))[0]?.count ?? 0
  await service.send({
    from: 'app@a.test',
    subject: 'Hello {{name}}',
    html: '<p>Number {{n}}</p>',
    text: 'Number {{n}}',
    personalizations: people,
  })
  const after = (await app.rows<{ count: number }>('select count(*) as count from emails'))[0]?.count ?? 0
  t.equal(after - before, 250)
  const mail = await receive('p7@b.test')
  t.match([mail.subject, mail.text], ['Hello Person 7', /Number 7/])
})

t.test('a header field of a personalization replaces that of the request, whatever its case', async (t) => {
  await service.send({
    ...{ from: 'app@a.test', subject: 'hello', text: 'a line', headers: { 'X-Campaign': 'all', 'X-Kept': 'yes' } },
    personalizations: [{ to: 'case@b.test', headers: { 'x-campaign': 'one' } }],
  })
  const mail = await receive('case@b.test')
  t.same(
    mail.headerLines.filter(({ key }) => key === 'x-campaign' || key === 'x-kept').map(({ line }) => line),
    ['x-campaign: one', 'X-Kept: yes'],
  )
})

t.test('nothing is sent in the sandbox, and suppressed recipients are recorded', async (t) => {
  const [answer] = await service.send({ ...email, to: 'sand@b.test', mailSettings: { sandboxMode: { enable: true } } })
  t.equal(answer.statusCode, 200)
  t.match(await app.findStory(String(answer.headers['x-message-id'])), { status: 'cancelled' })
  await app.rest('POST', '/v1/suppressions', { body: { email: 'gone@b.test' } })
  const [kept] = await service.send({ ...email, to: 'gone@b.test' })
  const id = String(kept.headers['x-message-id'])
  t.match(await app.findStory(id), { status: 'failed', recipients: [{ status: 'suppressed' }] })
  const events = await app.rest('GET', '/v1/events?type=email.suppressed')
  t.match(events.json(), { data: [{ email_id: id }] })
})

t.test('errors name the field', async (t) => {
  const errorOf = async (sent: Promise<unknown>): Promise<unknown> =>
    sent.then(
      () => t.fail('it was sent'),
      (error: { code: number; response: { body: unknown } }) => [error.code, error.response.body],
    )
  t.match(await errorOf(mailService(`ph_${'x'.repeat(43)}`).send(email)), [
    401,
    { errors: [{ field: null, help: null }] },
  ])
  t.match(await errorOf(service.send({ ...email, from: 'app@elsewhere.test' })), [
    400,
    { errors: [{ field: 'from', message: /verified/ }] },
  ])
  const personalizations = [{ to: 'bob@b.test' }, { to: 'nobody' }]
  t.match(await errorOf(service.send({ from: 'app@a.test', subject: 'hello', text: 'a line', personalizations })), [
    400,
    { errors: [{ field: 'personalizations[1].to[0].email', message: /mail address/ }] },
  ])
  const injected = { to: 'bob@b.test', substitutions: { x: 'a\r\nBcc: eve@b.test' } }
  const lines = { from: 'app@a.test', subject: '{{x}}', text: 'a line', personalizations: [injected] }
  t.match(await errorOf(service.send(lines)), [400, { errors: [{ field: 'subject' }] }])
  const unnamed = await app.rest('POST', '/v3/mail/send', {
    body: { personalizations: [{ to: [{ email: 'bob@b.test' }] }], from: { email: 'app@a.test' } },
  })
  t.match(unnamed.json(), { errors: [{ field: 'content' }, { field: 'personalizations[0].subject' }] })
})

t.test('all emails of a request have the whole body and the whole file', async (t) => {
  const to = ['xia@b.test', 'yan@b.test', 'zac@b.test']
  await service.send({
    ...{ from: 'app@a.test', subject: 'hello', html: '<p>much to read</p>'.repeat(5_000) },
    personalizations: to.map((address) => ({ to: address })),
    attachments: [{ filename: 'a.txt', content: Buffer.alloc(100_000, 'a').toString('base64'), type: 'text/plain' }],
  })
  const isOne = (given: string): boolean => to.some((address) => given.startsWith(`<${address}>`))
  const arrived = (): typeof sink.messages => sink.messages.filter(({ rcptTo }) => rcptTo.some(isOne))
  await sink.waitUntil(() => arrived().length === 3)
  for (const { raw } of arrived()) {
    const mail = await simpleParser(raw)
    t.match([String(mail.html).length, mail.attachments[0]?.content.length], [95_000, 100_000])
  }
})
