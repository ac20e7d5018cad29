/** Language and postal address of a workspace, and what recipients of its broadcasts read of them. */
import { simpleParser } from 'mailparser'
import t from 'tap'
import { sendToFive, startWithRecipients } from '../../../helpers/broadcasts/sent-to-five.js'
import { schemaCheck } from '../../../helpers/http/answer-schemas.js'
import { waitUntil } from '../../../helpers/wait-until.js'

t.test('broadcasts and the page of their unsubscribe link are in the language of the workspace', async (t) => {
  const { app, sink } = await startWithRecipients(t)
  const check = schemaCheck(app.daemon.routes)
  const path = `/v1/workspaces/${app.workspaceId}`
  t.match((await app.rest('GET', path)).json(), { data: { language: 'en', postal_address: null } })
  const body = { language: 'de', postal_address: ' Laden & Söhne\r\nHauptstraße 1 ' }
  const changed = await app.rest('PATCH', path, { body })
  t.same([changed.status, check('PATCH /workspaces/:id', changed)], [200, []], changed.text)
  t.match(changed.json(), { data: { language: 'de', postal_address: 'Laden & Söhne\nHauptstraße 1' } })
  t.match((await app.rest('GET', '/v1/workspaces')).json(), { data: [{ language: 'de' }] })
  await sendToFive(app)
  // Others have unsubscribed or may come first.
  const toAnn = sink.messages.find(({ rcptTo }) => rcptTo.some((line) => line.includes('ann@b.test')))
  const mail = await simpleParser(toAnn?.raw ?? '')
  t.match(mail.text, /weil Sie sie abonniert haben\. Abbestellen:\nhttps:\S+\n\nLaden & Söhne\nHauptstraße 1/)
  t.match(mail.html, />Abbestellen<\/a><br>Laden &amp; Söhne<br>Hauptstraße 1<\/div>/)
  const [, link = ''] = /(\/v1\/unsubscribe\/[a-z2-7]+)/.exec(mail.text ?? '') ?? []
  t.match((await app.rest('GET', link, { key: null })).text, /<html lang="de">[\s\S]*<h1>Abbestellen\?<\/h1>/)

  t.match((await app.rest('PATCH', path, { body: { name: 'Own' } })).json(), { data: { language: 'de' } })
  t.match((await app.rest('PATCH', path, { body: { postal_address: '  ' } })).json(), {
    data: { postal_address: null },
  })
  t.match((await app.rest('PATCH', path, { body: { postal_address: null } })).json(), {
    data: { postal_address: null },
  })
  for (const wrong of [
    { language: 'xx' },
    { postal_address: 'x'.repeat(501) },
    { postal_address: `${'x\n'.repeat(10)}x` },
    { postal_address: 'a\u0007b' },
    { postal_address: 5 },
  ]) {
    const refused = await app.rest('PATCH', path, { body: wrong })
    t.match(refused.json(), { error: { code: 'validation_error' } }, JSON.stringify(wrong))
  }
  t.same(app.errors, [])
})

t.test('content with an unsubscribe link of its own gets no footer', async (t) => {
  const { app, sink } = await startWithRecipients(t)
  await app.rest('PATCH', `/v1/workspaces/${app.workspaceId}`, { body: { postal_address: 'High Street' } })
  const { id: audience_id } = (await app.rest('POST', '/v1/audiences', { body: { name: 'R' } })).json<{ id: string }>()
  await app.rest('POST', '/v1/contacts', { body: { email: 'ann@b.test', audience_id } })
  const body = {
    ...{ name: 'May', audience_id, from: 'news@a.test', subject: 's', send: true },
    html: '<p><a href="{{unsubscribe_url}}">Leave</a></p>',
  }
  const sent = await app.rest('POST', '/v1/broadcasts', { body })
  t.equal(sent.status, 201, sent.text)
  await waitUntil('the message has come', () => sink.messages.length === 1)
  const mail = await simpleParser(sink.messages[0]?.raw ?? '')
  t.match(mail.html, 'Leave')
  t.notMatch(mail.html, 'High Street')
  t.notMatch(mail.html, 'You get this email because')
  t.same(app.errors, [])
})
