/** Inbound emails over REST: lists, one email, deletion, reply, spam feedback. */
import t, { type Test } from 'tap'
import { uuidv7 } from '../../../../src/base/platform/ids.js'
import { toJson } from '../../../../src/base/storage/tables/columns.js'
import { summarizeInbound } from '../../../../src/inbound/receiving/analysis/inbound-content.js'
import { markFailed, markProcessed, storeInbound } from '../../../../src/records/messages/inbound/inbound-email.js'
import { type TestDaemon, testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { schemaCheck } from '../../../helpers/http/answer-schemas.js'
import { inboundMail } from '../../../helpers/mail/inbound-mail.js'
import { parsedMessage } from '../../../helpers/parsed-message.js'

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
  /** When the first of them arrived; the second arrived one second later. */
  readonly at: number
}

async function setUpInbound(t: Test): Promise<Filed> {
  const app = await testDaemon(t)
  const at = app.now()
  const processed = uuidv7(at)
  const failed = uuidv7(at + 1000)
  const of = { workspace_id: app.workspaceId }
  const spf = { result: 'pass', identity: 'mailfrom', domain: 'b.test', reason: null, explanation: null } as const
  const spam = { spam_status: 'suspicious', spam_score: 431 } as const
  const report = toJson([{ name: 'MISSING_DATE', score: 4.31, description: 'no Date field' }])
  const content = {
    ...summarizeInbound(parsedMessage(raw, { text: 'text' })),
    ...spam,
    attachment_count: 1,
    spam_report: report,
  }
  await app.daemon.database.commit([
    ...storeInbound(inboundMail({ id: processed, ...of, received_at: at, authentication: { spf } }), raw),
    ...storeInbound(inboundMail({ id: failed, ...of, received_at: at + 1000, domain: 'b.test' }), Buffer.from('odd')),
    markProcessed({ id: processed, ...of, at, ...content }),
    markFailed({ id: failed, workspaceId: app.workspaceId, at }),
  ])
  return { app, processed, failed, at }
}

