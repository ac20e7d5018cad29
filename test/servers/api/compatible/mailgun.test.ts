/** Mailgun's own client library sends through the daemon. */

import type { MailgunMessageData } from 'mailgun.js/definitions'
import { simpleParser } from 'mailparser'
import t from 'tap'
import { failsWith, openMailgun } from '../../../helpers/http/mailgun-client.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const { app, sink, host, client, connect } = await openMailgun(t)
const png = Buffer.from('89504e470d0a1a0a0000', 'hex')

interface Row {
  readonly id: string
  readonly status: string
}

async function rowsOf(messageId: string | undefined): Promise<Row[]> {
  return app.rows<Row>('select id, status from emails where message_id = ?', messageId)
}

async function send(data: Readonly<Record<string, unknown>>): Promise<string> {
  const answer = await client.messages.create('a.test', { from: 'app@a.test', ...data } as MailgunMessageData)
  t.match(answer, { status: 200, id: /^<[^<>]+@[^<>]+>$/, message: 'Queued. Thank you.' })
  return answer.id ?? ''
}

/** The message that the sink has got for an address. */
async function received(address: string): ReturnType<typeof simpleParser> {
  const found = await waitUntil(`mail for ${address}`, () =>
    sink.messages.find(({ rcptTo }) => rcptTo.some((one) => one.startsWith(`<${address}>`))),
  )
  return simpleParser(found.raw)
}

t.test('an email with everything arrives', async (t) => {
  const id = await send({
    from: '"The App, Inc." <app@a.test>',
    to: ['Bob <bob@b.test>', '"Carol, of B" <carol@b.test>'],
    cc: 'dan@b.test',
    bcc: 'eve@b.test, fay@b.test',
    subject: 'Your bill',
    html: '<p>It is attached. <img src="cid:logo.png"></p>',
    text: 'It is attached.',
    'h:Reply-To': 'Help <help@a.test>',
    'h:X-Campaign': 'spring',
    'h:Sender': 'other@a.test',
    'v:customer': '17',
    'v:data': '{"a":1}',
    'h:X-Mailgun-Variables': '{"order":{"n":5},"plan":"pro"}',
    'o:tag': ['bills', 'spring'],
    'o:tracking': true,
    'o:tracking-clicks': false,
    attachment: [
      { data: Buffer.from('99.00'), filename: 'bill.txt' },
      { data: png, filename: 'schön.png' },
    ],
    inline: { data: png, filename: 'logo.png' },
  })
  const [row] = await rowsOf(id)
  const { recipients, ...record } = await app.waitUntilSettled(row?.id ?? '')
  t.match(record, {
    from: 'app@a.test',
    tags: [
      { name: 'tag', value: 'bills' },
      { name: 'tag', value: 'spring' },
      { name: 'order', value: '{"n":5}' },
      { name: 'plan', value: 'pro' },
      { name: 'customer', value: '17' },
      { name: 'data', value: '{"a":1}' },
    ],
    tracking: { open: true, click: false },
  })
  const addresses = ['bob', 'carol', 'dan', 'eve', 'fay'].map((name) => `${name}@b.test`)
  t.same(recipients.map(({ email }) => email).sort(), addresses)
  const mail = await received('bob@b.test')
  t.match(mail.from?.value, [{ name: 'The App, Inc.', address: 'app@a.test' }])
  t.match([mail.subject, mail.replyTo?.text, mail.messageId], ['Your bill', '"Help" <help@a.test>', id])
  t.match([mail.headers.get('x-campaign'), mail.headers.get('sender')], ['spring', undefined])
  t.match(mail.attachments.map(({ filename, cid, content }) => [filename, cid, content.length]).sort(), [
    ['bill.txt', undefined, 5],
    ['logo.png', 'logo.png', 10],
    ['schön.png', undefined, 10],
  ])
})

