/** nodemailer sends over the transport of the client: the message as composed, to all recipients of the envelope. */
import { simpleParser } from 'mailparser'
import { createTransport } from 'nodemailer'
import t from 'tap'
import { PosthornTransport } from '../../../clients/js/src/nodemailer-transport.js'
import { openFaultyProxy } from '../../helpers/http/faulty-proxy.js'
import { openPlainApi } from '../../helpers/http/plain-api.js'

t.test('a message with an attachment goes to To, Cc and Bcc, and the message does not name Bcc', async (t) => {
  const { app, sink, host } = await openPlainApi(t)
  const proxy = await openFaultyProxy(t, host)
  const transport = createTransport(new PosthornTransport({ url: proxy.url, key: app.key, firstPause: 2 }))
  proxy.plan('lost')
  const sent = await transport.sendMail({
    from: 'The App <app@a.test>',
    to: 'bob@b.test',
    cc: 'carol+x@b.test',
    bcc: 'dan@b.test',
    subject: 'Grüße',
    text: 'It is attached.',
    html: '<p>It is attached.</p>',
    attachments: [{ filename: 'bill.txt', content: 'a,b\n' }],
  })
  const recipients = ['bob@b.test', 'carol+x@b.test', 'dan@b.test']
  t.match(sent, { messageId: /^<.+@a\.test>$/, accepted: recipients, rejected: [], envelope: { from: 'app@a.test' } })
  const story = await app.waitUntilSettled(sent.id)
  t.same(
    story.recipients.map(({ email, status }) => [email, status]),
    recipients.map((email) => [email, 'delivered']),
  )
  t.equal(story.message_id, sent.messageId)
  t.equal(
    (await app.rows<{ n: number }>('select count(*) n from emails'))[0]?.n,
    1,
    'the lost answer was asked for again',
  )
  const [message = ''] = sink.messages.map(({ raw }) => raw.toString())
  t.notMatch(message, /dan@b\.test/)
  const parsed = await simpleParser(message)
  t.equal(parsed.subject, 'Grüße')
  t.match(parsed.attachments, [{ filename: 'bill.txt', content: Buffer.from('a,b\n') }])
})

t.test('a message with the same Message-ID to the same recipients is sent once', async (t) => {
  const { app, host } = await openPlainApi(t)
  const transport = createTransport(new PosthornTransport({ url: `http://${host}`, key: app.key }))
  const mail = { from: 'app@a.test', to: 'bob@b.test', messageId: '<bill-1@a.test>', date: new Date(0), text: 'a line' }
  const first = await transport.sendMail(mail)
  t.equal((await transport.sendMail(mail)).id, first.id)
  await t.rejects(transport.sendMail({ ...mail, text: 'another line' }), { name: 'PosthornError', status: 409 })
  t.not((await transport.sendMail({ ...mail, to: 'carol@b.test' })).id, first.id)
  const { messageId: _, ...anonymous } = mail
  t.not((await transport.sendMail(anonymous)).id, (await transport.sendMail(anonymous)).id)
  t.equal((await app.rows<{ n: number }>('select count(*) n from emails'))[0]?.n, 4)
})

t.test('a refusal reaches the caller of nodemailer', async (t) => {
  const { app, host } = await openPlainApi(t)
  const transport = createTransport(new PosthornTransport({ url: `http://${host}`, key: app.key }))
  const mail = { from: 'app@elsewhere.test', to: 'bob@b.test', subject: 'hello', text: 'a line' }
  await t.rejects(transport.sendMail(mail), { name: 'PosthornError', code: 'invalid_from_address', status: 400 })
})
