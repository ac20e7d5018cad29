/** ZeptoMail's own client library sends through the daemon. */
import { simpleParser } from 'mailparser'
import t from 'tap'
import { SendMailClient } from 'zeptomail'
import { openPlainApi } from '../../../helpers/http/plain-api.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const { app, sink, host } = await openPlainApi(t)
/** The library adds `https://` itself unless it is told not to. */
const mailClient = (key: string): SendMailClient =>
  new SendMailClient({ url: `http://${host}/`, token: `Zoho-enczapikey ${key}` }, { useHttps: false })
const client = mailClient(app.key)

async function receive(recipient: string): Promise<Awaited<ReturnType<typeof simpleParser>>> {
  const found = () => sink.messages.find(({ rcptTo }) => rcptTo[0]?.startsWith(`<${recipient}>`))
  await waitUntil(`mail for ${recipient}`, found)
  return simpleParser(found()?.raw ?? '')
}

const to = (address: string, merge?: Readonly<Record<string, string>>) => ({
  email_address: { address, name: 'Bob' },
  ...(merge === undefined ? {} : { merge_info: merge }),
})
const from = { address: 'app@a.test', name: 'The App' }

t.test('an email with everything arrives', async (t) => {
  const answer = await client.sendMail({
    from,
    to: [to('bob@b.test')],
    cc: [to('carol@b.test')],
    bcc: [to('eve@b.test')],
    reply_to: [{ address: 'help@a.test', name: 'Help' }],
    subject: 'Your bill',
    htmlbody: '<p>It is attached. <img src="cid:logo"></p>',
    textbody: 'It is attached.',
    track_opens: true,
    track_clicks: false,
    client_reference: 'order-17',
    mime_headers: { 'X-Campaign': 'spring' },
    attachments: [{ content: Buffer.from('99.00').toString('base64'), name: 'bill.txt', mime_type: 'text/plain' }],
    inline_images: [{ content: 'iVBORw0KGgo=', cid: 'logo', mime_type: 'image/png' }],
  })
  t.match(answer, { message: 'OK', object: 'email', data: [{ code: 'EM_104' }] })
  const { tags, tracking, recipients } = await app.waitUntilSettled(answer.request_id)
  t.same(tags, [{ name: 'client_reference', value: 'order-17' }])
  t.match(tracking, { open: true, click: false })
  t.equal(recipients.length, 3)
  const mail = await receive('bob@b.test')
  t.match([mail.subject, mail.headers.get('x-campaign')], ['Your bill', 'spring'])
})

t.test('a batch sends one email to each recipient', async (t) => {
  const recipients = [to('b1@b.test', { name: 'One' }), to('b2@b.test', { name: 'Two\r\nBcc: eve@b.test' })]
  await client.sendBatchMail({ from, to: recipients, subject: 'Hello {{name}}', textbody: 'Dear {{name}}' })
  t.match(
    [(await receive('b1@b.test')).subject, (await receive('b2@b.test')).subject],
    ['Hello One', 'Hello Two Bcc: eve@b.test'],
  )
})

t.test('templates are found by their key and alias', async (t) => {
  const body = { name: 'Welcome', alias: 'welcome', subject: 'Hello {{name}}', text: 'Welcome, {{name}}.' }
  const made = await app.rest('POST', '/v1/templates', { body })
  const { id } = made.json<{ id: string }>()
  await client.sendMailWithTemplate({ template_key: id, from, to: [to('t1@b.test')], merge_info: { name: 'One' } })
  await client.mailBatchWithTemplate({ template_alias: 'welcome', from, to: [to('t2@b.test', { name: 'Two' })] })
  t.match([(await receive('t1@b.test')).subject, (await receive('t2@b.test')).subject], ['Hello One', 'Hello Two'])
})

t.test('errors have details', async (t) => {
  const errorOf = (sent: Promise<unknown>): Promise<unknown> =>
    sent.then(
      () => t.fail('it was sent'),
      (error: unknown) => error,
    )
  const stranger = mailClient('ph_wrong')
  const email = { from, to: [to('bob@b.test')], subject: 'hello', textbody: 'a line' }
  t.match(await errorOf(stranger.sendMail(email)), { error: { code: 'TM_4001' } })
  const incomplete = await app.rest('POST', '/v1.1/email', { body: { ...email, subject: null } })
  t.match(incomplete.json(), {
    error: { code: 'TM_3201', details: [{ target: 'subject', message: 'is required' }] },
  })
  t.match(await errorOf(client.sendMail({ ...email, from: { address: 'app@elsewhere.test', name: '' } })), {
    error: { code: 'TM_3301', details: [{ target: 'from' }] },
  })
})
