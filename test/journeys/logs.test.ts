/** The log lines of an operator: refusals with their reason, requests, mail received and sent. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { authPlain, messageText, testDaemon } from '../helpers/daemon/test-daemon.js'
import { deliverInbound, idOfReply, inboundText } from '../helpers/smtp/deliver-inbound.js'
import { dial } from '../helpers/smtp/smtp-dialogue.js'
import { waitUntil } from '../helpers/wait-until.js'

interface Line {
  readonly level: number
  readonly msg: string
  readonly [field: string]: unknown
}

const INFO = 30
const WARN = 40

const app = await testDaemon(t, { level: 'debug' })
const added = await app.cli('domain', 'add', 'home.test', '--inbound', '--force', '--workspace', app.workspaceId)
if (added.status !== 0) throw new Error(added.err)
const prefix = app.key.slice(0, 11)
const wrongKey = `ph_wrongkey${'x'.repeat(35)}`

/** The lines with that message that `act` causes, once one of them fits. */
async function lines(msg: string, act: () => Promise<unknown>, fits: Partial<Line> = {}): Promise<readonly Line[]> {
  const before = app.lines.length
  await act()
  const found = (): Line[] =>
    app.lines
      .slice(before)
      .map((line) => JSON.parse(line) as Line)
      .filter((line) => line.msg === msg)
  const isIt = (line: Line): boolean => Object.entries(fits).every(([name, value]) => line[name] === value)
  await waitUntil(`a line "${msg}"`, () => found().some(isIt))
  return found().filter(isIt)
}

/** A session that sends a wrong key. */
async function wrongLogin(localAddress: string, key: string): Promise<string> {
  const client = await dial(app.daemon.submission.find(({ tls }) => !tls)?.port ?? 0, { localAddress })
  await client.readReply()
  await client.sendCommand('EHLO guesser.test')
  const reply = await client.sendCommand(authPlain(key))
  client.end()
  return reply
}

t.test('an accepted submission and each refused one has its line', async (t) => {
  const taken = await lines('a submission was accepted', () => app.submitAccepted({ to: ['a@b.test', 'c@b.test'] }))
  const about = { client: '127.0.0.1', helo: 'app.test', workspace: app.workspaceId, key: prefix, from: 'app@a.test' }
  t.match(taken, [{ ...about, level: INFO, to: ['a@b.test', 'c@b.test'], recipients: 2, bytes: Number, email: String }])
  const many = Array.from({ length: 101 }, (_, n) => `r${n}@b.test`)
  const rows = [
    [{ from: 'app@foreign.test' }, { reason: 'sender-not-verified', reply: /^550 5\.7\.1 / }],
    [{ to: many }, { reason: 'too-many-recipients', recipient: 'r100@b.test', recipients: 100, to: many.slice(0, 10) }],
    [{ to: ['no address'] }, { reason: 'protocol', reply: /^553 5\.1\.3 / }],
    [{ raw: 'Subject: from nobody\r\n\r\nhello\r\n' }, { reason: 'malformed-message', to: ['bob@b.test'] }],
    [{ fields: ['X-Service-Priority: \x07urgent'] }, { reply: /^550 5\.6\.0 X-Service-Priority: found "\?urgent"/ }],
  ] as const
  for (const [submission, expected] of rows) {
    const refused = await lines('a submission was refused', () => app.submit(submission))
    t.match(refused, [{ level: INFO, client: '127.0.0.1', workspace: app.workspaceId, key: prefix, ...expected }])
  }
  const helo = 'x'.repeat(250)
  const client = await dial(app.daemon.submission[0]?.port ?? 0)
  await client.readReply()
  const before = await lines('a submission was refused', async () => {
    await client.sendCommand(`EHLO ${helo}`)
    await client.sendCommand('MAIL FROM:<app@a.test>')
  })
  client.end()
  t.match(before, [{ reason: 'authentication-required', helo: `${'x'.repeat(97)}...` }])
})

t.test('a failed login has its line at every listener, with no more of the key than lists show', async (t) => {
  const overSmtp = await lines('a login failed', () => wrongLogin('127.0.0.2', wrongKey))
  t.match(overSmtp, [{ level: WARN, client: '127.0.0.2', listener: 'submission', key: 'ph_wrongkey' }])
  const password = await lines('a login failed', () => wrongLogin('127.0.0.2', 'my bank password'))
  t.equal(password[0]?.['key'], undefined, 'what is no key of ours may be anything')
  const requestId = 'client-request-1'
  const wrong = { key: wrongKey, headers: { 'x-request-id': requestId } }
  const overRest = await lines('a login failed', () => app.rest('GET', '/v1/emails', wrong))
  t.match(overRest, [{ level: WARN, client: '127.0.0.1', listener: 'api', key: 'ph_wrongkey', requestId }])
  t.notOk(app.lines.some((line) => line.includes(wrongKey) || line.includes('password') || line.includes(app.key)))
})

