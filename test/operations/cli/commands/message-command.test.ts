/** `posthorn message show`: messages that were sent and received, as a summary, a header, or bytes. */
import t from 'tap'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { deliverInbound, idOfReply, waitUntilProcessed } from '../../../helpers/smtp/deliver-inbound.js'
import { openSink } from '../../../helpers/smtp/scripted-sink.js'

const files = [
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: multipart/alternative; boundary=c',
  '',
  '--c',
  'Content-Type: text/plain; charset=utf-8',
  'Content-Transfer-Encoding: 8bit',
  '',
  'Grüße\tan\x1balle',
  ...Array.from({ length: 60 }, (_, n) => `line ${n}`),
  '--c',
  'Content-Type: text/html',
  '',
  '<p>Hello</p>',
  '--c--',
  '--b',
  'Content-Type: application/pdf',
  'Content-Disposition: attachment; filename="bill.pdf"',
  '',
  '%PDF-1.4',
  '--b--',
  '',
]

t.test('a message that was sent, by the id of the email or of a queue entry', async (t) => {
  const sink = await openSink({ script: { rcpt: ({ line }) => (line.includes('<late') ? '450 later' : '250 ok') } })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const head = [
    'From: The App <app@a.test>',
    'To: bob@b.test,',
    '\tlate@b.test',
    'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=',
  ]
  const raw = [...head, ...files].join('\r\n')
  const id = await app.submitAccepted({ to: ['bob@b.test', 'late@b.test'], raw, mailParameters: ' BODY=8BITMIME' })
  await app.waitUntilAttempted(id)

  const shown = await app.cli('message', 'show', id)
  t.equal(shown.status, 0, shown.err)
  t.match(
    shown.out,
    new RegExp(`^${id} {2}email {2}\\w+\n {2}from +The App <app@a\\.test>\n {2}to +bob@b\\.test, +late@`),
  )
  t.match(shown.out, /^ {2}subject +Grüße$/m)
  t.match(shown.out, /^ {2}envelope +<\S+@\S+> to bob@b\.test late@b\.test$/m)
  t.match(
    shown.out,
    /^ {2}parts +text; HTML; 1 file\n {2}file +bill\.pdf, application\/pdf, 8 bytes\n\nGrüße {8}an\?alle\n/m,
  )
  t.match(shown.out, /\nline 38\n\nThe text goes on: --raw prints the complete message\.\n$/)
  t.match((await app.cli('message', 'show', id, '--json')).json(), {
    ...{ kind: 'email', id, workspace_id: app.workspaceId, subject: 'Grüße', html: '<p>Hello</p>', text: /line 59/ },
    attachments: [{ filename: 'bill.pdf', content_type: 'application/pdf', size: 8 }],
  })

  const bytes = await app.cli('message', 'show', id, '--raw')
  const overRest = await app.rest('GET', `/v1/emails/${id}/raw`)
  t.equal(Buffer.from(bytes.out, 'latin1').toString(), overRest.text, 'byte for byte as over REST')
  t.match(bytes.out, /^DKIM-Signature: /)
  const header = await app.cli('message', 'show', id, '--header')
  t.match(header.out, /^DKIM-Signature: .*\nTo: bob@b\.test,\n {8}late@b\.test\n/s)
  t.notMatch(header.out, /%PDF|\r/)
  const { headers } = (await app.cli('message', 'show', id, '--header', '--json')).json() as {
    headers: { name: string; value: string }[]
  }
  t.match(headers.find(({ name }) => name === 'To')?.value, /^bob@b\.test,\s+late@b\.test$/)

  const late = (await app.findStory(id)).recipients.find(({ email }) => email === 'late@b.test')
  t.match(await app.cli('message', 'show', late?.id ?? ''), { status: 0, out: /^ {2}as sent to {2}late@b\.test$/m })
  t.match(await app.cli('message', 'show', 'none'), {
    status: 1,
    out: '',
    err: /no email, queue entry or inbound email/,
  })
  t.match(await app.cli('message', 'show', id, '--raw', '--json'), { status: 2, err: /--raw and --json exclude/ })
  t.match(await app.cli('message', 'show', id, '--raw', '--header'), { status: 2, err: /--raw and --header exclude/ })
})

t.test('a message that was received; one without text has that of its HTML', async (t) => {
  const app = await testDaemon(t)
  await app.cli('domain', 'add', 'home.test', '--inbound', '--force', '--workspace', app.workspaceId)
  const raw = 'From: ann@b.test\r\nSubject: café\r\nContent-Type: text/html\r\n\r\n<p>Hi <b>there</b></p>\r\n'
  const id = idOfReply(await deliverInbound(t, app, { to: ['desk@home.test'], raw }))
  await waitUntilProcessed(app, id)
  const shown = await app.cli('message', 'show', id)
  t.match(shown.out, new RegExp(`^${id} {2}inbound {2}processed\n {2}from +ann@b\\.test\n {2}subject +café\n`))
  t.match(shown.out, /^ {2}parts +HTML, from which the text below is made\n\nHi there\n$/m)
  t.match(shown.out, /^ {2}envelope +<\S*> to desk@home\.test$/m)
  const bytes = await app.cli('message', 'show', id, '--raw')
  const overRest = await app.rest('GET', `/v1/inbound/${id}/raw`)
  t.equal(Buffer.from(bytes.out, 'latin1').toString(), overRest.text)
  await app.daemon.database.commit([{ sql: 'delete from inbound_raw', parameters: [] }])
  t.match(await app.cli('message', 'show', id), { status: 1, out: '', err: /is no longer stored: messages are kept/ })
})
