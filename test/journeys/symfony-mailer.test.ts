/** The transports of Symfony Mailer, which Laravel has too, send through the daemon over verified TLS. */
import { join } from 'node:path'
import { type ParsedMail, simpleParser } from 'mailparser'
import t from 'tap'
import { openPlainApi } from '../helpers/http/plain-api.js'
import { tlsHost } from '../helpers/http/tls-host.js'
import { runProgram, skipWithoutModule } from '../helpers/programs/run-program.js'
import { waitUntil } from '../helpers/wait-until.js'

const parts = ['Mailer/Bridge/Amazon', 'Mailer/Bridge/Mailgun', 'Mailer/Bridge/Postmark', 'Mailer/Bridge/Sendgrid']
const probe = [...parts, 'HttpClient'].map((part) => `require "Symfony/Component/${part}/autoload.php";`).join('')
const skip = skipWithoutModule(['php', '-r', probe], 'one of php-symfony-*-mailer or php-symfony-http-client')

/** The beginning of each DSN, with `KEY` for the key. */
const services: Readonly<Record<string, string>> = {
  postmark: 'postmark+api://KEY',
  mailgun: 'mailgun+api://KEY:a.test',
  'mailgun-message': 'mailgun+https://KEY:a.test',
  sendgrid: 'sendgrid+api://KEY',
  ses: 'ses+api://KEY:unused',
  'ses-message': 'ses+https://KEY:unused',
}

interface Sent {
  readonly id: string
  readonly plainId: string
  readonly refusal: string
}

t.test('Symfony Mailer', { skip }, async (t) => {
  const { app, sink } = await openPlainApi(t)
  const caFile = join(app.config.service.data_dir, 'tls', 'cert.pem')
  const script = 'test/journeys/support/symfony-mailer.php'
  const words = Object.entries(services).map(
    ([name, dsn]) => `${name}@b.test ${dsn.replace('KEY', app.key)}@${tlsHost(app)}`,
  )
  const { stdout, stderr } = await runProgram(['php', '-d', `openssl.cafile=${caFile}`, script, ...words])
  t.equal(stderr, '')
  const sent = stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Sent]))
  const receive = async (recipient: string): Promise<ParsedMail> => {
    const found = () => sink.messages.find(({ rcptTo }) => rcptTo[0]?.startsWith(`<${recipient}>`))
    return simpleParser((await waitUntil(`mail for ${recipient}`, found)).raw)
  }
  for (const [place, name] of Object.keys(services).entries()) {
    const { id = '', plainId = '', refusal = '' } = sent[place] ?? {}
    await t.test(name, async (t) => {
      const mail = await receive(`${name}@b.test`)
      t.match(content(mail), email)
      t.same(
        ['x-own', 'priority', 'bcc'].map((field) => mail.headers.get(field)),
        ['1', 'high', undefined],
      )
      t.same(
        mail.attachments.map(({ filename, content }) => [filename, content.toString()]),
        [
          ['logo.png', 'a picture'],
          ['bill.txt', '99.00'],
        ],
      )
      t.match(mail.html, picture, 'the parser has found the picture that the HTML names')
      await Promise.all(['cc', 'bcc'].map((kind) => receive(`${kind}-${name}@b.test`)))
      t.match(content(await receive(`plain-${name}@b.test`)), email)
      t.same(await tagsOf(id), name.startsWith('ses') ? [] : ['order=5', 'tag=welcome'])
      t.same(await tagsOf(plainId), [])
      t.match(refusal, /^Unable to send an email: .*app@elsewhere\.test: elsewhere\.test is not a verified domain/)
    })
  }

  async function tagsOf(id: string): Promise<readonly string[]> {
    const [email] = await app.rows<{ tags: string }>('select tags from emails where ? in (id, message_id)', id)
    const tags = JSON.parse(email?.tags ?? '[{"name": "no email has this id"}]') as readonly Tag[]
    return tags.map(({ name, value }) => `${name}=${value}`).sort()
  }
})

interface Tag {
  readonly name: string
  readonly value: string
}

const email = {
  from: '"Grüße, App" <app@a.test>',
  replyTo: '"Help" <help@a.test>',
  subject: 'Rechnung für März ☂',
  text: 'Grüße,\n.\nFrom a line that begins so.',
}

const picture = `src="data:image/png;base64,${Buffer.from('a picture').toString('base64')}"`

function content({
  from,
  replyTo,
  subject,
  text,
}: ParsedMail): Readonly<Record<keyof typeof email, string | undefined>> {
  return { from: from?.text, replyTo: replyTo?.text, subject, text: text?.trim() }
}
