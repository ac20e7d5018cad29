/** The Mailgun backend of django-anymail sends through the daemon. */
import { simpleParser } from 'mailparser'
import t from 'tap'
import { openPlainApi } from '../helpers/http/plain-api.js'
import { python, runProgram, skipWithoutModule } from '../helpers/programs/run-program.js'
import { waitUntil } from '../helpers/wait-until.js'

const skip = skipWithoutModule([python, '-c', 'import anymail'], 'python3-django-anymail')

t.test('each recipient gets the own values, tags and variables', { skip }, async (t) => {
  const { app, sink, host } = await openPlainApi(t)
  const program = 'test/journeys/support/anymail-sender.py'
  const { stdout, stderr } = await runProgram([python, program, `http://${host}`, app.key])
  t.equal(stderr, '')
  const { id, status } = JSON.parse(stdout) as { readonly id: string; readonly status: readonly string[] }
  t.same(status, ['queued'])
  const rows = await app.rows<{ id: string; tags: string }>(
    'select id, tags from emails where message_id = ? order by id',
    id,
  )
  t.same(
    rows
      .map(({ tags }) =>
        (JSON.parse(tags) as { readonly name: string; readonly value: string }[])
          .map(({ name, value }) => `${name}=${value}`)
          .sort(),
      )
      .sort(),
    [1, 2].map((at) => [`id=${at}`, 'order=5', 'tag=one', 'tag=two']),
  )
  for (const [address, name] of [
    ['bob@b.test', 'Bob'],
    ['carol@b.test', 'Carol'],
  ]) {
    const found = await waitUntil('the mail', () =>
      sink.messages.find(({ rcptTo }) => rcptTo[0]?.startsWith(`<${address}>`)),
    )
    const mail = await simpleParser(found.raw)
    t.match([mail.subject, mail.text?.trim(), mail.html], [`Hello ${name}`, `Dear ${name}`, `<p>Dear ${name}</p>`])
    t.match([mail.replyTo?.text, mail.headers.get('x-own'), mail.messageId], ['"Help" <help@a.test>', '1', id])
    t.same(
      mail.attachments.map(({ filename, content }) => [filename, content.toString()]),
      [['bill.txt', '99.00']],
    )
  }
})
