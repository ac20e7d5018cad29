/** Amazon's own client library sends through the daemon, and so does nodemailer with it. */
import { SESv2Client, SendBulkEmailCommand, SendEmailCommand, type SendEmailCommandInput } from '@aws-sdk/client-sesv2'
import { simpleParser } from 'mailparser'
import { createTransport } from 'nodemailer'
import t from 'tap'
import { openPlainApi } from '../../../helpers/http/plain-api.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const { app, sink, host } = await openPlainApi(t)

function sesClient(accessKeyId: string): SESv2Client {
  const credentials = { accessKeyId, secretAccessKey: 'unused' }
  return new SESv2Client({ region: 'eu-west-1', endpoint: `http://${host}`, credentials, maxAttempts: 1 })
}

const client = sesClient(app.key)
t.teardown(() => client.destroy())

async function receive(recipient: string): Promise<Awaited<ReturnType<typeof simpleParser>>> {
  const found = () => sink.messages.find(({ rcptTo }) => rcptTo[0]?.startsWith(`<${recipient}>`))
  await waitUntil(`mail for ${recipient}`, found)
  return simpleParser(found()?.raw ?? '')
}

const simple = (to: string): SendEmailCommandInput => ({
  FromEmailAddress: '"The App, Inc." <app@a.test>',
  Destination: { ToAddresses: [to] },
  Content: { Simple: { Subject: { Data: 'hello' }, Body: { Text: { Data: 'a line' } } } },
})

t.test('an email of parts arrives', async (t) => {
  const { MessageId: id = '', $metadata: metadata } = await client.send(
    new SendEmailCommand({
      FromEmailAddress: '"The App, Inc." <app@a.test>',
      Destination: { ToAddresses: ['Bob <bob@b.test>'], CcAddresses: ['carol@b.test'], BccAddresses: ['eve@b.test'] },
      ReplyToAddresses: ['help@a.test'],
      Content: {
        Simple: {
          Subject: { Data: 'Your bill', Charset: 'UTF-8' },
          Body: { Html: { Data: '<p>It is attached.</p>' }, Text: { Data: 'It is attached.' } },
          Headers: [{ Name: 'X-Campaign', Value: 'spring' }],
          Attachments: [{ FileName: 'bill.txt', RawContent: Buffer.from('99.00'), ContentType: 'text/plain' }],
        },
      },
      EmailTags: [{ Name: 'customer', Value: '17' }],
      ConfigurationSetName: 'default',
    }),
  )
  t.match(metadata.requestId, /^[0-9a-f-]{36}$/)
  const { tags, recipients } = await app.waitUntilSettled(id)
  t.same(tags, [{ name: 'customer', value: '17' }])
  t.equal(recipients.length, 3)
  const mail = await receive('bob@b.test')
  t.match([mail.subject, mail.headers.get('x-campaign'), mail.replyTo?.text], ['Your bill', 'spring', 'help@a.test'])
  t.same(
    mail.attachments.map(({ content }) => content.toString()),
    ['99.00'],
  )
})

t.test('a message with line feeds alone arrives, with the envelope of the request', async (t) => {
  const Data = Buffer.from('From: app@a.test\nTo: Friends <friends@b.test>\nSubject: raw\n\na line\nanother\n')
  const { MessageId: id = '' } = await client.send(
    new SendEmailCommand({ Destination: { ToAddresses: ['dan@b.test'] }, Content: { Raw: { Data } } }),
  )
  const { recipients } = await app.waitUntilSettled(id)
  t.same(
    recipients.map(({ email }) => email),
    ['dan@b.test'],
  )
  t.match((await receive('dan@b.test')).text, 'a line\nanother')
})