t.test('each recipient with variables gets an email alone', async (t) => {
  const id = await send({
    to: ['Gus <gus@b.test>', 'Hal@b.test', 'ida@b.test', 'gus@b.test'],
    subject: 'Hello %recipient.name%',
    html: `<p>%recipient.name%: <a href="%recipient.url%">a</a></p>${'<p>much</p>'.repeat(10_000)}`,
    text: 'Dear %recipient.name%, %recipient.none% %recipient_email%',
    'h:X-Id': '%recipient.id%',
    'h:Reply-To': 'reply+%recipient.id%@a.test',
    'v:id': '%recipient.id%',
    attachment: { data: Buffer.alloc(100_000, 'a'), filename: 'a.txt' },
    'recipient-variables': JSON.stringify({
      'gus@b.test': { name: 'Gus\r\nX-Injected: 1', id: 1, url: 'https://b.test/?a=1&b=2' },
      'hal@b.test': { name: 'Hal', id: 2, url: 'https://b.test/2' },
    }),
  })
  t.equal((await rowsOf(id)).length, 3)
  const gus = await received('gus@b.test')
  t.match([gus.subject, gus.headers.get('x-id'), gus.replyTo?.text], ['Hello Gus X-Injected: 1', '1', 'reply+1@a.test'])
  t.match([gus.headers.get('x-injected'), gus.to], [undefined, { text: '"Gus" <gus@b.test>' }])
  t.match(gus.html, /href="https:\/\/b\.test\/\?a=1&b=2"/)
  const hal = await received('Hal@b.test')
  t.match(hal.text, 'Dear Hal, %recipient.none% Hal@b.test')
  for (const mail of [gus, hal, await received('ida@b.test')]) {
    t.equal(mail.attachments[0]?.content.length, 100_000, 'all have the whole file')
    t.ok(String(mail.html).length > 100_000, 'all have the whole body')
  }
})

t.test('of header fields whose names differ in case only, the last one stays', async (t) => {
  const fields = { 'h:X-Campaign': 'first', 'h:x-campaign': 'last', 'h:Reply-To': 'a@a.test', 'h:reply-to': 'b@a.test' }
  await send({ to: 'case@b.test', subject: 'hello', text: 'a line', ...fields })
  const mail = await received('case@b.test')
  t.same(
    mail.headerLines.filter(({ key }) => key === 'x-campaign').map(({ line }) => line),
    ['x-campaign: last'],
  )
  t.equal(mail.replyTo?.text, 'b@a.test')
})

t.test('a key makes one email of equal forms, whose boundaries differ', async (t) => {
  const post = async (path: string, text: string, key = path) => {
    const form = new FormData()
    const fields = { from: 'app@a.test', to: 'key@b.test', subject: 'once', text }
    for (const [name, value] of Object.entries(fields)) form.append(name, value)
    form.append('attachment', new Blob(['99.00']), 'bill.txt')
    form.append('message', new Blob([`From: app@a.test\r\nSubject: once\r\n\r\n${text}\r\n`]), 'message')
    const authorization = `Basic ${Buffer.from(`api:${app.key}`).toString('base64')}`
    const headers = { authorization, 'idempotency-key': key }
    const answer = await fetch(`http://${host}/v3/a.test/${path}`, { method: 'POST', body: form, headers })
    return [answer.status, await answer.json()] as const
  }
  for (const path of ['messages', 'messages.mime']) {
    const first = await post(path, 'a line')
    t.equal(first[0], 200)
    t.same(await post(path, 'a line'), first)
    t.equal((await post(path, 'another'))[0], 409)
    const refused = { message: 'Idempotency-Key: 1 to 256 characters, found 257' }
    t.same(await post(path, 'a line', 'x'.repeat(257)), [400, refused])
  }
})

