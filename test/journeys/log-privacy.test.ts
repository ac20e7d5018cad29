/** With `log.hash_local_parts` no line of the log has the local part of an address, whatever becomes of the mail. */
import t from 'tap'
import { messageText, testDaemon } from '../helpers/daemon/test-daemon.js'
import { deliverInbound, inboundText } from '../helpers/smtp/deliver-inbound.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { dial } from '../helpers/smtp/smtp-dialogue.js'
import { waitUntil } from '../helpers/wait-until.js'

/** In all local parts of this test, and in nothing else. */
const MARK = 'zqsecret'

const sink = await openSink({
  script: {
    rcpt: ({ line }) => {
      if (line.includes('gone')) return `550 5.1.1 No such user ${MARK}.gone here, ask ${MARK.toUpperCase()}.GONE`
      return line.includes('later') ? `450 4.2.1 <${MARK}.later@b.test> mailbox of ${MARK}.later busy` : '250 2.1.5 Ok'
    },
  },
})
t.teardown(() => sink.close())
const app = await testDaemon(t, {
  level: 'debug',
  routes: { 'b.test': sink },
  settings: { log: { hash_local_parts: true } },
})
const added = await app.cli('domain', 'add', 'home.test', '--inbound', '--force', '--workspace', app.workspaceId)
if (added.status !== 0) throw new Error(added.err)

const parsed = (): readonly Record<string, unknown>[] => app.lines.map((line) => JSON.parse(line))
const countLines = (msg: string): number => parsed().filter((line) => line['msg'] === msg).length
const waitForLine = (msg: string, count = 1): Promise<boolean> =>
  waitUntil(`a line "${msg}"`, () => countLines(msg) >= count)

t.test('mail of every outcome, at every listener', async (t) => {
  const from = `${MARK}.app@a.test`
  for (const name of ['fine', 'gone', 'later']) await app.submitAccepted({ from, to: [`${MARK}.${name}@b.test`] })
  for (const msg of ['accepted', 'bounced', 'deferred']) await waitForLine(msg)
  await app.submit({ from: `${MARK}.app@foreign.test`, to: [`${MARK}.x@b.test`] })
  await app.submit({ from, to: [`"${MARK} quoted"@b.test`] })
  await app.submit({ from, raw: messageText({ from: `${MARK}@other.test` }) })
  await waitForLine('a submission was refused')
  const body = { from, to: `${MARK}.rest@b.test`, subject: 'hello', text: 'hello' }
  const rest = await app.rest('POST', '/v1/emails', { body })
  t.equal(rest.status, 201)
  await app.rest('GET', `/v1/nowhere/${MARK}.path%40b.test`)
  await app.rest('DELETE', `/v1/suppressions/${MARK}.path%40b.test`)
  await waitForLine('accepted', 2)
  await deliverInbound(t, app, { from: `${MARK}.author@other.test`, to: [`${MARK}.me@home.test`], raw: inboundText() })
  await waitForLine('a message was accepted')
  const mx = await dial(app.daemon.mx[0]?.port ?? 0)
  t.teardown(() => mx.end())
  await mx.readReply()
  await mx.sendCommand('EHLO other.test')
  await mx.sendCommand(`MAIL FROM:<${MARK}.spammer@other.test>`)
  t.match(await mx.sendCommand(`RCPT TO:<${MARK}.someone@elsewhere.test>`), /^55/)
  await waitForLine('an MX client was turned away')
})

t.test('the token of a link is in no line, whatever refuses the request', async (t) => {
  const before = app.lines.length
  for (const path of ['/v1/unsubscribe', '/api/v1/forwards', '//unsubscribe', '/v1/track/open', '/v1/sms/receipts'])
    await app.rest('PUT', `${path}/${MARK}token`, { key: null })
  await waitUntil('five lines', () => app.lines.length >= before + 5)
  const paths = parsed()
    .slice(before)
    .map(({ path }) => path)
  t.ok(paths.includes('/unsubscribe/…') && paths.includes('/forwards/…'), paths.join(' '))
})

t.test('no line has a local part', async (t) => {
  t.ok(app.lines.length > 15, `${app.lines.length} lines`)
  for (const line of app.lines) t.notMatch(line.toLowerCase(), MARK)
})

t.test('lines about one address can still be found together', async (t) => {
  const [bounced] = parsed().filter((line) => line['msg'] === 'bounced')
  t.match(bounced?.['recipient'], /^~[0-9a-f]{16}@b\.test$/)
  t.match(bounced?.['response'], /^550 5\.1\.1 No such user ~[0-9a-f]{16} here, ask ~[0-9a-f]{16}$/)
  const about = parsed().filter(({ recipient, to }) => [recipient, to].flat().includes(bounced?.['recipient']))
  t.same(new Set(about.map(({ msg }) => msg)), new Set(['a submission was accepted', 'bounced']))
})

t.test('one id leads from the session to the last attempt', async (t) => {
  const [bounced] = parsed().filter((line) => line['msg'] === 'bounced')
  const [accepted] = parsed().filter((line) => line['email'] === bounced?.['email'])
  t.match(accepted, { msg: 'a submission was accepted', session: /^\w{8,}$/, email: bounced?.['email'] })
  const [request] = parsed().filter(({ msg, route }) => msg === 'request' && route === '/emails')
  t.match(request, { requestId: String, emails: [String] })
  const [id] = [request?.['emails']].flat()
  t.match(
    parsed().filter(({ email }) => email === id),
    [{ msg: 'accepted' }],
  )
  const [inbound] = parsed().filter(({ msg }) => msg === 'a message was accepted')
  t.match(inbound, { session: /^\w{8,}$/, inbound: [String] })
  const [turnedAway] = parsed().filter(({ msg }) => msg === 'an MX client was turned away')
  t.match(turnedAway, { session: /^\w{8,}$/ })
  t.not(turnedAway?.['session'], inbound?.['session'])
})
