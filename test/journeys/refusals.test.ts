/** Refusals of the submission listener with their texts, and that nothing of a refused message is stored. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import t from 'tap'
import { parseAddress } from '../../src/base/mail/address.js'
import { addSuppression } from '../../src/records/suppressions/suppressions.js'
import { generateKey, insertKey } from '../../src/workspaces/accounts/keys/api-keys.js'
import { authPlain, messageText, type Submission, submitMessage, testDaemon } from '../helpers/daemon/test-daemon.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { dial } from '../helpers/smtp/smtp-dialogue.js'

const hour = 3_600_000

t.test('refused submissions', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const { commit } = app.daemon.database
  const emails = async (): Promise<number> =>
    (await app.rows<{ n: number }>('select count(*) as n from emails'))[0]?.n ?? -1
  const raw = (...lines: readonly string[]): string => [...lines, '', 'text', ''].join('\r\n')

  await t.test('messages that are refused at DATA', async (t) => {
    const field = (...fields: readonly string[]): Submission => ({ fields })
    const from = 'From: app@a.test'
    const cases: readonly (readonly [why: string, submission: Submission, reply: RegExp])[] = [
      ['no From', { raw: raw('To: bob@b.test') }, /^550 5\.6\.0 the message has no From field$/],
      ['no header at all', { raw: raw('') }, /^550 5\.6\.0 .*no From/],
      ['two From fields', { raw: raw(from, from) }, /^550 5\.6\.0 the message has 2 From fields/],
      ['a From that is empty', { raw: raw('From:') }, /^550 5\.6\.0 From: names no address/],
      ['a From that is none', { raw: raw('From: nobody') }, /^550 5\.6\.0 From: /],
      [
        'a From in an unregistered domain',
        { raw: raw('From: x@stranger.test') },
        /^550 5\.7\.1 From x@stranger\.test: .*not a verified/,
      ],
      ['a From of another workspace', { raw: raw('From: x@other.test') }, /^550 5\.7\.1/],
      ['a second author in an unregistered domain', { raw: raw(`${from}, x@stranger.test`) }, /^550 5\.7\.1/],
      ['a From in a subdomain', { raw: raw('From: x@sub.a.test') }, /^550 5\.7\.1/],
      ['circles', { raw: raw(...Array<string>(51).fill('Received: by x; y'), from) }, /^554 5\.4\.6/],
      ['a tag without value', field('X-Service-Tag: alone'), /^550 5\.6\.0 X-Service-Tag: found "alone"/],
      ['a tag without name', field('X-Service-Tag: =b'), /^550 5\.6\.0/],
      ['an empty tag', field('X-Service-Tag: a='), /^550 5\.6\.0/],
      ['a long tag', field(`X-Service-Tag: a=${'b'.repeat(257)}`), /^550 5\.6\.0/],
      ['21 tags', field(...Array.from({ length: 21 }, (_, n) => `X-Service-Tag: a${n}=b`)), /^550 5\.6\.0 .*20 tags/],
      ['a flag that is none', field('X-Service-Track-Opens: yes'), /^550 5\.6\.0 .*"true" or "false"/],
      ['an empty flag', field('X-Service-Track-Clicks:'), /^550 5\.6\.0/],
      ['a priority', field('X-Service-Priority: urgent'), /^550 5\.6\.0 .*"high", "normal" or "low"/],
      [
        'a time without zone',
        field('X-Service-Scheduled-For: 2030-01-01T00:00:00'),
        /^550 5\.6\.0 X-Service-Scheduled-For: found "/,
      ],
      [
        '30 February',
        field('X-Service-Scheduled-For: 2030-02-30T00:00:00Z'),
        /^550 5\.6\.0 X-Service-Scheduled-For: found "/,
      ],
      [
        'a time too far ahead',
        field(`X-Service-Scheduled-For: ${new Date(app.now() + 31 * 24 * hour).toISOString()}`),
        /^550 5\.6\.0 X-Service-Scheduled-For: .*30 days/,
      ],
      ['an empty key', field('X-Service-Idempotency-Key:'), /^550 5\.6\.0/],
      ['a long key', field(`X-Service-Idempotency-Key: ${'k'.repeat(257)}`), /^550 5\.6\.0/],
      [
        'a field twice',
        field('X-Service-Priority: low', 'X-Service-Priority: high'),
        /^550 5\.6\.0 X-Service-Priority: occurs twice/,
      ],
    ]
    const client = await app.openSession()
    for (const [why, submission, reply] of cases) t.match(await submitMessage(client, submission), reply, why)
    t.equal(await emails(), 0)
  })

  await t.test('fields that only resemble an instruction are kept, and unknown instructions are ignored', async (t) => {
    const strange = ['X-Service-Colour: red', 'X-PM-Tag:', `X-Mailgun-Tag: ${'b'.repeat(300)}`]
    const fields = ['Constructor: x', '__proto__: y', 'X-Services: z', ...strange]
    const id = await app.submitAccepted({ fields })
    const story = await app.waitUntilSettled(id)
    t.same(story.tags, [])
    const text = sink.messages.at(-1)?.raw.toString() ?? ''
    for (const kept of ['Constructor: x', '__proto__: y', 'X-Services: z']) t.ok(text.includes(`\r\n${kept}\r\n`), kept)
    for (const field of strange) t.notOk(text.includes(field), field)
  })

  await t.test('senders that are refused at MAIL', async (t) => {
    t.match(await app.submit({ from: 'x@stranger.test' }), /^550 5\.7\.1 sender x@stranger\.test/)
    t.match(await app.submit({ from: 'x@other.test' }), /^550 5\.7\.1/)
    t.match(await app.submit({ from: '', raw: messageText({}) }), /^250/, 'the null sender may send')
  })

  await t.test('one recipient too many is refused, and the others are accepted', async (t) => {
    const client = await app.openSession()
    await client.sendCommand('MAIL FROM:<app@a.test>')
    for (let n = 0; n < 100; n += 1) t.match(await client.sendCommand(`RCPT TO:<r${n}@b.test>`), /^250/)
    t.match(await client.sendCommand('RCPT TO:<r100@b.test>'), /^452 4\.5\.3 at most 100/)
    t.match(await client.sendCommand('RCPT TO:<r1@b.test>'), /^250/, 'one that is there already')
    await client.sendCommand('DATA')
    const id = /as (.*)$/.exec(await client.sendCommand(`${messageText({})}.`))?.[1] ?? ''
    t.equal((await app.waitUntilSettled(id)).recipients.length, 100)
  })

  await t.test('suppressed recipients are recorded; if all are, the message is refused', async (t) => {
    const suppressed = parseAddress('Gone@b.test')
    const reason = 'manual'
    await commit([
      addSuppression({
        workspaceId: app.workspaceId,
        email: suppressed,
        reason,
        sourceEmailId: null,
        metadata: {},
        at: app.now(),
      }),
    ])
    const before = await emails()
    t.match(await app.submit({ to: ['gone@b.test'] }), /^554 5\.7\.1 all recipients are on the suppression list/)
    t.equal(await emails(), before)
    const story = await app.waitUntilSettled(
      await app.submitAccepted({ to: ['gone@b.test', 'GONE@b.test', 'here@b.test'] }),
    )
    t.same(
      story.recipients.map(({ email, status, attempts }) => [email, status, attempts.length]),
      [
        ['gone@b.test', 'suppressed', 0],
        ['GONE@b.test', 'suppressed', 0],
        ['here@b.test', 'delivered', 1],
      ],
    )
    const [event] = await app.rows<{ data: string }>(
      `select data from events where email_id = ? and type = 'email.queued'`,
      story.id,
    )
    t.same((JSON.parse(event?.data ?? '{}') as { to: unknown }).to, 'here@b.test')
    t.equal(story.status, 'delivered')
    const other = { from: 'app@other.test', key: app.otherKey, to: ['gone@b.test'] }
    t.equal(
      (await app.waitUntilSettled(await app.submitAccepted(other))).status,
      'delivered',
      'it holds for its workspace alone',
    )
  })

  await t.test('the message is stored with the priority, tags and tracking that it asks for', async (t) => {
    const fields = ['X-Service-Priority: HIGH', 'X-Service-Tag:  a = b=c ', 'X-Service-Track-Clicks: False']
    const story = await app.findStory(await app.submitAccepted({ fields: [...fields, 'X-PM-TrackOpens: true'] }))
    t.match(story, { priority: 'high', tags: [{ name: 'a', value: 'b=c' }], tracking: { open: true, click: false } })
    t.match(await app.findStory(await app.submitAccepted()), {
      priority: 'normal',
      tracking: { open: false, click: false },
    })
    const ours = ['X-Service-Track-Opens: false', 'X-PM-TrackOpens: true', 'X-Mailgun-Track-Clicks: maybe']
    t.match(
      await app.findStory(await app.submitAccepted({ fields: ours })),
      { tracking: { open: false, click: false } },
      'ours wins',
    )
  })

  await t.test('keys', async (t) => {
    const make = async (keyFields: object): Promise<{ key: string; id: string }> => {
      const users = await app.rows<{ user_id: string }>(
        'select user_id from members where workspace_id = ?',
        app.workspaceId,
      )
      const userId = users[0]?.user_id ?? ''
      const key = generateKey({ workspaceId: app.workspaceId, userId, name: 'made', now: app.now(), ...keyFields })
      await commit([insertKey(key.row)])
      return { key: key.secret, id: key.row.id }
    }
    const [endpoint] = app.daemon.submission
    const login = async (key: string): Promise<string> => {
      const client = await dial(endpoint?.port ?? 0)
      t.teardown(() => client.end())
      await client.readReply()
      await client.sendCommand('EHLO app.test')
      return client.sendCommand(authPlain(key))
    }
    t.match(await login((await make({ scopes: ['read'] })).key), /^535 5\.7\.8 the key lacks the scope "send"/)
    t.match(await login((await make({ scopes: ['send'] })).key), /^235/)
    t.match(
      await login((await make({ allowedNetworks: ['10.0.0.0/8'] })).key),
      /^535 .*may not be used from this address/,
    )
    t.match(await login((await make({ allowedNetworks: ['127.0.0.0/8'] })).key), /^235/)
    t.match(await login((await make({ expiresAt: app.now() - 1 })).key), /^535 .*expired/)
    const domains = await make({ allowedDomains: ['elsewhere.test'] })
    t.match(
      await app.submit({ key: domains.key }),
      /^550 5\.7\.1 sender app@a\.test: this key may not send from a\.test/,
    )

    const brief = await make({ expiresAt: app.now() + hour })
    const client = await app.openSession(brief.key)
    t.match(await submitMessage(client, {}), /^250/)
    app.advance(hour)
    t.match(await submitMessage(client, {}), /^421 .*the key is no longer valid/, 'an open session ends with its key')
  })

  t.same(app.errors, [])
})

t.test('the same idempotency key means the same email for a day', async (t) => {
  const app = await testDaemon(t)
  const keyed = (key: string, line = 'same'): Submission => ({
    raw: messageText({ fields: [`X-Service-Idempotency-Key: ${key}`, `X-Line: ${line}`] }),
  })
  const count = async (): Promise<number> => (await app.rows(`select 1 from emails where source = 'smtp'`)).length

  const id = await app.submitAccepted(keyed('k1'))
  t.equal(await app.submitAccepted(keyed('k1')), id)
  t.equal(await count(), 1)
  t.match(await app.submit(keyed('k1', 'other')), /^554 5\.5\.0 X-Service-Idempotency-Key: .* used for another request/)
  t.match(await app.submit({ ...keyed('k1'), to: ['carol@b.test'] }), /^554/, 'another envelope is another message')
  const others = { ...keyed('k1'), from: 'app@other.test', key: app.otherKey }
  t.match(await app.submit({ ...others, raw: keyed('k1').raw?.replaceAll('a.test', 'other.test') ?? '' }), /^250/)
  t.equal(await count(), 2, 'the key of another workspace is another key')

  const sessions = await Promise.all(Array.from({ length: 20 }, () => app.openSession()))
  const replies = await Promise.all(sessions.map((client) => submitMessage(client, keyed('k2'))))
  t.equal(new Set(replies).size, 1, 'twenty at once get one answer')
  t.match(replies[0], /^250/)
  t.equal(await count(), 3, 'and are one email')

  const mixed = await Promise.all(sessions.map((client, n) => submitMessage(client, keyed('k3', `${n % 2}`))))
  t.same(mixed.map((reply) => reply.slice(0, 3)).sort(), [...Array(10).fill('250'), ...Array(10).fill('554')])
  t.equal(await count(), 4)

  app.advance(24 * hour - 60_000)
  t.equal(await app.submitAccepted(keyed('k1')), id, 'nearly a day later it is the same')
  app.advance(120_000)
  const fresh = await app.submitAccepted(keyed('k1'))
  t.not(fresh, id, 'a day later it is a new one')
  t.equal(await app.submitAccepted(keyed('k1')), fresh)
  t.match(await app.submit(keyed('k2', 'other')), /^250/, 'with any content')
  t.same(app.errors, [])
})

t.test('a revoked key ends its sessions, whichever process revokes it', async (t) => {
  const app = await testDaemon(t)
  const list = (await app.cli('key', 'list', '--workspace', app.workspaceId, '--json')).json()
  const { data } = list as { data: { id: string }[] }
  for (let round = 0; round < 5; round += 1) {
    const made = await app.rest('POST', '/v1/api-keys', { body: { name: `app ${round}` } })
    const { id, key } = made.json<{ id: string; key: string }>()
    t.equal((await app.rest('GET', '/v1/usage', { key })).status, 200)
    const revoked = await app.cli('key', 'revoke', id, '--workspace', app.workspaceId)
    t.match(revoked, { status: 0, out: `revoked ${id}\n` })
    t.equal((await app.rest('GET', '/v1/usage', { key })).status, 401, 'not once more after the command has ended')
  }
  const [client, other] = [await app.openSession(), await app.openSession(app.otherKey)]
  t.match(await submitMessage(client, {}), /^250/)
  t.equal((await app.cli('key', 'revoke', data[0]?.id ?? '', '--workspace', app.workspaceId)).status, 0)
  t.match(await client.readReply(), /^421 4\.7\.0/)
  await client.waitForClose()
  t.match(await submitMessage(other, { from: 'app@other.test' }), /^250/, "another workspace's session goes on")
  await t.rejects(app.openSession(), /535/)
})

const hasIpv6 = Object.values(networkInterfaces()).some((list = []) => list.some(({ family }) => family === 'IPv6'))

t.test('listeners on IPv6 leave their ports of IPv4 alone', { skip: !hasIpv6 && 'no IPv6 here' }, async (t) => {
  const listen = ['[::]:0']
  const settings = { api: { listen }, submission: { listen, listen_tls: listen }, inbound: { listen } }
  const { daemon } = await testDaemon(t, { settings })
  const endpoints = [...daemon.api, ...daemon.submission, ...daemon.mx].flatMap((listener) =>
    'port' in listener ? [listener] : [],
  )
  t.same(
    endpoints.map(({ host }) => host),
    ['::', '::', '::', '::'],
  )
  const areFree = await Promise.all(endpoints.map(({ port }) => canListenOnIpv4(port)))
  t.ok(areFree.includes(true), 'another process may have some of these ports, but not all of them')
})

async function canListenOnIpv4(port: number): Promise<boolean> {
  const other = createServer().listen({ host: '0.0.0.0', port })
  try {
    await once(other, 'listening')
    return true
  } catch {
    return false
  } finally {
    other.close()
  }
}