t.test('lists hold the received emails, newest first, narrowed by every filter', async (t) => {
  const { app, processed, failed, at } = await setUpInbound(t)
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
  t.same(await ids(`since=${new Date(at + 500).toISOString()}`), [failed])
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

t.test('an email is returned with its content, its authentication and its spam report', async (t) => {
  const { app, processed } = await setUpInbound(t)
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

t.test('an email that could not be parsed is returned with what is known, and its bytes are available', async (t) => {
  const { app, failed } = await setUpInbound(t)
  t.match((await app.rest('GET', `/v1/inbound/${failed}`)).json(), { status: 'failed', subject: '', spam_status: null })
  t.equal((await app.rest('GET', `/v1/inbound/${failed}/raw`)).text, 'odd')
})

t.test('a message that cannot be parsed is returned without its parts, and its bytes are available', async (t) => {
  const app = await testDaemon(t)
  const id = uuidv7(app.now())
  const bomb = `X-Long: ${'x'.repeat(1_100_000)}\r\n\r\na line\r\n`
  const email = inboundMail({ id, workspace_id: app.workspaceId, received_at: app.now() })
  await app.daemon.database.commit([
    ...storeInbound(email, Buffer.from(bomb)),
    markFailed({ id, workspaceId: app.workspaceId, at: app.now() }),
  ])
  t.match((await app.rest('GET', `/v1/inbound/${id}`)).json(), { status: 'failed', text: null, attachments: [] })
  t.same((await app.rest('GET', `/v1/inbound/${id}/attachments`)).json(), { data: [] })
  t.equal((await app.rest('GET', `/v1/inbound/${id}/raw`)).text, bomb)
  t.same(app.errors, [])
})

t.test('an email with HTML only is returned with a generated text, which is not stored', async (t) => {
  const app = await testDaemon(t)
  const id = uuidv7(app.now())
  const html = 'Content-Type: text/html\r\n\r\n<h1>News</h1><p>for <b>you</b></p>\r\n'
  const email = inboundMail({ id, workspace_id: app.workspaceId, received_at: app.now() })
  await app.daemon.database.commit(storeInbound(email, Buffer.from(html)))
  t.match((await app.rest('GET', `/v1/inbound/${id}`)).json(), {
    has_text: false,
    text: 'News\n\nfor you',
    html: '<h1>News</h1><p>for <b>you</b></p>',
  })
})

t.test('deletion is final and removes the bytes', async (t) => {
  const { app, processed, failed } = await setUpInbound(t)
  t.same((await app.rest('DELETE', `/v1/inbound/${processed}`)).json(), { deleted: true, id: processed })
  for (const [method, path] of [
    ['GET', ''],
    ['GET', '/raw'],
    ['DELETE', ''],
  ] as const) {
    t.equal((await app.rest(method, `/v1/inbound/${processed}${path}`)).status, 404)
  }
  t.same(await app.rows('select inbound_id from inbound_raw'), [{ inbound_id: failed }])
  await app.daemon.database.commit([{ sql: 'delete from inbound_raw', parameters: [] }])
  t.match((await app.rest('GET', `/v1/inbound/${failed}`)).json(), { html: null, headers: [] })
  t.equal((await app.rest('GET', `/v1/inbound/${failed}/raw`)).status, 404, 'bytes are kept for a time')
})

t.test('a reply goes to the author, from the address that received the email, in its thread', async (t) => {
  const { app, processed, failed } = await setUpInbound(t)
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
    tracking: { open: true, click: true },
  })
  const unanswerable = await app.rest('POST', `/v1/inbound/${failed}/reply`, { body: { text: 'hello?' } })
  t.equal(unanswerable.status, 400)
  t.match(unanswerable.json(), { error: { code: 'validation_error', message: /no address to reply to/ } })
})

/** What the classifier has learned of the workspace. */
async function readLearned(app: TestDaemon): Promise<unknown> {
  const sql = 'select verdict, count(*) as count from bayes_learned where workspace_id = ? group by verdict'
  const counts = 'select verdict, count from bayes_messages where workspace_id = ? and count > 0'
  return [await app.rows(sql, app.workspaceId), await app.rows(counts, app.workspaceId)]
}

t.test('feedback on an email is learned once, and the last verdict counts', async (t) => {
  const { app, processed } = await setUpInbound(t)
  const check = schemaCheck(app.daemon.routes)
  const say = async (verdict: string): Promise<unknown> => {
    const answer = await app.rest('POST', `/v1/inbound/${processed}/feedback`, { body: { verdict } })
    t.same(check('POST /inbound/:id/feedback', answer), [])
    return answer.json()
  }
  t.same(await say('spam'), { id: processed, verdict: 'spam', learned: true, spam_status: 'spam' })
  t.same(await readLearned(app), [[{ verdict: 'spam', count: 1 }], [{ verdict: 'spam', count: 1 }]])
  const show = async (): Promise<unknown> => (await app.rest('GET', `/v1/inbound/${processed}`)).json()
  t.match(
    await show(),
    { spam_status: 'spam', spam_score: 4.31, spam_report: [{ name: 'MISSING_DATE', score: 4.31 }] },
    'the record says what was said, and what was found',
  )
  const tokens = await app.rows('select token, spam, ham from bayes_tokens order by token')
  t.match(await say('spam'), { learned: false, spam_status: 'spam' })
  t.same(await app.rows('select token, spam, ham from bayes_tokens order by token'), tokens, 'twice counts once')
  t.match(await say('ham'), { learned: true, spam_status: 'clean' })
  t.same(await readLearned(app), [[{ verdict: 'ham', count: 1 }], [{ verdict: 'ham', count: 1 }]])
  t.same(await app.rows('select * from bayes_tokens where spam > 0'), [], 'the other verdict is unlearned')
  t.match(await show(), { spam_status: 'clean', spam_score: 4.31 })
  const found = (await app.rest('GET', '/v1/inbound?spam_status=clean')).json<{ data: { id: string }[] }>()
  t.same(
    found.data.map(({ id }) => id),
    [processed],
  )
})

t.test('nothing is learned of a message whose bytes are gone or cannot be parsed', async (t) => {
  const { app, processed } = await setUpInbound(t)
  const feedback = async (id: string): Promise<unknown> => {
    const answer = await app.rest('POST', `/v1/inbound/${id}/feedback`, { body: { verdict: 'spam' } })
    return [answer.status, answer.json()]
  }
  const bomb = uuidv7(app.now() + 5000)
  const message = Buffer.from(`X-Long: ${'x'.repeat(1_100_000)}\r\n\r\na line\r\n`)
  const { commit } = app.daemon.database
  await commit(storeInbound(inboundMail({ id: bomb, workspace_id: app.workspaceId }), message))
  t.match(await feedback(bomb), [409, { error: { code: 'conflict', message: /nothing can be learned/ } }])
  await commit([{ sql: 'delete from inbound_raw', parameters: [] }])
  t.match(await feedback(processed), [409, { error: { code: 'conflict', message: /bytes are no longer stored/ } }])
  t.same(await readLearned(app), [[], []])
  t.match((await app.rest('GET', `/v1/inbound/${processed}`)).json(), { spam_status: 'suspicious' })
})
