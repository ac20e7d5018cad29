/** Forwarding rules, from a message that comes in to the server of a target, and bounces on their way back. */
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { authenticate } from 'mailauth'
import t, { type Test } from 'tap'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { openBrowser } from '../helpers/http/browser-client.js'
import { rsaKey, signMessage } from '../helpers/mail/sign-message.js'
import { dsn } from '../helpers/receiving/report-text.js'
import {
  deliverInbound,
  idOfReply,
  inboundText,
  openMxSession,
  waitUntilProcessed,
} from '../helpers/smtp/deliver-inbound.js'
import { openSink, type ScriptedSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const pair = rsaKey()
const zone = {
  'b.test': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
  's._domainkey.b.test': { TXT: [`v=DKIM1; ${pair.record}`] },
  '_dmarc.b.test': { TXT: ['v=DMARC1; p=reject'] },
  'soft.test': { TXT: ['v=spf1 -all'] },
  '_dmarc.soft.test': { TXT: ['v=DMARC1; p=quarantine'] },
} as const

interface Rule {
  readonly id: string
  readonly unconfirmed: readonly string[]
}

let isGone = false
const sink = await openSink({
  script: { rcpt: ({ line }) => (isGone && line.includes('<gone@') ? '550 5.1.1 no such user' : '250 2.1.5 ok') },
})
t.teardown(() => sink.close())
const app = await testDaemon(t, { level: 'info', zone, routes: { 'out.test': sink, 'b.test': sink } })
await app.cli('domain', 'add', 'home.test', '--inbound', '--force', '--workspace', app.workspaceId)
const [home] = await app.rows<{ id: string }>(`select id from domains where domain = 'home.test'`)
const path = `/v1/domains/${home?.id}/forwards`

/** A rule whose targets have all agreed. */
async function addRule(body: Readonly<Record<string, unknown>>): Promise<Rule> {
  const answer = await app.rest('POST', path, { body })
  const rule = answer.json<Rule>()
  if (answer.status !== 201) throw new Error(JSON.stringify(rule))
  for (const address of rule.unconfirmed) await confirm(address)
  return rule
}

/** Follows the link of the mail to this address. */
async function confirm(address: string, form = ''): Promise<string> {
  const mail = await waitForMail(sink, address, /Do you agree that mail/)
  const url = /https?:\/\/\S+(\/v1\/forwards\/[\w.-]+)/.exec(mail.raw.toString().replace(/=\r\n/g, ''))?.[1] ?? ''
  const asked = await app.rest('GET', url, { key: null })
  if (!/Take forwarded mail/.test(asked.text) && form === '') throw new Error(asked.text)
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return (await app.rest('POST', url, { key: null, headers, body: form })).text
}

async function waitForMail(to: ScriptedSink, address: string, text: RegExp): Promise<ScriptedSink['messages'][number]> {
  return waitUntil(`mail to ${address}`, () => {
    const found = to.messages.find(({ rcptTo, raw }) => rcptTo[0]?.startsWith(`<${address}>`) && text.test(`${raw}`))
    return found ?? null
  })
}

async function arrive(t: Test, to: readonly string[], raw: string, from = 'ann@b.test'): Promise<string> {
  return idOfReply(await deliverInbound(t, app, { from, to, raw }))
}

/** What `GET /v1/inbound/:id/forwards` says of a message that was processed. */
async function forwardsOf(id: string): Promise<unknown> {
  await waitUntilProcessed(app, id)
  return (await app.rest('GET', `/v1/inbound/${id}/forwards`)).json<{ data: unknown }>().data
}

const signed = (subject: string, to = 'x@home.test'): string =>
  signMessage(inboundText({ to, subject }), pair, { domain: 'b.test' })

const bounceOf = (about: Parameters<typeof dsn>[0]): string => signMessage(dsn(about), pair, { domain: 'b.test' })

const senderOf = (mailFrom: string): string => /<([^>]*)>/.exec(mailFrom)?.[1] ?? ''

t.test('a message goes on with its signature, an ARC set and a rewritten sender', async (t) => {
  const created = await app.rest('POST', path, { body: { match: 'Sales', to: ['bob@out.test', 'eve@out.test'] } })
  t.match(created.json(), { match: 'sales', to: ['bob@out.test', 'eve@out.test'], keep: true, enabled: true })
  t.same(created.json<Rule>().unconfirmed, ['bob@out.test', 'eve@out.test'], 'both are asked first')
  t.match(await confirm('bob@out.test'), /may forward mail/)

  const id = await arrive(t, ['sales+shop@home.test'], signed('first'))
  const passed = await waitForMail(sink, 'bob@out.test', /Subject: first/)
  const rewritten = senderOf(passed.mailFrom)
  t.match(rewritten, /^SRS0=[A-Z2-7]{6}=[A-Z2-7]{2}=b\.test=ann@posthorn\.home\.test$/)
  const text = passed.raw.toString()
  t.match(text, /^ARC-Seal: i=1; .*cv=none/)
  t.match(text, /\r\nDelivered-To: sales\+shop@home\.test\r\nAuthentication-Results: /)
  t.notMatch(text, /Return-Path:/i)
  const [, results = ''] = /^ARC-Authentication-Results: i=1;(.*?)\r\n(?! )/ms.exec(text) ?? []
  t.match(results.replaceAll('\r\n', ''), / smtp\.mailfrom=b\.test; dkim=pass header\./)
  t.notMatch(results, /\?/)
  t.equal((text.match(/^DKIM-Signature/gm) ?? []).length, 1, 'its own alone')
  const verdict = await authenticate(passed.raw, {
    ...{ ip: '127.0.0.1', helo: 'mx', mta: 'mx.out.test', sender: rewritten, trustReceived: false },
    resolver: async (name: string, type: string) => resolve(name, type),
  })
  t.equal(verdict.dkim.results[0]?.status.result, 'pass')
  t.equal(verdict.arc === false ? 'none' : verdict.arc.status.result, 'pass')

  const outcomes = await waitUntil('its outcome', async () => {
    const shown = await forwardsOf(id)
    return JSON.stringify(shown).includes('"delivered"') ? shown : null
  })
  t.match(outcomes, [
    { to: 'bob@out.test', status: 'delivered', reason: null, response: /^250/ },
    { to: 'eve@out.test', status: 'not-forwarded', reason: 'unconfirmed' },
  ])
  t.same((await app.rest('GET', '/v1/emails')).json<{ data: unknown[] }>().data, [], 'it is no email of the workspace')
  t.same(await app.rows(`select 1 from events where type like 'email.%' and type <> 'email.received'`), [])

  t.comment('a bounce that comes back to the rewritten sender')
  const raw = bounceOf({ path: rewritten, status: '5.1.1', recipient: 'bob@out.test' })
  t.match(await deliverInbound(t, app, { from: 'x@b.test', to: [rewritten], raw }), /^550 5\.7\.1 /, 'not from anybody')
  const forged = rewritten.replace('=ann@', '=eve@')
  t.match(await deliverInbound(t, app, { from: '', to: [forged], raw }), /^550 5\.7\.1 /, 'not to anybody')
  idOfReply(await deliverInbound(t, app, { from: '', to: [rewritten.toLowerCase()], raw }))
  const bounce = await waitForMail(sink, 'ann@b.test', /no such user|5\.1\.1/)
  t.equal(senderOf(bounce.mailFrom), '')
  t.same(await app.rows(`select 1 from inbound_emails where kind = 'report'`), [])
  t.same(app.errors, [])
})

/** The key that the service seals with, and those of the zone. */
async function resolve(name: string, type: string): Promise<string[][]> {
  const [sealing] = await app.rows<{ private_key: string; selector: string; domain: string }>(
    `select * from dkim_keys where workspace_id = 'service' and signing = 1`,
  )
  if (sealing !== undefined && name === `${sealing.selector}._domainkey.${sealing.domain}`) {
    const key = createPublicKey(createPrivateKey(sealing.private_key)).export({ type: 'spki', format: 'der' })
    return [[`v=DKIM1; p=${key.toString('base64')}`]]
  }
  const found = Object.entries(zone).find(([known]) => known === name)?.[1]
  if (found === undefined || type !== 'TXT') throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
  return found.TXT.map((record) => [record])
}

t.test('the most exact rule wins; a rule may keep no copy', async (t) => {
  await addRule({ match: '*', to: ['all@out.test'], keep: false })
  await addRule({ match: 'info', to: ['info@out.test'] })
  await addRule({ match: 'info+vip', to: ['vip@out.test'] })
  for (const [to, target] of [
    ['INFO@home.test', 'info@out.test'],
    ['info+x@home.test', 'info@out.test'],
    ['info+vip@home.test', 'vip@out.test'],
    ['other@home.test', 'all@out.test'],
  ] as const) {
    const subject = `to ${to}`
    const id = await arrive(t, [to], signed(subject))
    const passed = await waitForMail(sink, target, new RegExp(`Subject: ${subject.replace('+', '\\+')}`))
    t.equal(passed.rcptTo.length, 1)
    const kept = target === 'all@out.test' ? 404 : 200
    t.equal((await app.rest('GET', `/v1/inbound/${id}`)).status, kept, `${to}: kept`)
  }
  t.same(
    await app.rows('select count(*) as n from inbound_raw where inbound_id not in (select id from inbound_emails)'),
    [{ n: 0 }],
  )
})

t.test('a message whose sender cannot be told of a failure is kept, and its refusal suppresses nobody', async (t) => {
  await addRule({ match: 'null', to: ['gone@out.test'], keep: false })
  isGone = true
  const id = await arrive(t, ['null@home.test'], signed('from nobody'), '')
  const outcome = await waitUntil('its outcome', async () => {
    const shown = JSON.stringify(await forwardsOf(id))
    return shown.includes('"bounced"') ? shown : null
  })
  isGone = false
  t.match(outcome, /no such user/)
  t.equal((await app.rest('GET', `/v1/inbound/${id}`)).status, 200)
  t.same(await app.rows(`select 1 from suppressions where email = 'gone@out.test'`), [])
})

t.test('what is not passed on: spam, mail against DMARC, loops, suppressed addresses', async (t) => {
  await addRule({ match: 'held', to: ['held@out.test'], keep: false })
  const soft = inboundText({ from: 'x@soft.test', to: 'held@home.test', subject: 'soft' })
  const dmarc = await arrive(t, ['held@home.test'], soft, 'x@soft.test')
  t.match(
    await forwardsOf(dmarc),
    [{ status: 'not-forwarded', reason: /^(spam|dmarc)$/ }],
    'and it is filed all the same',
  )
  const looped = signMessage(
    inboundText({ to: 'held@home.test', subject: 'loop', fields: ['Delivered-To: Held@home.test'] }),
    pair,
    { domain: 'b.test' },
  )
  t.match(await forwardsOf(await arrive(t, ['held@home.test'], looped)), [{ status: 'not-forwarded', reason: 'loop' }])
  await app.rest('POST', '/v1/suppressions', { body: { email: 'held@out.test', reason: 'manual' } })
  const late = await arrive(t, ['held@home.test'], signed('late'))
  t.match(await forwardsOf(late), [{ status: 'not-forwarded', reason: 'suppressed' }])
})

t.test('a target that refuses: its sender is told, if SPF passed; nobody is suppressed', async (t) => {
  await addRule({ match: 'gone', to: ['gone@out.test'] })
  isGone = true
  await arrive(t, ['gone@home.test'], signed('refused'))
  await waitForMail(sink, 'ann@b.test', /Final-Recipient: rfc822; ?gone@out\.test/)
  t.same(await app.rows(`select 1 from suppressions where email = 'gone@out.test'`), [])
})

t.test('a sender that cannot be rewritten gets its bounces by a token', async (t) => {
  await addRule({ match: 'long', to: ['long@out.test'] })
  const from = `${'l'.repeat(50)}@b.test`
  await arrive(t, ['long@home.test'], signed('long'), from)
  const passed = await waitForMail(sink, 'long@out.test', /Subject: long/)
  const token = senderOf(passed.mailFrom)
  t.match(token, /^bounce\+[a-z2-7]{42}@posthorn\.home\.test$/)
  const raw = bounceOf({ path: token, status: '5.1.1', recipient: 'long@out.test' })
  idOfReply(await deliverInbound(t, app, { from: '', to: [token], raw }))
  t.equal(senderOf((await waitForMail(sink, from, /5\.1\.1/)).mailFrom), '')
})

t.test('a forged sender is not rewritten, and gets nothing through us', async (t) => {
  await addRule({ match: 'forged', to: ['forged@out.test'] })
  await arrive(
    t,
    ['forged@home.test'],
    inboundText({ from: 'eve@none.test', to: 'x@home.test', subject: 'forged' }),
    'victim@none.test',
  )
  const token = senderOf((await waitForMail(sink, 'forged@out.test', /Subject: forged/)).mailFrom)
  t.match(token, /^bounce\+[^@]+@posthorn\.home\.test$/)
  const raw = bounceOf({ path: token, status: '5.1.1', recipient: 'forged@out.test' })
  const id = idOfReply(await deliverInbound(t, app, { from: '', to: [token], raw }))
  await waitUntil('the end of the report', async () =>
    (await app.rows(`select 1 from inbound_emails where id = '${id}'`)).length === 0 ? true : null,
  )
  t.same(await app.rows(`select 1 from recipients where address = 'victim@none.test'`), [])
})

t.test('rules are checked, changed and deleted', async (t) => {
  const refusedWith = async (body: unknown): Promise<unknown> => {
    const answer = await app.rest('POST', path, { body })
    return [answer.status, answer.json<{ error: { message: string } }>().error.message]
  }
  for (const [body, expected] of [
    [{ match: 'one' }, [400, /needs an address or a webhook_id/]],
    [{ match: 'one', to: ['ONE@home.test'] }, [400, /in a circle/]],
    [{ match: 'one', to: ['one+x@home.test'] }, [400, /in a circle/]],
    [{ match: 'a@elsewhere.test', to: ['x@out.test'] }, [400, /match/]],
    [{ match: 'one', to: ['no address'] }, [400, /address/]],
    [{ match: 'one', to: Array.from({ length: 11 }, (_, place) => `x${place}@out.test`) }, [400, /10/]],
    [{ match: 'info', to: ['x@out.test'] }, [409, /has a rule for info/]],
    [{ match: 'one', webhook_id: 'wh_none' }, [404, /webhook/]],
  ] as const)
    t.match(await refusedWith(body), expected, JSON.stringify(body))
  t.equal(
    (await app.rows(`select 1 from forward_targets where address = 'x@out.test'`)).length,
    0,
    'a refused rule asks nobody',
  )
  const pending = await app.rest('POST', `/v1/domains/${home?.id}/forwards`, {
    body: { match: 'p', to: ['in@home.test'] },
  })
  t.same(pending.json<Rule>().unconfirmed, [], 'an address of an own domain is not asked')

  const { id } = await addRule({ match: 'change', to: ['change@out.test'] })
  const changed = await app.rest('PATCH', `${path}/${id}`, { body: { enabled: false } })
  t.match(changed.json(), { id, enabled: false, to: ['change@out.test'] })
  await arrive(t, ['change@home.test'], signed('while off'))
  await waitForMail(sink, 'all@out.test', /Subject: while off/)
  await app.rest('PATCH', `${path}/${id}`, { body: { enabled: true } })
  t.match(await confirm('change@out.test', 'stop=1'), /Take forwarded mail/, 'its owner has withdrawn')
  t.same((await app.rest('GET', `${path}/${id}`)).json<Rule>().unconfirmed, ['change@out.test'])
  t.equal((await app.rest('DELETE', `${path}/${id}`)).status, 200)
  t.equal((await app.rest('GET', `${path}/${id}`)).status, 404)
  t.equal((await app.rest('GET', path)).json<{ data: readonly unknown[] }>().data.length > 3, true)
})

t.test('what came with REQUIRETLS goes on with it or not at all', async (t) => {
  await addRule({ match: 'secret', to: ['secret@out.test'] })
  const client = await openMxSession(t, app)
  await client.sendCommand('EHLO mx.b.test')
  t.match(await client.sendCommand('STARTTLS'), /^220/)
  await client.startTls()
  await client.sendCommand('EHLO mx.b.test')
  t.match(await client.sendCommand('MAIL FROM:<ann@b.test> REQUIRETLS'), /^250/)
  await client.sendCommand('RCPT TO:<secret@home.test>')
  await client.sendCommand('DATA')
  const id = idOfReply(await client.sendCommand(`${signed('secret')}.`))
  await forwardsOf(id)
  const waiting = `select tls_required, recipients.last_response from emails join recipients on email_id = emails.id
    where address = 'secret@out.test' and priority = 'low'`
  const row = await waitUntil('an attempt', async () => {
    const [found] = await app.rows<{ tls_required: string; last_response: string | null }>(waiting)
    return found?.last_response ? found : null
  })
  t.equal(row.tls_required, 'yes')
  t.match(row.last_response, /TLS/)
  t.notOk(sink.messages.some(({ raw }) => `${raw}`.includes('Subject: secret')))
})

t.test('no more strangers are asked in a day than allowed, however many requests come at once', async (t) => {
  const before =
    (
      await app.rows<{ n: number }>(
        'select count(*) as n from forward_targets where confirmed_at is distinct from requested_at',
      )
    )[0]?.n ?? 0
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, rule) => {
      const to = Array.from({ length: 10 }, (_, place) => `stranger${rule}-${place}@out.test`)
      return app.rest('POST', path, { body: { match: `many${rule}`, to } })
    }),
  )
  const asked = answers.filter(({ status }) => status === 201).length * 10
  t.ok(before + asked <= 50, `${before} and ${asked}`)
  t.ok(asked > 0)
  t.ok(answers.some(({ status }) => status === 429))
})

