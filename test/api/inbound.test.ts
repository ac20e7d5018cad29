/** Mail that came in, over the REST door: listed, read, deleted. */
import t, { type Test } from 'tap'
import { fileInbound, markFailed, markProcessed } from '../../src/messages/inbound-email.js'
import { uuidv7 } from '../../src/platform/ids.js'
import { inboundContent } from '../../src/receiving/inbound-content.js'
import { schemaCheck } from '../helpers/answer-schemas.js'
import { inboundMail } from '../helpers/inbound-mail.js'
import { type TestDaemon, testDaemon } from '../helpers/test-daemon.js'

const raw = Buffer.from(
  [
    'Return-Path: <bob@b.test>',
    'From: "Bob, B." <bob@b.test>',
    'To: info@a.test',
    'Cc: sales@a.test',
    'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=',
    'Message-ID: <1@b.test>',
    'X-Twice: one',
    'X-Twice: two',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=x',
    '',
    '--x',
    'Content-Type: text/plain; charset=windows-1251',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    '=CF=F0=E8=E2=E5=F2',
    '--x',
    'Content-Type: application/pdf; name="a.pdf"',
    'Content-Disposition: attachment; filename="a.pdf"',
    'Content-Transfer-Encoding: base64',
    '',
    'JVBERg==',
    '--x--',
    '',
  ].join('\r\n'),
)

interface Filed {
  readonly app: TestDaemon
  readonly processed: string
  readonly failed: string
}

async function filed(t: Test): Promise<Filed> {
  const app = await testDaemon(t)
  const at = app.now()
  const processed = uuidv7(at)
  const failed = uuidv7(at + 1000)
  const of = { workspace_id: app.workspaceId }
  const parts = { html: null, text: 'x', attachments: [{} as never] }
  const spam = { spam_status: 'suspicious', spam_score: 431 } as const
  const report = JSON.stringify([{ name: 'MISSING_DATE', score: 4.31, description: 'no Date field' }])
  const content = { ...inboundContent(raw, parts), ...spam, spam_report: report }
  await app.daemon.database.commit([
    ...fileInbound(
      inboundMail({ id: processed, ...of, received_at: at, authentication: '{"spf":{"result":"pass"}}' }),
      raw,
    ),
    ...fileInbound(inboundMail({ id: failed, ...of, received_at: at + 1000, domain: 'b.test' }), Buffer.from('odd')),
    markProcessed({ id: processed, ...of, at, ...content }),
    markFailed({ id: failed, workspaceId: app.workspaceId, at }),
  ])
  return { app, processed, failed }
}

t.test('lists hold what came in, the newest first, by every filter', async (t) => {
  const { app, processed, failed } = await filed(t)
  const check = schemaCheck(app.daemon.routes)
  const ids = async (query: string): Promise<string[]> => {
    const answer = await app.rest('GET', `/v1/inbound?${query}`)
    t.same(check('GET /inbound', answer), [])
    return answer.json<{ data: { id: string }[] }>().data.map(({ id }) => id)
  }
  t.same(await ids(''), [failed, processed])
  t.same(await ids('limit=1&offset=1'), [processed])
  t.same(await ids('status=failed'), [failed])
  t.same(await ids('spam_status=suspicious'), [processed])
  t.same(await ids('domain=B.TEST'), [failed])
  t.same(await ids('from=bob%40b.test'), [processed])
  t.same(await ids(`since=${new Date(app.now() + 500).toISOString()}`), [failed])
  t.match((await app.rest('GET', '/v1/inbound?status=processed')).json(), {
    data: [
      {
        from: 'bob@b.test',
        from_name: 'Bob, B.',
        to: ['info@a.test'],
        cc: ['sales@a.test'],
        subject: 'Grüße',
        has_html: false,
        has_text: true,
        attachment_count: 1,
        status: 'processed',
        spam_status: 'suspicious',
        spam_score: 4.31,
      },
    ],
  })
})

t.test('an email is shown with its content, its authentication and its spam report', async (t) => {
  const { app, processed } = await filed(t)
  const answer = await app.rest('GET', `/v1/inbound/${processed}`)
  t.same(schemaCheck(app.daemon.routes)('GET /inbound/:id', answer), [])
  const email = answer.json<{ headers: { name: string; value: string }[] }>()
  t.match(email, {
    id: processed,
    text: 'Привет',
    html: null,
    attachments: [{ id: `${processed}.0`, filename: 'a.pdf', contentType: 'application/pdf', size: 4 }],
    spf_result: 'pass',
    authentication: { spf: { result: 'pass' } },
    spam_report: [{ name: 'MISSING_DATE', score: 4.31 }],
    envelope_to: ['info@a.test'],
    message_id: '<1@b.test>',
  })
  t.same(
    email.headers.filter(({ name }) => name === 'X-Twice').map(({ value }) => value),
    ['one', 'two'],
  )
  const bytes = await app.rest('GET', `/v1/inbound/${processed}/raw`)
  t.equal(bytes.headers['content-type'], 'message/rfc822')
  t.equal(bytes.text, raw.toString('latin1'))
})

t.test('an email that could not be read is shown as far as it is known, and its bytes are there', async (t) => {
  const { app, failed } = await filed(t)
  t.match((await app.rest('GET', `/v1/inbound/${failed}`)).json(), { status: 'failed', subject: '', spam_status: null })
  t.equal((await app.rest('GET', `/v1/inbound/${failed}/raw`)).text, 'odd')
})

t.test('deleting is for good, with the bytes', async (t) => {
  const { app, processed, failed } = await filed(t)
  t.same((await app.rest('DELETE', `/v1/inbound/${processed}`)).json(), { deleted: true, id: processed })
  for (const [method, path] of [
    ['GET', ''],
    ['GET', '/raw'],
    ['DELETE', ''],
  ] as const) {
    t.equal((await app.rest(method, `/v1/inbound/${processed}${path}`)).status, 404)
  }
  t.same(app.rows('select inbound_id from inbound_raw'), [{ inbound_id: failed }])
  await app.daemon.database.commit([{ sql: 'delete from inbound_raw', parameters: [] }])
  t.match((await app.rest('GET', `/v1/inbound/${failed}`)).json(), { html: null, headers: [] })
  t.equal((await app.rest('GET', `/v1/inbound/${failed}/raw`)).status, 404, 'bytes are kept for a time')
})

t.test('an answer goes to the author, from the address that was written to, in its thread', async (t) => {
  const { app, processed, failed } = await filed(t)
  const attachments = [{ filename: 'b.txt', content: 'aGVsbG8=', content_type: 'text/plain' }]
  const answer = await app.rest('POST', `/v1/inbound/${processed}/reply`, { body: { text: 'thank you', attachments } })
  t.same(schemaCheck(app.daemon.routes)('POST /inbound/:id/reply', answer), [])
  const { emailId, messageId } = answer.json<{ emailId: string; messageId: string }>()
  const email = (await app.rest('GET', `/v1/emails/${emailId}`)).json()
  t.match(email, {
    message_id: messageId,
    from: 'info@a.test',
    to: ['bob@b.test'],
    subject: 'Re: Grüße',
    text: 'thank you',
    headers: { 'In-Reply-To': '<1@b.test>', References: '<1@b.test>' },
    attachments: [{ filename: 'b.txt', size: 5 }],
  })
  const nobody = await app.rest('POST', `/v1/inbound/${failed}/reply`, { body: { text: 'hello?' } })
  t.equal(nobody.status, 400)
  t.match(nobody.json(), { error: { code: 'validation_error', message: /nobody/ } })
})
