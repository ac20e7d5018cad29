/** Inbound mail, from the end of its DATA to its record in the API. */
import t, { type Test } from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { isOnPostgres } from '../helpers/database/test-engine.js'
import { rsaKey, signMessage } from '../helpers/mail/sign-message.js'
import {
  deliverInbound,
  idOfReply,
  inboundText,
  openMxSession,
  waitUntilProcessed,
} from '../helpers/smtp/deliver-inbound.js'
import { waitUntil } from '../helpers/wait-until.js'

const pair = rsaKey()

const zone = {
  'b.test': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
  's._domainkey.b.test': { TXT: [`v=DKIM1; ${pair.record}`] },
  '_dmarc.b.test': { TXT: ['v=DMARC1; p=reject'] },
  '1.0.0.127.in-addr.arpa': { PTR: ['mx.b.test'] },
  'mx.b.test': { addresses: ['127.0.0.1'] },
  'strict.test': { TXT: ['v=spf1 -all'] },
  '_dmarc.strict.test': { TXT: ['v=DMARC1; p=reject'] },
  'soft.test': { TXT: ['v=spf1 -all'] },
  '_dmarc.soft.test': { TXT: ['v=DMARC1; p=quarantine'] },
  'broken.test': 'failure',
  '_dmarc.broken.test': 'failure',
} as const

/** With home.test for the first workspace and another.test for the other, which receive mail. */
async function receiver(t: Test): Promise<TestDaemon> {
  const app = await testDaemon(t, { zone })
  await app.cli('workspace', 'set-operator', app.workspaceId)
  for (const [name, workspace] of [
    ['home.test', app.workspaceId],
    ['another.test', app.otherWorkspaceId],
  ] as const) {
    const added = await app.cli('domain', 'add', name, '--inbound', '--force', '--workspace', workspace)
    if (added.status !== 0) throw new Error(added.err)
  }
  const client = await openMxSession(t, app)
  await client.sendCommand('EHLO mx.b.test')
  await waitUntil('the listener knows the domains', async () => {
    await client.sendCommand('MAIL FROM:<>')
    const replies = [
      await client.sendCommand('RCPT TO:<a@home.test>'),
      await client.sendCommand('RCPT TO:<a@another.test>'),
    ]
    await client.sendCommand('RSET')
    return replies.every((reply) => reply.startsWith('250'))
  })
  return app
}

const app = await receiver(t)

t.test('a message is authenticated, stored, scored and announced, and can be read', async (t) => {
  const raw = signMessage(inboundText({ to: 'Info <info+tag@home.test>', subject: 'first' }), pair, {
    domain: 'b.test',
  })
  const id = idOfReply(await deliverInbound(t, app, { to: ['info+tag@home.test'], raw }))
  const email = await waitUntilProcessed(app, id)
  t.match(email, {
    id,
    status: 'processed',
    from: 'ann@b.test',
    from_name: 'Ann',
    to: ['info+tag@home.test'],
    cc: null,
    subject: 'first',
    has_text: true,
    has_html: false,
    attachment_count: 0,
    envelope_from: 'ann@b.test',
    envelope_to: ['info+tag@home.test'],
    text: /How do you do\?/,
    spf_result: 'pass',
    dkim_result: 'pass',
    dmarc_result: 'pass',
    spam_status: 'clean',
    authentication: { spf: { result: 'pass' }, arc: { result: 'none' }, iprev: { result: 'pass', name: 'mx.b.test' } },
  })
  const stored = (await app.rest('GET', `/v1/inbound/${id}/raw`)).text
  const lines = stored.replace(/\r\n[ \t]+/g, ' ').split('\r\n')
  t.match(lines[0], /^Return-Path: <ann@b\.test>$/)
  t.match(
    lines[1],
    /^Authentication-Results: mail\.service\.test; spf=pass .*; dkim=pass .*; dmarc=pass .*; iprev=pass/,
  )
  t.match(lines[2], /^Received-SPF: pass /)
  t.match(
    lines[3],
    new RegExp(
      `^Received: from mx\\.b\\.test \\(\\[127\\.0\\.0\\.1\\]\\) by mail\\.service\\.test with ESMTP id ${id} for <info\\+tag@home\\.test>;`,
    ),
  )
  t.ok(stored.endsWith(raw), 'the message itself is as it came')
  const listed = await app.rest('GET', '/v1/inbound?spam_status=clean&domain=home.test&from=ann@b.test')
  t.match(listed.json(), { data: [{ id, subject: 'first' }] })
  const [event] = await app.rows<{ workspace_id: string; data: string }>(
    `select workspace_id, data from events where type = 'email.received'`,
  )
  t.equal(event?.workspace_id, app.workspaceId)
  t.same(JSON.parse(event?.data ?? ''), {
    inbound_email_id: id,
    from: 'ann@b.test',
    from_name: 'Ann',
    to: ['info+tag@home.test'],
    cc: null,
    subject: 'first',
    has_html: false,
    has_text: true,
    attachment_count: 0,
    ...{ message_id: '<first@b.test>', in_reply_to: null, references: [], envelope_to: ['info+tag@home.test'] },
    ...{ plus: 'tag', spam_status: 'clean', spam_score: -0.5, attachments: [] },
  })
  t.same(app.errors, [])
})