t.test('a webhook gets email.received of what its rule matches alone', async (t) => {
  const hook = await app.rest('POST', '/v1/webhooks', {
    body: { url: 'http://hooks.test/x', events: ['domain.failed'] },
  })
  t.equal(hook.status, 201)
  const { id: webhookId } = hook.json<{ id: string }>()
  await addRule({ match: 'hook', webhook_id: webhookId, keep: false })
  const id = await arrive(t, ['hook@home.test'], signed('hooked'))
  t.match(await waitUntilProcessed(app, id), { status: 'processed' }, 'it is kept: the webhook needs it')
  const rows = await app.rows<{ type: string; data: string }>(
    `select webhook_deliveries.type, data from webhook_deliveries join events on seq = event_seq where webhook_id = ?`,
    webhookId,
  )
  t.match(rows, [{ type: 'email.received', data: new RegExp(id) }])
})

t.test('mail with a link that gives access goes to the targets, and nobody else can read it', async (t) => {
  await app.cli('workspace', 'create', 'Staff', '--email', 'boss@out.test')
  await openBrowser(app).ask('POST', '/password-links', { body: { email: 'boss@out.test' } })
  const { raw } = await waitForMail(sink, 'boss@out.test', /set-password#token/)
  await addRule({ match: 'staff', to: ['bob@out.test'] })
  const hook = await app.rest('POST', '/v1/webhooks', {
    body: { url: 'http://staff.test/x', events: ['domain.failed'] },
  })
  await addRule({ match: 'staffhook', webhook_id: hook.json<{ id: string }>().id })
  for (const name of ['staff', 'nobody', 'staffhook']) {
    const reply = await deliverInbound(t, app, { from: '', to: [`${name}@home.test`], raw: `${raw}` })
    t.match(reply, /^250 /)
    t.equal((await app.rest('GET', `/v1/inbound/${idOfReply(reply)}`)).status, 404)
    t.same(await app.rows('select 1 from inbound_raw where inbound_id = ?', idOfReply(reply)), [])
    t.same(await app.rows(`select 1 from events where data like ?`, `%${idOfReply(reply)}%`), [])
  }
  await waitForMail(sink, 'bob@out.test', /set-password#token/)
  const lines = app.lines.map((line) => JSON.parse(line)).filter(({ msg }) => /gives access is not filed/.test(msg))
  t.match(lines, [{ to: ['staff@home.test'] }, { to: ['nobody@home.test'] }, { to: ['staffhook@home.test'] }])
  const alike = await arrive(t, ['nobody@home.test'], `${raw}`.replace(/^(Message-ID: <)......../im, '$100000000'), '')
  t.match(await waitUntilProcessed(app, alike), { status: 'processed' }, 'mail that is not from us is filed')
})

t.test('at the end', async (t) => {
  const waiting = `select count(*) as n from queue where recipient <> 'secret@out.test'`
  await waitUntil('an empty queue', async () => (await app.rows<{ n: number }>(waiting))[0]?.n === 0)
  const [one] = await app.rows<{ id: string }>(
    `select id from emails where priority = 'low' and status = 'delivered' limit 1`,
  )
  t.match(await app.cli('log', one?.id ?? ''), { out: /passed on, were removed when all recipients were settled/ })
  const kept = `select 1 from raw_messages join emails on emails.id = email_id where priority = 'low' and tls_required is null`
  t.same(await app.rows(kept), [], 'no bytes of what was passed on')
  t.same(app.errors, [])
})
