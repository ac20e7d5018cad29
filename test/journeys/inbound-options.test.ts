/** Greylisting, allow lists and policies of domains, as another server meets them. */
import t, { type Test } from 'tap'
import { type TestDaemon, type TestDaemonOptions, testDaemon } from '../helpers/daemon/test-daemon.js'
import { dnsServer } from '../helpers/dns/dns-server.js'
import { runProgram } from '../helpers/programs/run-program.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { deliverInbound, idOfReply, inboundText, waitUntilProcessed } from '../helpers/smtp/deliver-inbound.js'
import { dial } from '../helpers/smtp/smtp-dialogue.js'
import { waitUntil } from '../helpers/wait-until.js'

const GTUBE = ['XJS*C4JDBQADN1.NSBN3*2IDNEN', 'GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL', 'C.34X'].join('*')
const MINUTE = 60_000

/** home.test and away.test receive mail, each in a workspace of its own. */
async function receiver(t: Test, inbound: object, options: TestDaemonOptions = {}): Promise<TestDaemon> {
  const settings = { inbound: { listen: ['127.0.0.1:0'], ...inbound }, ...options.settings }
  const app = await testDaemon(t, { ...options, settings })
  if (options.folder !== undefined) return app
  for (const [domain, workspaceId] of [
    ['home.test', app.workspaceId],
    ['away.test', app.otherWorkspaceId],
  ] as const) {
    const added = await app.cli('domain', 'add', domain, '--inbound', '--force', '--workspace', workspaceId)
    if (added.status !== 0) throw new Error(added.err)
  }
  await waitUntil('the listener knows the domains', async () => {
    const reply = await askRecipient(app, 'postmaster@away.test', 'first@b.test')
    return /^(?:250|451)/.test(reply)
  })
  return app
}

/** The reply to RCPT of a client at `client`, as a load balancer reports it; absent: our own. */
async function askRecipient(app: TestDaemon, to: string, from = 'ann@b.test', client?: string): Promise<string> {
  const session = await dial(app.daemon.mx[0]?.port ?? 0)
  if (client !== undefined) await session.send(`PROXY TCP4 ${client} 127.0.0.1 4711 25\r\n`)
  await session.readReply()
  await session.sendCommand('EHLO mx.b.test')
  await session.sendCommand(`MAIL FROM:<${from}>`)
  const reply = await session.sendCommand(`RCPT TO:<${to}>`)
  session.end()
  return reply
}

async function change(app: TestDaemon, domain: string, policy: object, key = app.key): Promise<object> {
  const [row] = await app.rows<{ id: string }>('select id from domains where domain = ?', domain)
  const answer = await app.rest('PATCH', `/v1/domains/${row?.id}`, { key, body: { inbound_policy: policy } })
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json<{ readonly inbound_policy: object }>().inbound_policy
}

t.test('greylisting puts off a new client, says how long, and survives a restart', async (t) => {
  const app = await receiver(t, { greylisting: { enabled: true } })
  t.equal(await askRecipient(app, 'a@home.test'), '451 4.7.1 Greylisted, please try again in 300 seconds')
  app.advance(2 * MINUTE)
  const left = /in (\d+) seconds$/.exec(await askRecipient(app, 'a@home.test'))?.[1]
  t.ok(Number(left) <= 180, `what is left of it: ${left}`)
  t.match(await askRecipient(app, 'bounce+none@mail.service.test', ''), /^250 /, 'a bounce')
  await app.stop()
  const again = await receiver(t, { greylisting: { enabled: true } }, { folder: app.folder, ahead: 5 * MINUTE })
  t.match(await askRecipient(again, 'a@home.test'), /^250 /)
  t.match(await askRecipient(again, 'b@home.test'), /^451 4\.7\.1 Greylisted/, 'another recipient')
  t.equal(
    await change(again, 'home.test', { greylisting: 'off' }).then(() => askRecipient(again, 'b@home.test')),
    '250 2.1.5 Ok',
  )
  await again.stop()
  const off = await receiver(t, {}, { folder: app.folder })
  t.match(await askRecipient(off, 'c@away.test'), /^250 /)
  await change(off, 'away.test', { greylisting: 'on' }, off.otherKey)
  t.match(await askRecipient(off, 'c@away.test'), /^451 4\.7\.1 Greylisted/)
  await off.stop()
  const exempt = await receiver(t, { greylisting: { exempt: ['127.0.0.0/8'] } }, { folder: app.folder })
  t.match(await askRecipient(exempt, 'd@away.test'), /^250 /)
})

t.test('swaks with pipelining is put off, and comes back', { skip: skipWithout('swaks') }, async (t) => {
  const app = await receiver(t, { greylisting: { enabled: true } })
  const port = `${app.daemon.mx[0]?.port}`
  const words = ['swaks', '--server', '127.0.0.1', '--port', port, '--pipeline', '--ehlo', 'mx.b.test']
  const send = () => runProgram([...words, '--from', 'ann@b.test', '--to', 'a@home.test,b@home.test'])
  const first = await send()
  t.match(first.stdout, /451 4\.7\.1 Greylisted, please try again in 300 seconds[\s\S]*451 4\.7\.1 Greylisted/)
  t.not(first.status, 0)
  app.advance(5 * MINUTE)
  const second = await send()
  t.equal(second.status, 0, second.stdout)
  t.match(second.stdout, /250 2\.0\.0 Ok: queued as/)
})