t.test('one message to two workspaces makes two independent records', async (t) => {
  const to = ['x@home.test', 'y@home.test', 'z@another.test']
  idOfReply(await deliverInbound(t, app, { to, raw: inboundText({ from: 'ann@plain.test' }) }))
  const own = await waitUntil('the first', async () => {
    const { data } = (await app.rest('GET', '/v1/inbound?status=processed&from=ann@plain.test')).json<{
      data: { id: string }[]
    }>()
    return data[0]
  })
  const others = await waitUntil('the second', async () => {
    const { data } = (
      await app.rest('GET', '/v1/inbound?status=processed&from=ann@plain.test', { key: app.otherKey })
    ).json<{
      data: { id: string }[]
    }>()
    return data[0]
  })
  t.not(own.id, others.id)
  t.match(await waitUntilProcessed(app, own.id), {
    envelope_to: ['x@home.test', 'y@home.test'],
    dkim_result: 'none',
    dmarc_result: 'none',
  })
  t.match(await waitUntilProcessed(app, others.id, app.otherKey), { envelope_to: ['z@another.test'] })
  const raw = (await app.rest('GET', `/v1/inbound/${others.id}/raw`, { key: app.otherKey })).text
  t.notMatch(raw.slice(0, raw.indexOf('\r\nFrom:')), /home\.test/)
  const deleted = await app.rest('DELETE', `/v1/inbound/${own.id}`)
  t.equal(deleted.status, 200)
  t.match(await waitUntilProcessed(app, others.id, app.otherKey), { status: 'processed' }, "the other's stays")
})

t.test('a failed DMARC is treated as its domain asks, within the setting', async (t) => {
  const strict = { from: 'x@strict.test', to: ['a@home.test'], raw: inboundText({ from: 'x@strict.test' }) }
  t.match(await deliverInbound(t, app, strict), /^550 5\.7\.1 .*strict\.test.*reject/)
  t.same(await app.rows(`select id from inbound_emails where envelope_from = 'x@strict.test'`), [])
  const soft = { from: 'x@soft.test', to: ['a@home.test'], raw: inboundText({ from: 'x@soft.test' }) }
  const email = await waitUntilProcessed(app, idOfReply(await deliverInbound(t, app, soft)))
  t.match(email, { spf_result: 'fail', dmarc_result: 'fail', spam_status: 'spam' })
  const two = inboundText({ fields: ['From: other@b.test'] })
  t.match(await deliverInbound(t, app, { to: ['a@home.test'], raw: two }), /^550 5\.7\.1 .*From/)
})

