/** Resend's own client library sends through the daemon. */

import { simpleParser } from 'mailparser'
import { Resend } from 'resend'
import t from 'tap'
import { openPlainApi } from '../../../helpers/http/plain-api.js'

const { app, sink, host } = await openPlainApi(t)
const baseUrl = `http://${host}`
const resend = new Resend(app.key, { baseUrl })
const email = { from: 'The App <app@a.test>', to: 'bob@b.test', subject: 'hello', text: 'a line' }
const png = Buffer.from('89504e470d0a1a0a0000', 'hex')

function mailTo(address: string): Promise<Awaited<ReturnType<typeof simpleParser>>> {
  const mail = sink.messages.findLast(({ rcptTo }) => rcptTo[0]?.startsWith(`<${address}>`))
  return simpleParser(mail?.raw ?? '')
}

t.test('an email with everything arrives', async (t) => {
  const { data, error, headers } = await resend.emails.send(
    {
      ...email,
      to: ['zoe@b.test', 'Carol <carol@b.test>'],
      cc: 'dan@b.test',
      bcc: ['eve@b.test'],
      replyTo: 'help@a.test',
      html: '<p>It is attached. <img src="cid:logo"></p>',
      headers: { 'X-Campaign': 'spring' },
      tags: [{ name: 'campaign', value: 'spring' }],
      topicId: 'news',
      attachments: [
        { filename: 'bill.txt', content: Buffer.from('99.00'), contentType: 'text/plain' },
        { filename: 'logo.png', content: png.toString('base64'), contentId: 'logo' },
      ],
    },
    { idempotencyKey: 'once' },
  )
  t.equal(error, null)
  t.type(headers?.['x-request-id'], 'string')
  const id = data?.id ?? ''
  await app.waitUntilSettled(id)
  const mail = await mailTo('zoe@b.test')
  t.match([mail.subject, mail.replyTo?.text, mail.headers.get('x-campaign')], ['hello', 'help@a.test', 'spring'])
  t.match(mail.attachments.map(({ filename, cid, contentType }) => [filename, cid, contentType]).sort(), [
    ['bill.txt', undefined, 'text/plain'],
    ['logo.png', 'logo', 'image/png'],
  ])
  const shown = await resend.emails.get(id)
  t.match(shown.data, {
    ...{ object: 'email', id, from: 'app@a.test', to: ['zoe@b.test', 'carol@b.test'], cc: ['dan@b.test'] },
    ...{ bcc: ['eve@b.test'], reply_to: ['help@a.test'], subject: 'hello', text: 'a line', last_event: 'delivered' },
    ...{ scheduled_at: null, tags: [{ name: 'campaign', value: 'spring' }], message_id: `<${id}@mail.service.test>` },
  })
  const again = await resend.emails.send(email, { idempotencyKey: 'once' })
  t.match(again.error, { name: 'conflict', statusCode: 409 })
})

t.test('errors are where the library reads them', async (t) => {
  const unknown = new Resend(`ph_${'x'.repeat(43)}`, { baseUrl })
  t.match((await unknown.emails.send(email)).error, { name: 'invalid_api_key', statusCode: 401, message: /./ })
  const foreign = await resend.emails.send({ ...email, from: 'app@elsewhere.test' })
  t.match(foreign.error, { name: 'invalid_from_address', statusCode: 400, message: /verified/ })
  const url = { filename: 'bill.pdf', path: 'https://files.example/bill.pdf' }
  const fetched = await resend.emails.send({ ...email, attachments: [url] })
  t.match(fetched.error, { message: /^attachments\[0\]\.path: .*nothing is fetched.*content/ })
  t.match((await resend.emails.get('nothing')).error, { name: 'email_not_found', statusCode: 404 })
  const both = { ...email, scheduled_for: '2030-01-31T09:00:00Z', scheduled_at: '2030-01-31T09:00:00Z' }
  t.match((await resend.post('/emails', both)).error, {
    message: 'scheduled_at: is another name of scheduled_for: give one',
  })
  const named = { ...email, template: { id: 'welcome' }, template_id: 'x' }
  t.match((await resend.post('/emails', named)).error, { message: /^template: .*give no template_id/ })
  const ids = { attachments: ['a', 'b'].map((filename) => ({ filename, content: '', content_id: 'logo' })) }
  t.match((await resend.post('/emails', { ...email, ...ids })).error, { message: /needs a different cid/ })
})