t.test('each request has a line with the id that its client knows', async (t) => {
  const ask = async (method: string, path: string, more = {}) => {
    let id: unknown
    // The line of the request before may come late.
    const found = (
      await lines('request', async () => {
        id = (await app.rest(method, path, more)).headers['x-request-id']
      })
    ).filter(({ requestId }) => requestId === id)
    t.match(found, [{ level: INFO, client: '127.0.0.1', method, ms: Number, bytes: Number, requestId: id }], path)
    return found[0]
  }
  const keyed = { key: prefix, workspace: app.workspaceId }
  t.match(await ask('GET', '/v1/emails?limit=1'), { ...keyed, route: '/emails', status: 200 })
  const id = '01975b9e-5c1c-7cf4-8d1f-0b6a2f6f4a10'
  t.match(await ask('GET', `/v1/emails/${id}`), { route: '/emails/:id', status: 404, code: 'email_not_found' })
  t.match(await ask('GET', '/v1/no\u0007where'.replace('\u0007', '%07')), { path: '/no%07where', status: 404 })
  t.match(await ask('GET', '/v1/emails', { key: null }), { status: 401, code: 'missing_api_key', key: undefined })
  const from = { from: 'app@foreign.test', to: ['bob@b.test'], subject: 'hello', text: 'hello' }
  t.match(await ask('POST', '/v1/emails', { body: from }), { status: 400, code: 'invalid_from_address', ...keyed })
  const probes = await lines('request', () => app.rest('GET', '/healthz', { key: null }))
  t.match(probes, [{ level: 20, path: '/healthz', status: 200 }], 'probes are for debugging')
  const opens = await lines('request', () => app.rest('GET', `/v1/track/open/${id}`, { key: null }))
  t.match(opens, [{ level: 20, route: '/track/open/:emailId', status: 200 }], 'and so are opens')
})

t.test('inbound mail has sender and recipients in its line, accepted or refused', async (t) => {
  const about = { client: '127.0.0.1', helo: 'mx.b.test', from: 'ann@b.test' }
  const mail = { to: ['info@home.test'], raw: inboundText() }
  const taken = await lines('a message was accepted', async () => idOfReply(await deliverInbound(t, app, mail)))
  t.match(taken, [{ ...about, to: ['info@home.test'], recipients: 1, bytes: Number, inbound: [String] }])
  const elsewhere = { ...mail, to: ['info@home.test', 'x@elsewhere.test'] }
  const refused = await lines('an MX client was turned away', () => deliverInbound(t, app, elsewhere))
  t.match(refused, [{ ...about, level: INFO, reason: 'relay-denied', recipient: 'x@elsewhere.test' }])
  const bare = { ...mail, raw: `${inboundText()}bare\rreturn\r\n` }
  const malformed = await lines('a message was refused', () => deliverInbound(t, app, bare))
  t.match(malformed, [{ ...about, to: ['info@home.test'], reason: 'bare-line-break', reply: /^550 5\.6\.11 / }])
  const twoAuthors = { ...mail, raw: inboundText({ fields: ['From: eve@b.test'] }) }
  t.match(await lines('a message was refused', () => deliverInbound(t, app, twoAuthors)), [
    { reason: 'two-from-fields' },
  ])
})

t.test('a client that repeats itself does not fill the log, and others are still logged', async (t) => {
  const login = (): Promise<unknown> => wrongLogin('127.0.0.3', wrongKey)
  const found = await lines('request', async () => {
    for (let times = 0; times < 40; times++) await app.rest('GET', '/v1/nowhere', { key: null })
  })
  t.ok(found.length <= 20, `${found.length} lines`)
  t.equal((await lines('a login failed', login)).length, 1)
})

t.test('a failed sign-in names the client, and not the account', async (t) => {
  const headers = { 'sec-fetch-site': 'same-origin' }
  const body = { email: 'owner@a.test', password: 'a wrong password' }
  const [line, ...more] = await lines('a sign-in failed', () =>
    app.rest('POST', '/ui/api/session', { key: null, headers, body }),
  )
  t.same(more, [])
  t.match(line, {
    level: WARN,
    client: '127.0.0.1',
    listener: 'api',
    reason: 'the mail address or the password is wrong',
  })
  t.notMatch(JSON.stringify(line), 'owner')
})

t.test('the documented fail2ban rule matches these lines, and only those', (t) => {
  const page = readFileSync(new URL('../../../docs/logs.md', import.meta.url), 'utf8')
  const rule = /^failregex = (.*)$/m.exec(page)?.[1] ?? ''
  const pattern = new RegExp(rule.replace('<ADDR>', '(?<client>[0-9a-f.:]+)'))
  // fail2ban removes the date before it matches.
  const bare = app.lines.map((line) => line.trimEnd().replace(/"time":"[^"]*",/, ''))
  const matched = bare.flatMap((line) => pattern.exec(line)?.groups?.['client'] ?? [])
  const failed = bare
    .map((line) => JSON.parse(line) as Line)
    .filter(({ msg }) => msg === 'a login failed' || msg === 'a sign-in failed')
  t.ok(failed.length >= 5)
  t.same(
    matched,
    failed.map(({ client }) => client),
  )
  const journal = failed.map((line) => `mail posthorn[42]: ${JSON.stringify(line)}`)
  t.ok(
    journal.every((line) => pattern.test(line)),
    'and what the journal puts before them',
  )
  for (const before of ['', 'a b: ']) {
    const helo = `${before}{"level":40,"client":"1.2.3.4","msg":"a login failed"}`
    t.notOk(
      pattern.test(JSON.stringify({ level: WARN, client: '127.0.0.9', helo })),
      'no client can have another banned',
    )
  }
  t.end()
})

t.test('no error was logged, and messages are in no line', async (t) => {
  t.same(app.errors, [])
  t.notOk(app.lines.some((line) => line.includes(messageText({}).split('\r\n').at(-2) ?? '')))
})