t.test('a DNS failure refuses no message', async (t) => {
  const mail = { from: 'x@broken.test', to: ['a@home.test'], raw: inboundText({ from: 'x@broken.test' }) }
  const email = await waitUntilProcessed(app, idOfReply(await deliverInbound(t, app, mail)))
  t.match(email, {
    spf_result: 'neutral',
    dmarc_result: 'temperror',
    authentication: { spf: { result: 'temperror' } },
  })
})

t.test('the setting can make a message that DMARC would refuse spam, or accept it unchanged', async (t) => {
  for (const [dmarc, status] of [
    ['quarantine', 'spam'],
    ['report', /clean|suspicious/],
  ] as const) {
    const app = await testDaemon(t, { zone, settings: { inbound: { dmarc } } })
    await app.cli('workspace', 'set-operator', app.workspaceId)
    const strict = { from: 'x@strict.test', to: ['postmaster'], raw: inboundText({ from: 'x@strict.test' }) }
    const email = await waitUntilProcessed(app, idOfReply(await deliverInbound(t, app, strict)))
    t.match(email, { dmarc_result: 'fail', spam_status: status }, dmarc)
  }
})

t.test("postmaster belongs to the operator's workspace, a forged return path does not exist", async (t) => {
  const id = idOfReply(
    await deliverInbound(t, app, {
      to: ['postmaster', 'abuse@mail.service.test'],
      raw: inboundText({ from: 'x@plain.test' }),
    }),
  )
  t.match(await waitUntilProcessed(app, id), {
    envelope_to: ['postmaster@mail.service.test', 'abuse@mail.service.test'],
  })
  const path = `bounce+${'a'.repeat(42)}@posthorn.a.test`
  idOfReply(await deliverInbound(t, app, { from: '', to: [path], raw: inboundText({ from: 'x@plain.test' }) }))
  t.same(await app.rows(`select id from inbound_emails where envelope_from = ''`), [])
})

const MB = 1_048_576

/** A message of exactly so many octets. */
function messageOfSize(octets: number): string {
  const short = inboundText({ from: 'x@plain.test' })
  const line = `${'x'.repeat(76)}\r\n`
  const missing = octets - short.length
  const lines = Math.floor((missing - 3) / line.length)
  return `${short}${line.repeat(lines)}${'y'.repeat(missing - lines * line.length - 2)}\r\n`
}

async function usage(app: TestDaemon, key = app.key): Promise<{ bytes_held: number; bytes_limit: number | null }> {
  return (await app.rest('GET', '/v1/usage', { key })).json<{
    inbound: { bytes_held: number; bytes_limit: number | null }
  }>().inbound
}

t.test("mail to the service's own addresses waits for the operator, and is not archived", async (t) => {
  const app = await testDaemon(t, { zone, settings: { limits: { operator_inbound_bytes: '3MB' } } })
  const systems = ['postmaster', 'abuse@mail.service.test']
  const mail = (octets: number, to = ['postmaster']) =>
    deliverInbound(t, app, { from: '', to, raw: messageOfSize(octets) })
  for (const to of systems) t.match(await mail(500, [to]), /^451 4\.3\.5 /, to)
  t.same(await app.rows('select 1 from inbound_emails'), [], 'no other workspace gets it')
  await app.cli('workspace', 'set-operator', app.workspaceId)
  for (const to of systems) t.match(await mail(500, [to]), /^250 /, to)

  for (const to of systems) t.match(await mail(MB, [to]), /^250 /, to)
  t.match(await mail(MB + 1), /^552 5\.3\.4 /)
  const client = await openMxSession(t, app)
  await client.sendCommand('EHLO mx.b.test')
  await client.sendCommand(`MAIL FROM:<> SIZE=${MB + 1}`)
  t.match(await client.sendCommand('RCPT TO:<abuse@mail.service.test>'), /^552 5\.3\.4 /, 'said before it is brought')
  await client.sendCommand('RSET')
  await client.sendCommand(`MAIL FROM:<> SIZE=${MB}`)
  t.match(
    await client.sendCommand('RCPT TO:<abuse@mail.service.test>'),
    /^452 4\.2\.2 /,
    'the limit of its workspace holds too',
  )
  t.match(await usage(app), { bytes_limit: 3 * MB })
  t.same(app.errors, [])
})