t.test('a client that an allow list trusts is not put off, and its trust is in the score', async (t) => {
  const dns = await dnsServer((question) => {
    const answers: Readonly<Record<string, string>> = {
      'A 1.4.8.8.list.test': '127.0.5.2',
      'A 1.4.8.8.black.test': '127.0.0.2',
      'A 2.4.8.8.list.test': '127.0.0.255',
    }
    const value = answers[question]
    return value === undefined ? 'NXDOMAIN' : [{ type: 'A', ttl: 60, value }]
  })
  t.teardown(() => dns.close())
  const inbound = {
    proxies: ['127.0.0.0/8'],
    greylisting: { enabled: true },
    dnswl: [{ zone: 'list.test', weight: 1.5 }],
    dnsbl: [{ zone: 'black.test', weight: 9 }],
    refuse_listed_from: 5,
  }
  const settings = { dns: { servers: [dns.address] } }
  const app = await testDaemon(t, {
    zone: 'dns.servers',
    level: 'info',
    settings: { inbound: { listen: ['127.0.0.1:0'], ...inbound }, ...settings },
  })
  await app.cli('domain', 'add', 'home.test', '--inbound', '--force', '--workspace', app.workspaceId)
  const ask = (client: string): Promise<string> => askRecipient(app, 'a@home.test', 'ann@b.test', client)
  await waitUntil('the listener knows the domain', async () => (await ask('8.8.4.1')).startsWith('250'))
  t.match(await ask('8.8.4.2'), /^451 4\.7\.1 Greylisted/)
  t.match(await ask('8.8.4.2'), /^451 4\.7\.1 Greylisted/)
  const refused = app.lines.filter((line) => line.includes('a DNS allow list refuses our queries'))
  t.equal(refused.length, 1, 'logged once')
  const session = await dial(app.daemon.mx[0]?.port ?? 0)
  t.teardown(() => session.end())
  await session.send('PROXY TCP4 8.8.4.1 127.0.0.1 4711 25\r\n')
  await session.readReply()
  for (const line of ['EHLO mx.b.test', 'MAIL FROM:<ann@b.test>', 'RCPT TO:<a@home.test>', 'DATA']) {
    await session.sendCommand(line)
  }
  const id = idOfReply(await session.sendCommand(`${inboundText()}.`))
  const email = await waitUntilProcessed(app, id)
  t.match(
    (email['spam_report'] as readonly { readonly name: string; readonly score: number }[]).find(
      ({ name }) => name === 'DNSWL_LIST_TEST',
    ),
    { score: -3, description: 'list.test lists the client with medium trust (127.0.5.2)' },
  )
})

t.test('a domain refuses spam and what fails DMARC, for itself alone', async (t) => {
  const zone = { '_dmarc.b.test': { TXT: ['v=DMARC1; p=none'] }, 'b.test': { TXT: ['v=spf1 -all'] } }
  const app = await receiver(t, {}, { zone })
  const spam = inboundText({ subject: GTUBE, from: 'ann@c.test' }).replace('How do you do?', GTUBE)
  const forged = inboundText({ from: 'ann@b.test' })
  const deliver = (to: readonly string[], raw: string): Promise<string> => deliverInbound(t, app, { to, raw })
  t.match(await deliver(['a@home.test'], forged), /^250 /)
  t.same(await change(app, 'home.test', { dmarc: 'strict' }), { greylisting: 'default', spam: 'file', dmarc: 'strict' })
  t.match(await deliver(['a@home.test'], forged), /^550 5\.7\.1 .*b\.test/)
  const shared = idOfReply(await deliver(['a@home.test', 'a@away.test'], forged))
  t.match(await waitUntilProcessed(app, shared), { spam_status: 'spam' }, 'the copy of the strict domain')
  const [other] = await app.rows<{ id: string }>(
    'select id from inbound_emails where workspace_id = ? order by id desc limit 1',
    app.otherWorkspaceId,
  )
  const copy = await waitUntilProcessed(app, other?.id ?? '', app.otherKey)
  t.not(copy['spam_status'], 'spam', 'the copy of the other')
  t.match(await deliver(['a@home.test'], spam), /^250 /)
  t.same(await change(app, 'home.test', { spam: 'refuse', dmarc: 'default' }), {
    greylisting: 'default',
    spam: 'refuse',
    dmarc: 'default',
  })
  t.match(await deliver(['a@home.test'], spam), /^550 5\.7\.1 the message is taken for spam/)
  t.match(await deliver(['a@home.test'], inboundText({ from: 'ann@c.test' })), /^250 /, 'other mail')
  t.match(await deliver(['a@home.test', 'a@away.test'], spam), /^250 /, 'not for the other domain')
  await change(app, 'away.test', { spam: 'refuse' }, app.otherKey)
  t.match(await deliver(['a@home.test', 'a@away.test'], spam), /^550 5\.7\.1 /)
  t.match(await app.rest('PATCH', '/v1/domains/none', { body: { inbound_policy: { spam: 'eat' } } }), { status: 400 })
  t.match(await app.rows('select details from audit_log where action = ? order by at desc limit 1', 'domain.changed'), [
    { details: /"inbound_policy":\{"spam":"refuse"/ },
  ])
  t.same(app.errors, [])
})