t.test('an email is scheduled, moved and cancelled', async (t) => {
  const [first, second] = [2, 3].map((hours) => new Date(app.now() + hours * 3_600_000).toISOString())
  const words = await resend.emails.send({ ...email, scheduledAt: 'in 1 min' })
  t.match(words.error, { name: 'validation_error', message: /^scheduled_at: allowed: ISO 8601.*compute the time/ })
  const made = await resend.emails.send({ ...email, scheduledAt: first ?? '' })
  const id = made.data?.id ?? ''
  t.match((await resend.emails.get(id)).data, { last_event: 'scheduled', scheduled_at: first })
  t.match((await resend.emails.update({ id, scheduledAt: second ?? '' })).data, {
    object: 'email',
    id,
    scheduled_at: second,
  })
  t.match((await resend.patch(`/emails/${id}`, {})).error, { message: 'scheduled_for: is required' })
  t.match((await resend.patch(`/emails/${id}`, { scheduled_for: first, scheduled_at: first })).error, {
    message: /another name/,
  })
  t.match((await resend.emails.cancel(id)).data, { object: 'email', id, last_event: 'canceled' })
  t.match((await resend.emails.cancel(id)).error, { name: 'conflict', statusCode: 409 })
})

t.test('the emails are listed in pages', async (t) => {
  const sent: string[] = []
  for (let count = 0; count < 3; count += 1) sent.unshift((await resend.emails.send(email)).data?.id ?? '')
  const first = await resend.emails.list({ limit: 2 })
  t.match(first.data, { object: 'list', has_more: true })
  t.match(first.data?.data[0], { from: 'app@a.test', to: ['bob@b.test'], cc: [], subject: 'hello', scheduled_at: null })
  const second = await resend.emails.list({ limit: 1, after: sent[1] ?? '' })
  t.same(
    [...(first.data?.data ?? []), ...(second.data?.data ?? [])].map(({ id }) => id),
    sent,
  )
  t.match((await resend.emails.list({ after: 'nothing' })).data, { data: [], has_more: false })
  t.match((await resend.emails.list({ before: sent[0] ?? '' })).error, {
    name: 'validation_error',
    message: /^before: /,
  })
})

t.test('of a strict batch, which is the default, all or nothing is sent', async (t) => {
  const before = (await app.rows('SELECT id FROM emails')).length
  const bad = await resend.batch.send([email, { ...email, to: 'nobody' }, email])
  t.match(bad.error, { name: 'invalid_email_address', statusCode: 422, message: /^email 1: to.*nothing was sent$/ })
  const late = await resend.batch.send([email, { ...email, from: 'app@elsewhere.test' }])
  t.match(late.error, { name: 'invalid_from_address', statusCode: 422, message: /^email 1: .*nothing was sent$/ })
  t.equal((await app.rows('SELECT id FROM emails')).length, before, 'nothing is stored')
  const good = await resend.batch.send([email, { ...email, to: 'carol@b.test' }])
  t.match(good.data?.data, [{ id: /^[0-9a-f-]{36}$/ }, { id: /^[0-9a-f-]{36}$/ }])
  t.equal((await app.rows('SELECT id FROM emails')).length, before + 2)
})

t.test('of a permissive batch the good emails are sent and the bad ones are named', async (t) => {
  const { data } = await resend.batch.send([{ ...email, to: 'nobody' }, email], { batchValidation: 'permissive' })
  t.match(data, { data: [{ id: /./ }], errors: [{ index: 0, message: /^to: / }] })
  t.equal(data?.data.length, 1)
  const other = await resend.post('/emails/batch', [email], { headers: { 'x-batch-validation': 'lenient' } })
  t.match(other.error, { name: 'validation_error', message: /strict, permissive/ })
})

t.test('a suppressed recipient does not refuse a batch', async (t) => {
  await app.rest('POST', '/v1/suppressions', { body: { email: 'gone@b.test' } })
  const gone = { ...email, to: 'gone@b.test' }
  t.match((await resend.emails.send(gone)).error, { name: 'all_recipients_suppressed', statusCode: 422 })
  const { data } = await resend.batch.send([gone, email])
  t.match((await resend.emails.get(data?.data[0]?.id ?? '')).data, { last_event: 'suppressed' })
})

t.test('a template is named by its alias or its id', async (t) => {
  const body = { name: 'Welcome', alias: 'welcome', subject: 'Hello {{{NAME}}}', html: '<p>Welcome, {{{NAME}}}.</p>' }
  const made = await app.rest('POST', '/v1/templates', { body })
  for (const id of ['welcome', made.json<{ id: string }>().id]) {
    const template = { id, variables: { NAME: `Zoe of ${id}` } }
    const { data } = await resend.emails.send({ from: 'app@a.test', to: 'tess@b.test', template })
    await app.waitUntilSettled(data?.id ?? '')
    t.equal((await mailTo('tess@b.test')).subject, `Hello Zoe of ${id}`)
  }
  const missing = await resend.emails.send({ from: 'app@a.test', to: 'tess@b.test', template: { id: 'missing' } })
  t.match(missing.error, { name: 'template_not_found', statusCode: 404 })
})
