/** `posthorn top` and `posthorn log` beside a running daemon. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { TopSnapshot } from '../../src/operations/cli/top/snapshot.js'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { isOnPostgres } from '../helpers/database/test-engine.js'
import { webhookReceiver } from '../helpers/http/webhook-receiver.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { deliverInbound, idOfReply, inboundText, waitUntilProcessed } from '../helpers/smtp/deliver-inbound.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url))

interface Logged {
  readonly kind: string
  readonly log: readonly { readonly event: string; readonly text: string; readonly at: string | null }[]
}

t.test('a snapshot has what the service did', async (t) => {
  const sink = await openSink({
    script: { rcpt: ({ line }) => (line.includes('<late') ? '450 4.7.1 greylisted' : '250 ok') },
  })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  await app.waitUntilSettled(await app.submitAccepted({ to: ['one@b.test'] }))
  await app.waitUntilAttempted(await app.submitAccepted({ to: ['late@b.test'] }))
  const { json, err, status } = await app.cli('top', '--once', '--json')
  t.equal(status, 0, err)
  const snapshot = json() as TopSnapshot
  t.match(snapshot, {
    daemon: { state: 'running', status: { pid: process.pid, sessions: { submission: Number } } },
    activity: [
      { seconds: 10 },
      { seconds: 60, exact: true },
      { seconds: 3600, accepted: 2, delivered: 1, deferred: 1, bounced: 0 },
    ],
    queue: { complete: true, total: 1, states: { deferred: 1 }, reasons: [{ reason: 'answer 450 4.7.1', total: 1 }] },
    destinations: {
      data: [{ destination: 'mx.b.test', attempts: 2, delivered: 1, deferred: 1, reason: 'greylisted' }],
    },
    senders: [{ workspace_id: app.workspaceId, accepted: 2 }],
    webhooks: { enabled: 0 },
  })
  t.ok(snapshot.disk.free > 0 && snapshot.disk.database > 0)
  const { out } = await app.cli('top')
  t.match(out, /^posthorn {2}20.* pid \d+ .*\ndaemon .*\nsessions .*submission \d/, 'without a terminal it prints once')
  const { name } = app.daemon.database.node
  t.equal(out.includes(`  node ${name} (working, leads)  pid `), isOnPostgres(), 'the node among others')
  t.match(out, /queue {5}1 {2}queued 0 {2}deferred 1 .*\nreasons {3}answer 450 4\.7\.1: 1\n/)
  await app.stop()
  t.match(await app.cli('top', '--once'), { status: 0, out: /daemon {4}is not running/ })
})

t.test('it runs on a real terminal until q', { skip: skipWithout('script') }, async (t) => {
  const app = await testDaemon(t)
  const command = `stty rows 20 cols 70; ${process.execPath} ${main} top --config ${app.configFile}; echo status=$?`
  const child = spawn('script', ['-qec', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] })
  let out = ''
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString()
  })
  await waitUntil('two frames are drawn', () => out.split('\x1b[?2026h').length > 2)
  child.stdin.write('q')
  await waitUntil('it has ended', () => /status=\d+/.test(out))
  child.stdin.end()
  await once(child, 'close')
  t.match(out.replaceAll('\x1b', 'ESC'), /ESC\[\?1049h.*posthorn {2}20.*ESC\[\?1049l.*status=0/s, 'it is restored')
})

t.test('the log of an email, by each of its ids', async (t) => {
  const sink = await openSink({
    script: { rcpt: ({ line }) => (line.includes('<gone') ? '550 5.1.1 no such user' : '250 ok') },
  })
  const receiver = await webhookReceiver(t)
  t.teardown(() => sink.close())
  const settings = { webhooks: { allowed_private_networks: ['127.0.0.0/8'] } }
  const app = await testDaemon(t, { routes: { 'b.test': sink, 'a.test': sink }, settings })
  await app.rest('POST', '/v1/webhooks', { body: { url: receiver.url, events: ['email.bounced', 'email.delivered'] } })
  const id = await app.submitAccepted({ to: ['gone@b.test', 'one@b.test'], fields: ['Message-ID: <own-1@app.test>'] })
  await app.waitUntilSettled(id)
  const entries = async (given: string): Promise<Logged> => {
    const { json, err, status } = await app.cli('log', given, '--json')
    if (status !== 0) throw new Error(err)
    return json() as Logged
  }
  await waitUntil(
    'webhooks have both events',
    async () =>
      (await entries(id)).log.filter(({ event, text }) => event === 'webhook' && text.includes('delivered, answer 2'))
        .length === 2,
  )
  const { kind, log } = await entries(id)
  t.equal(kind, 'email')
  const texts = log.map(({ event, text }) => `${event} ${text}`).join('\n')
  t.match(texts, /^accepted over ESMTPA, workspace .*, key .*, from <app@a\.test>, \d+ bytes$/m)
  t.match(texts, /^prepared 2 recipients queued, tracking: none/m)
  t.match(texts, /^signed DKIM by a\.test, selector /m)
  t.match(
    texts,
    /^attempt 1 to gone@b\.test, mx\.b\.test.*bounced: 550 5\.1\.1 no such user.* — The mailbox does not exist\.$/m,
  )
  t.match(texts, /^attempt 1 to one@b\.test, mx\.b\.test.*no TLS.*delivered: /m)
  t.match(texts, /^notification ".*" to app@a\.test: /m)
  t.match(texts, /^now gone@b\.test is bounced$/m)
  t.match(texts, /^bytes the \d+ bytes of the message are kept until 20/m)
  t.same(
    log.map(({ at }) => at).filter((at) => at !== null),
    log
      .map(({ at }) => at)
      .filter((at) => at !== null)
      .toSorted(),
    'in the order of time',
  )
  for (const given of ['<own-1@app.test>', 'own-1@app.test'])
    t.same((await entries(given)).log.length, log.length, given)
  const [recipient] = (await app.findStory(id)).recipients
  const ofOne = await entries(recipient?.id ?? '')
  t.notMatch(JSON.stringify(ofOne), /attempt 1 to one@/)
  t.match(await app.cli('log', id), { status: 0, out: /^.{36} {2}email {2}.*\n {2}from {8}app@a\.test\n/ })
  t.match(await app.cli('log', 'none'), { status: 1, err: /no email, queue entry or inbound email none/ })
  t.match(await app.cli('log', '<none@b.test>'), { status: 1, err: /no email/ })
})

t.test('the log of an inbound email and of the mail that it answers', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  await app.cli('domain', 'add', 'home.test', '--inbound', '--force', '--workspace', app.workspaceId)
  const sent = await app.submitAccepted({ to: ['ann@b.test'] })
  await app.waitUntilSettled(sent)
  const own = (await app.findStory(sent)).message_id
  const reply = await deliverInbound(t, app, {
    to: ['info@home.test'],
    raw: inboundText({ subject: 'Re hello', fields: [`In-Reply-To: ${own}`] }),
  })
  const inbound = idOfReply(reply)
  await waitUntilProcessed(app, inbound)
  const answered = await app.rest('POST', `/v1/inbound/${inbound}/reply`, { body: { text: 'thanks' } })
  t.match(await app.cli('log', sent), { out: new RegExp(`answer +"Re hello" from ann@b\\.test, inbound ${inbound}`) })
  const { out } = await app.cli('log', inbound)
  t.match(out, /accepted +from \[127\.0\.0\.1\] as mx\.b\.test, <ann@b\.test> to info@home\.test, \d+ bytes/)
  t.match(out, /authenticated +SPF \w+, DKIM none, DMARC none/)
  t.match(out, /scored +-?\d+(\.\d+)? points, \w+/)
  t.match(out, /filed +"Re hello" from ann@b\.test/)
  t.match(out, /announced +email\.received/)
  if (answered.status === 200) t.match(out, /answer +"Re:? .*": \w+, email /)
  t.match((await app.cli('log', '<Rehello@b.test>')).out, new RegExp(`^${inbound} {2}inbound`))
})
