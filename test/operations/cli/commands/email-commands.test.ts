/** Commands on emails, beside the daemon. */
import t from 'tap'
import { uuidPattern } from '../../../helpers/cli/command-line.js'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { withOwnDatabase } from '../../../helpers/database/daemon-database.js'
import { openSink } from '../../../helpers/smtp/scripted-sink.js'

t.test('beside the daemon, send reports the result and explain reports it again', async (t) => {
  const sink = await openSink({
    script: {
      rcpt: ({ line }) => {
        if (line.includes('<later')) return '450 4.2.0 try later'
        return line.includes('<bad') ? '550 5.1.1 no such user' : '250 2.1.5 ok'
      },
    },
  })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const sent = await app.cli('send', '--from', 'app@a.test', '--to', 'bob@b.test', '--subject', 'Grüße', '--json')
  t.equal(sent.status, 0, sent.err)
  const story = sent.json() as { id: string }
  t.match(story, {
    id: uuidPattern,
    from: 'app@a.test',
    to: ['bob@b.test'],
    subject: 'Grüße',
    html: null,
    text: /^This message was sent by "posthorn send"/,
    headers: {},
    tags: [],
    attachments: [],
    template_id: null,
    status: 'delivered',
    opened_at: null,
    clicked_at: null,
    recipients: [
      { email: 'bob@b.test', status: 'delivered', attempts: [{ number: 1, outcome: 'delivered', tls: null }] },
    ],
  })
  t.match(sink.messages[0]?.raw.toString(), /^Received: by mail\.service\.test with local id /m)
  t.same((await app.cli('explain', story.id, '--json')).json(), story)
  const two = { to: ['one@b.test', 'later@b.test'] }
  const both = await app.submitAccepted(two)
  await app.waitUntilAttempted(both)
  const [listed] = ((await app.cli('queue', 'list', '--json')).json() as { data: { id: string }[] }).data
  const ofOne = await app.cli('explain', listed?.id ?? '')
  t.match(ofOne, { status: 0, out: new RegExp(`^${both} `) }, 'by the id of the queue')
  t.match(ofOne.out, /to later@b\.test: queued/)
  t.notMatch(ofOne.out, /to one@b\.test/, 'of that recipient alone')
  t.match((await app.cli('explain', listed?.id ?? '', '--json')).json(), {
    id: both,
    to: two.to,
    recipients: [{ id: listed?.id, email: 'later@b.test' }],
  })
  t.match(await app.cli('explain', story.id), {
    status: 0,
    out: /to bob@b\.test: delivered\n[\s\S]*Attempt 1: delivered\n {6}mx\.b\.test \[127\.0\.0\.1\] without TLS, \d+ ms\n {6}delivered: 250/,
  })
  t.match(await app.cli('explain', story.id, '--transcript'), {
    out: /last session for bob@b\.test:\n[\s\S]*MAIL FROM/,
  })
  t.match(await app.cli('send', '--from', 'app@a.test', '--to', 'bad@b.test'), {
    status: 1,
    out: /bounced \(bad-mailbox\): 550 5\.1\.1 no such user\n {6}The mailbox does not exist\.\n[\s\S]*This address is now suppressed\n/,
  })
  t.match(await app.cli('send', '--from', 'app@a.test', '--to', 'bad@b.test'), { status: 1, err: /suppression list/ })
  t.match(await app.cli('send', '--from', 'x@stranger.test', '--to', 'b@b.test'), {
    status: 1,
    err: /not a verified domain/,
  })
  t.match(await app.cli('send', '--from', 'nobody', '--to', 'b@b.test'), { status: 1, err: /not a mail address/ })
  t.match(await app.cli('explain', 'nothing'), { status: 1, err: /no email and no queue entry nothing/ })
  const deferred = await app.cli('send', '--from', 'app@a.test', '--to', 'later@b.test')
  t.match(deferred, {
    status: 1,
    out: /deferred \(\S+\): 450 4\.2\.0 try later\n[\s\S]*\n {6}Posthorn tries again later\.\n {4}next attempt \S+Z\n\nnot delivered yet, and tried again .* "posthorn explain \S+" tells more later\n$/,
  })
  t.same(
    await withOwnDatabase(app, async ({ read }) => read(`select 1 from emails where source = 'service'`, [])),
    [],
    'it asks for no report',
  )
  t.match(await app.cli('restore', app.configFile), { status: 1, err: /holds the data folder/ })
  t.match(await app.cli('queue', 'list', '--domain', 'c.test'), {
    status: 0,
    out: /^ID +RECIPIENT +STATUS .*\n0 in the queue\n$/,
  })
})