t.test('a thousand recipients', async (t) => {
  const to = Array.from({ length: 1_000 }, (_, at) => `member${at}@b.test`)
  const values = Object.fromEntries(to.map((address, at) => [address, { n: at }]))
  const data = { to, subject: 'News %recipient.n%', text: 'a line', 'recipient-variables': JSON.stringify(values) }
  const rows = await rowsOf(await send({ ...data, 'o:testmode': true }))
  t.same(
    [rows.length, new Set(rows.map(({ status }) => status))],
    [1_000, new Set(['cancelled'])],
    'a test sends nothing',
  )
  const id = await send(data)
  await waitUntil('all are delivered', async () => (await rowsOf(id)).every(({ status }) => status === 'delivered'))
  t.equal((await rowsOf(id)).length, 1_000)
  const subjects = await app.rows<{ subject: string }>('select subject from emails where message_id = ?', id)
  t.equal(new Set(subjects.map(({ subject }) => subject)).size, 1_000)
  const more = { ...data, to: [...to, 'one@b.test'] }
  await failsWith(t, send(more), { status: 400, details: /^to: at most 1000 addresses/ })
})

t.test('templates are found by their alias, and get all variables', async (t) => {
  const body = {
    name: 'Welcome',
    alias: 'welcome',
    subject: 'Hello {{name}}',
    text: '{{name}} {{plan}} {{order.n}} {{me}}',
  }
  t.equal((await app.rest('POST', '/v1/templates', { body })).status, 201)
  await send({
    to: 'zoe@b.test',
    template: 'welcome',
    't:variables': '{"name":"Zoe","order":{"n":5}}',
    'v:plan': 'pro',
    'h:X-Mailgun-Variables': '{"me":"%recipient.me%"}',
    'recipient-variables': '{"zoe@b.test":{"me":"Z"}}',
  })
  const mail = await received('zoe@b.test')
  t.match([mail.subject, mail.text?.trim()], ['Hello Zoe', 'Zoe pro 5 Z'])
})