t.test('a key makes one email of equal requests, whatever their content', async (t) => {
  const Data = Buffer.from('From: app@a.test\nTo: key@b.test\nSubject: once\n\na line\n').toString('base64')
  const contents = { Raw: { Raw: { Data } }, Simple: simple('key@b.test').Content }
  for (const [name, Content] of Object.entries(contents)) {
    const post = (key: string, to: string) => {
      const body = { FromEmailAddress: 'app@a.test', Destination: { ToAddresses: [to] }, Content }
      return app.rest('POST', '/v2/email/outbound-emails', { body, headers: { 'idempotency-key': key } })
    }
    const first = await post(name, 'key@b.test')
    t.match([first.status, first.json()], [200, { MessageId: /^[0-9a-f-]{36}$/ }], name)
    t.same((await post(name, 'key@b.test')).json(), first.json(), name)
    t.equal((await post(name, 'other@b.test')).status, 409, name)
    const long = await post('x'.repeat(257), 'key@b.test')
    t.match([long.status, long.json()], [400, { message: /^Idempotency-Key: 1 to 256 characters/ }], name)
  }
})

t.test('tags of the request and of the header of a message count together', async (t) => {
  const EmailTags = Array.from({ length: 20 }, (_, place) => ({ Name: `n${place}`, Value: 'x' }))
  const Data = Buffer.from('X-Service-Tag: a=b\nFrom: app@a.test\nTo: tag@b.test\nSubject: raw\n\na line\n')
  const send = (tags: typeof EmailTags) =>
    client.send(new SendEmailCommand({ Content: { Raw: { Data } }, EmailTags: tags }))
  await t.rejects(send(EmailTags), { name: 'BadRequestException', message: /^tags: 21 with those of the header/ })
  const { MessageId: id = '' } = await send(EmailTags.slice(1))
  t.match((await app.waitUntilSettled(id)).tags, { length: 20 })
})

t.test('nodemailer sends through it', async (t) => {
  const transport = createTransport({ SES: { sesClient: client, SendEmailCommand } })
  const sent = await transport.sendMail({ from: 'app@a.test', to: 'zoe@b.test', subject: 'hello', text: 'a line' })
  t.match((sent as { messageId: string }).messageId, /^<[0-9a-f-]{36}@/)
  t.match((await receive('zoe@b.test')).subject, 'hello')
})

t.test('emails are made from a template', async (t) => {
  const body = { name: 'Welcome', alias: 'welcome', subject: 'Hello {{name}}', text: 'Welcome, {{name}}.' }
  await app.rest('POST', '/v1/templates', { body })
  const TemplateName = 'welcome'
  const one = { ...simple('t1@b.test'), Content: { Template: { TemplateName, TemplateData: '{"name": "One"}' } } }
  await client.send(new SendEmailCommand(one))
  t.match((await receive('t1@b.test')).subject, 'Hello One')
  const { BulkEmailEntryResults: results = [] } = await client.send(
    new SendBulkEmailCommand({
      FromEmailAddress: 'app@a.test',
      DefaultContent: { Template: { TemplateName, TemplateData: '{"name": "you"}' } },
      BulkEmailEntries: [
        { Destination: { ToAddresses: ['t2@b.test'] } },
        {
          Destination: { ToAddresses: ['t3@b.test'] },
          ReplacementEmailContent: { ReplacementTemplate: { ReplacementTemplateData: '{"name": "Three"}' } },
        },
      ],
    }),
  )
  t.match(results, [{ Status: 'SUCCESS' }, { Status: 'SUCCESS' }])
  t.match([(await receive('t2@b.test')).subject, (await receive('t3@b.test')).subject], ['Hello you', 'Hello Three'])
})

t.test('errors are the exceptions of the library', async (t) => {
  const stranger = sesClient(`ph_${'x'.repeat(43)}`)
  t.teardown(() => stranger.destroy())
  await t.rejects(stranger.send(new SendEmailCommand(simple('bob@b.test'))), { name: 'UnrecognizedClientException' })
  const foreign = { ...simple('bob@b.test'), FromEmailAddress: 'app@elsewhere.test' }
  await t.rejects(client.send(new SendEmailCommand(foreign)), {
    name: 'MailFromDomainNotVerifiedException',
    message: /verified/,
  })
  await t.rejects(client.send(new SendEmailCommand({ ...simple('bob@b.test'), Destination: {} })), {
    name: 'BadRequestException',
    message: 'Destination: names no recipients',
  })
  t.notOk(
    app.lines.some((line) => line.includes(app.key)),
    'the log has no key',
  )
})
