/** Postmark's own client library sends through the daemon. */

import { simpleParser } from 'mailparser'
import { Errors, Models, ServerClient } from 'postmark'
import t from 'tap'
import { openPlainApi } from '../../../helpers/http/plain-api.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const { app, sink, host } = await openPlainApi(t)
const client = new ServerClient(app.key, { useHttps: false, requestHost: host })
const png = Buffer.from('89504e470d0a1a0a0000', 'hex')

t.test('an email with everything arrives', async (t) => {
  const answer = await client.sendEmail({
    From: '"The App, Inc." <app@a.test>',
    To: 'Bob <bob@b.test>, "Carol, of B" <carol@b.test>',
    Cc: 'dan@b.test',
    Bcc: 'eve@b.test',
    ReplyTo: 'help@a.test',
    Subject: 'Your bill',
    HtmlBody: '<p>It is attached. <img src="cid:logo"></p>',
    TextBody: 'It is attached.',
    Tag: 'bills',
    Metadata: { customer: '17' },
    Headers: [{ Name: 'X-Campaign', Value: 'spring' }],
    TrackOpens: true,
    TrackLinks: Models.LinkTrackingOptions.None,
    MessageStream: 'outbound',
    Attachments: [
      new Models.Attachment('bill.txt', Buffer.from('99.00').toString('base64'), 'text/plain'),
      new Models.Attachment('logo.png', png.toString('base64'), 'image/png', 'cid:logo'),
    ],
  })
  t.match(answer, { ErrorCode: 0, Message: 'OK', To: 'bob@b.test, carol@b.test', SubmittedAt: /Z$/ })
  const { recipients, ...record } = await app.waitUntilSettled(answer.MessageID)
  t.match(record, {
    from: 'app@a.test',
    tags: [
      { name: 'tag', value: 'bills' },
      { name: 'customer', value: '17' },
    ],
    tracking: { open: true, click: false },
  })
  t.same(recipients.map(({ email }) => email).sort(), ['bob@b.test', 'carol@b.test', 'dan@b.test', 'eve@b.test'])
  const mail = await simpleParser(sink.messages[0]?.raw ?? '')
  t.match(mail.from?.value, [{ name: 'The App, Inc.', address: 'app@a.test' }])
  t.match([mail.subject, mail.replyTo?.text, mail.headers.get('x-campaign')], ['Your bill', 'help@a.test', 'spring'])
  t.match(mail.attachments.map(({ filename, cid }) => [filename, cid]).sort(), [
    ['bill.txt', undefined],
    ['logo.png', 'logo'],
  ])
})

t.test('errors are of the class that the library makes of them', async (t) => {
  const email = { From: 'app@a.test', To: 'bob@b.test', Subject: 'hello', TextBody: 'a line' }
  const wrong = new ServerClient(`ph_${'x'.repeat(43)}`, { useHttps: false, requestHost: host })
  await t.rejects(wrong.sendEmail(email), { name: 'InvalidAPIKeyError', code: 10, statusCode: 401 })
  await t.rejects(client.sendEmail({ ...email, From: 'app@elsewhere.test' }), { code: 400, message: /verified/ })
  await t.rejects(client.sendEmail({ ...email, To: 'nobody' }), {
    name: 'InvalidEmailRequestError',
    code: 300,
    message: /^To: /,
  })
  await t.rejects(client.sendEmailWithTemplate({ ...email, TemplateAlias: 'missing', TemplateModel: {} }), {
    code: 1101,
  })
  await app.rest('POST', '/v1/suppressions', { body: { email: 'gone@b.test' } })
  const inactive = await client.sendEmail({ ...email, To: 'gone@b.test' }).catch((error: unknown) => error)
  t.ok(inactive instanceof Errors.InactiveRecipientsError)
  t.match(inactive, { code: 406, recipients: ['gone@b.test'] })
  const partly = await client.sendEmail({ ...email, To: 'gone@b.test, bob@b.test' })
  t.match(partly, {
    ErrorCode: 0,
    Message: 'Message OK, but will not deliver to these inactive addresses: gone@b.test',
  })
})

t.test('fields of a composed message that clients send along are left out', async (t) => {
  const Headers = ['Mime-Version', 'Content-Transfer-Encoding', 'Date'].map((Name) => ({ Name, Value: '1.0' }))
  const email = { From: 'app@a.test', To: 'composed@b.test', Subject: 'hello', TextBody: 'a line' }
  const { ErrorCode } = await client.sendEmail({ ...email, Headers: [...Headers, { Name: 'X-Own', Value: '1' }] })
  t.equal(ErrorCode, 0)
  const found = await waitUntil('the mail', () =>
    sink.messages.find(({ rcptTo }) => rcptTo[0]?.startsWith('<composed@b.test>')),
  )
  t.match(found.raw.toString(), /^X-Own: 1\r$/m)
  t.notMatch(found.raw.toString(), /^Date: 1\.0\r$/m)
})

t.test('a batch answers for each of its messages', async (t) => {
  const email = { From: 'app@a.test', To: 'bob@b.test', Subject: 'hello', TextBody: 'a line' }
  const answers = await client.sendEmailBatch([email, { ...email, To: '' }, email])
  t.match(
    answers.map(({ ErrorCode }) => ErrorCode),
    [0, 300, 0],
  )
  t.match(answers[1], { Message: /^To: / })
})

t.test('templates are found by their alias', async (t) => {
  const body = { name: 'Welcome', alias: 'welcome', subject: 'Hello {{name}}', text: 'Welcome, {{name}}.' }
  const made = await app.rest('POST', '/v1/templates', { body })
  t.match([made.status, made.json()], [201, { alias: 'welcome' }])
  const given = { From: 'app@a.test', To: 'zoe@b.test', TemplateAlias: 'welcome', TemplateModel: { name: 'Zoe' } }
  const one = await client.sendEmailWithTemplate(given)
  await app.waitUntilSettled(one.MessageID)
  const [many] = await client.sendEmailBatchWithTemplates([given])
  t.equal(many?.ErrorCode, 0)
  const mail = sink.messages.find(({ rcptTo }) => rcptTo[0]?.startsWith('<zoe@b.test>'))
  t.match((await simpleParser(mail?.raw ?? '')).subject, 'Hello Zoe')
})

t.test('a path that several services have is told apart by the field of the key', async (t) => {
  const body = { from: { email: 'app@a.test' } }
  const bearer = await app.rest('POST', '/v1/email', { body })
  t.match([bearer.status, bearer.json()], [404, { error: { message: /MailerSend.*docs\/coming-from\.md/ } }])
  const mine = await app.rest('POST', '/v1/email', { body, key: null, headers: { 'x-postmark-server-token': app.key } })
  t.match([mine.status, mine.json()], [422, { ErrorCode: 300, Message: 'From: is required' }])
})
