/** Texts that PostgreSQL refuses, as mail and other servers bring them: NUL and halves of surrogate pairs. */
import t from 'tap'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { rowsWithUnstorableText } from '../helpers/database/unstorable-rows.js'
import { deliverInbound, idOfReply, waitUntilProcessed } from '../helpers/smtp/deliver-inbound.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { dial } from '../helpers/smtp/smtp-dialogue.js'
import { waitUntil } from '../helpers/wait-until.js'

/** Encoded words with NUL, and with half of a surrogate pair in UTF-16, UTF-8 and CESU. */
const words = ['=?utf-8?B?YQBi?=', '=?utf-8?Q?a=00b?=', '=?utf-16be?B?2D0AYQ==?=', '=?utf-8?Q?=ED=A0=BDb?='] as const
const joined = words.join(' ')

const body = [
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=part',
  '',
  '--part',
  'Content-Type: text/html; charset=utf-16be',
  'Content-Transfer-Encoding: base64',
  '',
  Buffer.from('\0a\0b\xd8\x3d\0c\0\0', 'latin1').toString('base64'),
  '--part',
  "Content-Type: application/octet-stream; name*=utf-8''a%00b%ED%A0%BD.txt",
  `Content-Disposition: attachment; filename="${words[1]}"`,
  `Content-ID: <a${words[0]}@b.test>`,
  'Content-Transfer-Encoding: base64',
  '',
  'AAAA',
  '--part--',
  '',
].join('\r\n')

t.test('a message, its tags and the replies of its recipient are stored without them', async (t) => {
  const sink = await openSink({ script: { rcpt: '450 4.2.0 later \0 \ud83d \udfff', message: '250 2.0.0 ok \0' } })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': { port: sink.port } } })
  const fields = [`X-Custom: ${joined}`, `X-Posthorn-Tag: ${words[1]}=${words[2]}`, `X-Mailgun-Tag: ${joined}`]
  const raw = `Subject: ${joined}\r\nFrom: ${words[1]} <app@a.test>\r\nTo: ${words[2]} <bob@b.test>\r\n`
  for (const submission of [{ raw: `${raw}${fields[0]}\r\n${body}` }, { fields: [fields[0] ?? '', fields[2] ?? ''] }]) {
    const reply = await app.submit(submission)
    const [, id = ''] = /queued as (\S+)/.exec(reply) ?? []
    t.not(id, '', reply)
    const { recipients } = await app.waitUntilAttempted(id)
    t.equal(recipients[0]?.status, 'queued')
  }
  await app.submit({ fields: [fields[1] ?? ''] })
  const [queued] = await app.rows<{ last_response: string }>(
    "select last_response from queue where last_response <> '' limit 1",
  )
  t.match(queued?.last_response, /^450 4\.2\.0 later/)
  t.same(await rowsWithUnstorableText(app.daemon.database.read), [])
  t.same(app.errors, [])
})

t.test('so is a received message, with the names of its server and its attachments', async (t) => {
  const app = await testDaemon(t)
  await app.cli('domain', 'add', 'home.test', '--inbound', '--force', '--workspace', app.workspaceId)
  const port = app.daemon.mx[0]?.port ?? 0
  await waitUntil('the listener knows the domain', async () => {
    const client = await dial(port)
    const commands = ['EHLO a.test', 'MAIL FROM:<>', 'RCPT TO:<info@home.test>']
    let reply = await client.readReply()
    for (const command of commands) reply = await client.sendCommand(command)
    client.end()
    return reply.startsWith('250')
  })
  const head = [
    `Subject: ${joined}`,
    `From: ${joined} <ann@plain.test>`,
    `To: ${words[1]} <info@home.test>`,
    `Reply-To: "${words[2]}" <a@b.test>`,
    `Message-ID: <a${words[1]}@b.test>`,
    `References: <${words[0]}@b.test>`,
    `X-Odd: ${joined}`,
  ].join('\r\n')
  const reply = await deliverInbound(t, app, {
    from: 'ann@plain.test',
    to: ['info@home.test'],
    raw: `${head}\r\n${body}`,
  })
  const email = await waitUntilProcessed(app, idOfReply(reply))
  t.equal(email['status'], 'processed')
  const shown = await app.rest('GET', `/v1/inbound/${idOfReply(reply)}`)
  t.equal(shown.status, 200)
  t.same(await rowsWithUnstorableText(app.daemon.database.read), [])
  t.same(app.errors, [])
})

t.test('a greeting with NUL is refused or cleaned', async (t) => {
  const app = await testDaemon(t)
  const client = await dial(app.daemon.mx[0]?.port ?? 0)
  await client.readReply()
  const greeting = await client.sendCommand('EHLO a\0b.test')
  t.match(greeting, /^[25]/)
  t.match(await client.sendCommand('MAIL FROM:<a\0b@b.test>'), /^5/)
  client.end()
  t.same(await rowsWithUnstorableText(app.daemon.database.read), [])
})