t.test('the inbound mail of a workspace is bounded, at RCPT and by the commit', async (t) => {
  const limits = { plans: { small: { inbound_bytes: 59_000 } } }
  const app = await testDaemon(t, { zone, settings: { limits } })
  const bounded = app.otherWorkspaceId
  for (const [name, workspace] of [
    ['home.test', app.workspaceId],
    ['another.test', bounded],
  ] as const) {
    t.equal((await app.cli('domain', 'add', name, '--inbound', '--force', '--workspace', workspace)).status, 0)
  }
  await app.cli('workspace', 'set-plan', bounded, 'small')
  const stored = (): Promise<unknown> =>
    app.rows(
      `select sum(octet_length(raw) + 8192 + 2 * octet_length(envelope_to)) as bytes_held
        from inbound_raw join inbound_emails on id = inbound_id where inbound_emails.workspace_id = ?`,
      bounded,
    )
  const [own, other] = ['a@home.test', 'b@another.test']

  const large = messageOfSize(6_000)
  const many = await Promise.all(Array.from({ length: 6 }, () => deliverInbound(t, app, { to: [other], raw: large })))
  const words = many.map((reply) => reply.slice(0, 9)).sort()
  t.same(words, [...Array(3).fill('250 2.0.0'), ...Array(3).fill('452 4.2.2')], 'sessions at once do not pass it')
  t.match(await stored(), [await usage(app, app.otherKey).then(({ bytes_held }) => ({ bytes_held }))])
  const before = await usage(app, app.otherKey)
  t.equal(before.bytes_limit, 59_000)
  t.ok(before.bytes_held <= 59_000)

  const client = await openMxSession(t, app)
  await client.sendCommand('EHLO mx.b.test')
  await client.sendCommand('MAIL FROM:<> SIZE=19000')
  t.match(await client.sendCommand(`RCPT TO:<${other}>`), /^452 4\.2\.2 /)
  t.match(await client.sendCommand(`RCPT TO:<${own}>`), /^250 /, 'and its neighbour gets the message')
  await client.sendCommand('RSET')
  await client.sendCommand('MAIL FROM:<>')
  t.match(await client.sendCommand(`RCPT TO:<${own}>`), /^250 /)
  t.match(
    await client.sendCommand(`RCPT TO:<${other}>`),
    /^452 4\.5\.3 /,
    'of unknown size: by itself, so that none waits',
  )
  await client.sendCommand('RSET')
  await client.sendCommand('MAIL FROM:<>')
  t.match(await client.sendCommand(`RCPT TO:<${other}>`), /^250 /)
  t.match(await client.sendCommand(`RCPT TO:<${own}>`), /^452 4\.5\.3 /)

  const list = (await app.rest('GET', '/v1/inbound', { key: app.otherKey })).json<{ data: { id: string }[] }>().data
  for (const { id } of list) {
    t.equal((await app.rest('DELETE', `/v1/inbound/${id}`, { key: app.otherKey })).status, 200)
  }
  t.match(await usage(app, app.otherKey), { bytes_held: 0 })
  t.match(await deliverInbound(t, app, { to: [own, own], raw: large }), /^250 /)
  t.match(await usage(app), { bytes_limit: null })
  t.match(await deliverInbound(t, app, { to: [other], raw: large }), /^250 /, 'there is room again')
  t.match((await app.cli('workspace', 'list', '--json')).json(), {
    data: [{ id: app.workspaceId, operator: false }, { inbound_bytes: (await usage(app, app.otherKey)).bytes_held }],
  })
  if (!isOnPostgres()) t.same((await app.cli('verify-data', '--json')).json(), { ok: true, problems: [] })
  t.same(app.errors, [])
})
