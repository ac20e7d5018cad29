/** Postmark's library for Ruby sends through the daemon over verified TLS. */
import { join } from 'node:path'
import { type ParsedMail, simpleParser } from 'mailparser'
import t from 'tap'
import { openPlainApi } from '../helpers/http/plain-api.js'
import { tlsHost } from '../helpers/http/tls-host.js'
import { runProgram, skipWithoutModule } from '../helpers/programs/run-program.js'
import { waitUntil } from '../helpers/wait-until.js'

const skip = skipWithoutModule(['ruby', '-e', 'require "postmark"; require "mail"'], 'ruby-postmark')

t.test('the library for Ruby', { skip }, async (t) => {
  const { app, sink } = await openPlainApi(t)
  const template = { name: 'Welcome', alias: 'welcome', subject: 'Hello {{name}}', text: 'Welcome, {{name}}.' }
  await app.rest('POST', '/v1/templates', { body: template })
  for (const email of ['gone@b.test', 'away@b.test']) await app.rest('POST', '/v1/suppressions', { body: { email } })
  const caFile = join(app.config.service.data_dir, 'tls', 'cert.pem')
  const [, port = ''] = tlsHost(app).split(':')
  const program = ['ruby', 'test/journeys/support/postmark-sender.rb', port, app.key]
  const { stdout, stderr } = await runProgram(['env', `SSL_CERT_FILE=${caFile}`, ...program])
  t.equal(stderr, '')
  const { answers, errors } = JSON.parse(stdout) as Output
  const receive = async (recipient: string): Promise<ParsedMail> => {
    const found = () => sink.messages.find(({ rcptTo }) => rcptTo[0]?.startsWith(`<${recipient}>`))
    return simpleParser((await waitUntil(`mail for ${recipient}`, found)).raw)
  }

  await t.test('a message of the library for mail', async (t) => {
    const mail = await receive('mail@b.test')
    t.match(mail, { subject: 'Rechnung für März ☂', text: 'Grüße', html: '<p>Grüße</p>' })
    t.equal(mail.headers.get('x-own'), '1')
    t.same(
      mail.attachments.map(({ filename, content }) => [filename, content.toString()]),
      [['bill.txt', '99.00']],
    )
    await receive('cc@b.test')
    t.same((await app.findStory(answers.mail)).tags, [
      { name: 'tag', value: 'welcome' },
      { name: 'order', value: '5' },
    ])
  })

  await t.test('a batch with a wrong address, and an email from a template', async (t) => {
    t.match(answers.batch, [{ error_code: 0 }, { error_code: 300, message: /To: / }, { error_code: 0 }])
    const recipients = ['one@b.test', 'two@b.test', 'template@b.test']
    const subjects = await Promise.all(recipients.map(async (recipient) => (await receive(recipient)).subject))
    t.same(subjects, ['batch', 'batch', 'Hello One'])
  })

  t.match(errors, {
    key: { name: 'Postmark::InvalidApiKeyError', code: 10, message: /wrong or revoked/ },
    sender: { name: 'Postmark::ApiInputError', code: 400, message: /elsewhere\.test is not a verified domain/ },
    address: { name: 'Postmark::InvalidEmailAddressError', code: 300, message: /^To: / },
    suppressed: { name: 'Postmark::InactiveRecipientError', code: 406, recipients: ['gone@b.test', 'away@b.test'] },
  })
})

interface Output {
  readonly answers: { readonly mail: string; readonly batch: unknown }
  readonly errors: unknown
}