t.test('links by which recipients unsubscribe are ours, or those of the client', async (t) => {
  const html = '<p>a <a href="%unsubscribe_url%">b</a></p>'
  await send({ to: 'una@b.test', subject: 'a', html, 'h:List-Unsubscribe': '<%tag_unsubscribe_email%>' })
  const ours = await received('una@b.test')
  t.match(ours.html, /href="https:\/\/[^"]+\/v1\/unsubscribe\/[^"]+"/)
  t.match(JSON.stringify(ours.headers.get('list')), /v1\/unsubscribe/)
  const theirs = {
    'h:List-Unsubscribe': '<https://c.test/u>, <%tag_unsubscribe_email%>',
    'h:List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  }
  await send({ to: 'uri@b.test', subject: 'a', text: 'a', ...theirs })
  const { headerLines } = await received('uri@b.test')
  t.same(
    headerLines.filter(({ key }) => key.startsWith('list-')).map(({ line }) => line),
    ['List-Unsubscribe: <https://c.test/u>', 'List-Unsubscribe-Post: List-Unsubscribe=One-Click'],
  )
})

t.test('mail may be sent later', async (t) => {
  const at = new Date(app.now() + 3_600_000)
  const [row] = await rowsOf(
    await send({ to: 'bob@b.test', subject: 'a', text: 'a', 'o:deliverytime': at.toUTCString() }),
  )
  t.equal(row?.status, 'scheduled')
  await failsWith(t, send({ to: 'bob@b.test', subject: 'a', text: 'a', 'o:deliverytime': 'soon' }), {
    details: /^o:deliverytime/,
  })
})

t.test('a composed message is sent as it is', async (t) => {
  const message = 'From: App <app@a.test>\nTo: Max <max@b.test>\nSubject: composed\nX-Own: 1\n\nHello\n'
  const id = await send({ to: 'max@b.test, moe@b.test', message: Buffer.from(message), 'o:tag': 'mime', 'v:n': '1' })
  const [row] = await rowsOf(id)
  const { recipients, tags } = await app.waitUntilSettled(row?.id ?? '')
  t.same(recipients.map(({ email }) => email).sort(), ['max@b.test', 'moe@b.test'])
  t.match(tags, [
    { name: 'tag', value: 'mime' },
    { name: 'n', value: '1' },
  ])
  const mail = await received('moe@b.test')
  t.match([mail.subject, mail.headers.get('x-own'), mail.text], ['composed', '1', 'Hello\n'])
  const [tested] = await rowsOf(await send({ to: 'max@b.test', message, 'o:testmode': 'yes' }))
  t.equal(tested?.status, 'cancelled')
  await failsWith(t, send({ to: 'max@b.test', message, 'recipient-variables': '{}' }), { details: /no variables/ })
})

t.test('errors are those of the library', async (t) => {
  const email = { from: 'app@a.test', to: ['bob@b.test'], subject: 'hello', text: 'a line' }
  const wrong = connect(`ph_${'x'.repeat(43)}`)
  await failsWith(t, wrong.messages.create('a.test', email), { status: 401, details: 'Forbidden' })
  await failsWith(t, client.messages.create('c.test', email), { status: 404, details: 'Domain not found: c.test' })
  const other = connect(app.otherKey)
  await failsWith(t, other.messages.create('a.test', email), { status: 404, details: 'Domain not found: a.test' })
  for (const [given, details] of [
    [{ to: ['nobody'] }, /^to: has an entry that is not a mail address: "nobody"/],
    [{ to: [] }, /^to: is required/],
    [{ from: 'app@elsewhere.test' }, /verified/],
    [{ text: undefined }, /^text: is required/],
    [{ 'recipient-variables': 'no' }, /^recipient-variables: must be a JSON object/],
    [{ 'h:From': 'a@b.test' }, /^h:From: cannot be set here/],
    [{ 'h:Reply-To': 'a@b.test,'.repeat(51) }, /^h:Reply-To: has 51 addresses, allowed: 50/],
    [{ 'v:a': 'a'.repeat(257) }, /^v:a: must have at most 256 characters/],
    [
      {
        'o:tag': Array.from({ length: 15 }, String),
        ...Object.fromEntries(Array.from({ length: 6 }, (_, n) => [`v:${n}`, 'a'])),
      },
      /^o:tag: at most 20 tags/,
    ],
    [{ template: 'missing' }, /template/],
    [{ 'o:testmode': 'perhaps' }, /^o:testmode: allowed: yes, no/],
  ] as const) {
    await failsWith(t, client.messages.create('a.test', { ...email, ...given } as never), { details }, String(details))
  }
  const one = { ...email, to: ['bob@b.test', 'nan@b.test'], 'h:X-A': '%recipient.a%' }
  const values = JSON.stringify({ 'nan@b.test': { a: 'a'.repeat(9_000) } })
  const before = (await app.rows('select id from emails')).length
  await failsWith(t, send({ ...one, 'recipient-variables': values }), {
    status: 400,
    details: /^h:X-A: must have at most/,
  })
  const answers = { ...one, 'h:X-A': '', 'h:Reply-To': '%recipient.a%' }
  const many = JSON.stringify({ 'nan@b.test': { a: 'a@b.test,'.repeat(51) }, 'bob@b.test': { a: 'a@b.test' } })
  await failsWith(t, send({ ...answers, 'recipient-variables': many }), { status: 400, details: /^h:Reply-To: has 51/ })
  t.equal((await app.rows('select id from emails')).length, before, 'nothing was sent')
})

t.test('a form may be urlencoded, and numbered as clients in PHP do', async (t) => {
  const body =
    'from=app%40a.test&to[0]=pam%40b.test&to[1]=pat%40b.test&subject=%C3%A4+b&text=a&o:tag[0]=one&o:tag[1]=two'
  const headers = {
    authorization: `Basic ${Buffer.from(`api:${app.key}`).toString('base64')}`,
    'content-type': 'application/x-www-form-urlencoded',
  }
  const answer = await fetch(`http://${host}/v3/a.test/messages`, { method: 'POST', body, headers })
  const { id } = (await answer.json()) as { readonly id: string }
  const { subject, tags } = await app.waitUntilSettled((await rowsOf(id))[0]?.id ?? '')
  t.match([answer.status, subject, tags.map(({ value }) => value)], [200, 'ä b', ['one', 'two']])
})
