/** Fields of other services over SMTP: what the record keeps of them, and that no recipient gets them. */
import t from 'tap'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'

t.test('fields of other services are read and removed, and tags of one name stay in their order', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const fields = [
    ...['X-Service-Tag: a=2', 'X-Service-Tag: a=1', 'X-PM-Tag: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=', 'X-PM-Metadata-Order: 7'],
    ...['X-PM-Message-Stream: outbound', 'X-PM-TrackLinks: None', 'X-SMTPAPI: {"category":', ' ["c"]}', 'X-Tags: t'],
    ...['X-MC-Tags: m', 'X-SES-CONFIGURATION-SET: main', 'X-SES-MESSAGE-TAGS: s=1', 'X-Mailin-Tag: b'],
    ...['X-Mailin-Custom: k:v', 'X-Mailgun-Variables: {"g": 1}', 'X-MSYS-API: {"campaign_id": "p"}'],
    ...['Resend-Idempotency-Key: once', 'X-Entity-Ref-ID: 12'],
  ]
  const id = await app.submitAccepted({ to: ['bob@b.test'], fields })
  t.equal(await app.submitAccepted({ to: ['bob@b.test'], fields }), id, 'the key makes them one email')
  const email = (await app.rest('GET', `/v1/emails/${id}`)).json<{
    tags: readonly Record<'name' | 'value', string>[]
  }>()
  t.same(
    email.tags.map(({ name, value }) => `${name}=${value}`),
    ['a=2', 'a=1', 'tag=Grüße', 'order=7', 'tag=c', 'tag=t', 'tag=m', 's=1', 'tag=b', 'k=v', 'g=1', 'tag=p'],
  )
  await app.waitUntilSettled(id)
  const names = [...(sink.messages[0]?.raw.toString().split('\r\n\r\n')[0] ?? '').matchAll(/^([\w-]+):/gm)]
  t.same(
    names.map(([, name = '']) => name).filter((name) => /^(?:x-|resend)/i.test(name)),
    ['X-Posthorn-Reference', 'X-Entity-Ref-ID'],
  )
})

t.test('a message to drop is not sent', async (t) => {
  const app = await testDaemon(t)
  const id = await app.submitAccepted({ fields: ['X-Mailgun-Drop-Message: yes'] })
  t.match((await app.rest('GET', `/v1/emails/${id}`)).json<object>(), { status: 'cancelled' })
})
