/** Amazon's client library for Python sends through the daemon over verified TLS. Debian's reads no address from the environment yet. */
import { join } from 'node:path'
import { type ParsedMail, simpleParser } from 'mailparser'
import t from 'tap'
import { openPlainApi } from '../helpers/http/plain-api.js'
import { tlsHost } from '../helpers/http/tls-host.js'
import { python, runProgram, skipWithoutModule } from '../helpers/programs/run-program.js'
import { waitUntil } from '../helpers/wait-until.js'

const skip = skipWithoutModule([python, '-c', 'import boto3'], 'python3-boto3')

t.test('boto3', { skip }, async (t) => {
  const { app, sink } = await openPlainApi(t)
  const template = { name: 'Welcome', alias: 'welcome', subject: 'Hello {{name}}', text: 'Welcome, {{name}}.' }
  await app.rest('POST', '/v1/templates', { body: template })
  const caFile = join(app.config.service.data_dir, 'tls', 'cert.pem')
  const program = [python, 'test/journeys/support/boto3-sender.py', `https://${tlsHost(app)}`, app.key]
  const { stdout, stderr } = await runProgram(['env', `AWS_CA_BUNDLE=${caFile}`, ...program])
  t.equal(stderr, '')
  const { answers, errors } = JSON.parse(stdout) as Output
  const receive = async (recipient: string): Promise<ParsedMail> => {
    const found = () => sink.messages.find(({ rcptTo }) => rcptTo[0]?.startsWith(`<${recipient}>`))
    return simpleParser((await waitUntil(`mail for ${recipient}`, found)).raw)
  }

  await t.test('an email of parts', async (t) => {
    t.match(await receive('simple@b.test'), {
      from: { text: '"Grüße, App" <app@a.test>' },
      replyTo: { text: 'help@a.test' },
      subject: 'Rechnung für März ☂',
      text: 'Grüße',
      html: '<p>Grüße</p>',
    })
    t.same((await app.findStory(answers.simple.MessageId)).tags, [{ name: 'customer', value: '17' }])
    t.match(answers.simple.ResponseMetadata, { HTTPStatusCode: 200, RequestId: /^[0-9a-f-]{36}$/ })
  })

  await t.test('a composed message, to the recipients in its header', async (t) => {
    const mail = await receive('raw@b.test')
    t.match([mail.subject, mail.text], ['raw', 'a line'])
    t.same(
      mail.attachments.map(({ filename, content }) => [filename, content.toString()]),
      [['Übersicht.pdf', '99.00']],
    )
    t.match(await receive('raw-cc@b.test'), { subject: 'raw' })
    t.equal((await app.findStory(answers.raw.MessageId)).recipients.length, 2)
  })

  await t.test('emails from a template', async (t) => {
    const recipients = ['template@b.test', 'bulk@b.test', 'bulk-own@b.test']
    const subjects = await Promise.all(recipients.map(async (recipient) => (await receive(recipient)).subject))
    t.same(subjects, ['Hello One', 'Hello you', 'Hello Two'])
    t.match(answers.bulk.BulkEmailEntryResults, [{ Status: 'SUCCESS' }, { Status: 'SUCCESS' }])
  })

  await t.test('errors are the exceptions of the library, with their reason', async (t) => {
    t.match(errors, {
      key: ['ClientError', 'UnrecognizedClientException', /wrong or revoked/],
      sender: [
        'MailFromDomainNotVerifiedException',
        'MailFromDomainNotVerifiedException',
        /elsewhere\.test is not a ver/,
      ],
      recipients: ['BadRequestException', 'BadRequestException', 'Destination: names no recipients'],
      template: ['NotFoundException', 'NotFoundException', /none/],
      operation: ['NotFoundException', 'NotFoundException', /account/],
    })
    for (const [name, said] of Object.entries(errors)) t.match(said[3], /^[0-9a-f-]{36}$/, `${name} names the request`)
  })
})

interface Answer {
  readonly MessageId: string
  readonly ResponseMetadata: unknown
}

interface Output {
  readonly answers: {
    readonly [Kind in 'simple' | 'raw' | 'template']: Answer
  } & { readonly bulk: { readonly BulkEmailEntryResults: unknown } }
  readonly errors: Readonly<Record<string, readonly string[]>>
}
