/** The circuit breaker: mail that bounces is held and not lost, its owner is told, and it goes out after a release. */
import t from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { fileForm } from '../helpers/http/multipart.js'
import { complaint, dsn } from '../helpers/receiving/report-text.js'
import { deliverInbound, idOfReply } from '../helpers/smtp/deliver-inbound.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

/** The fourth bounce is the first that is judged: then all figures are known. */
const limits = { breaker: { min_messages: 10, min_bounces: 4 } }
/** Refuses each address that begins with `gone`. */
const script = {
  rcpt: ({ line }: { readonly line: string }) => (line.includes('<gone') ? '550 5.1.1 no such user' : '250 ok'),
}

interface Shown {
  readonly scope: string
  readonly id: string
  readonly state: string
  readonly reason: string | null
}

async function listBreakers(app: TestDaemon): Promise<readonly Shown[]> {
  return (await app.rest('GET', '/breakers')).json<{ data: readonly Shown[] }>().data
}

const isHeld = async (app: TestDaemon): Promise<boolean> =>
  (await listBreakers(app)).filter(({ state }) => state === 'held').length === 2

const statusOf = async (app: TestDaemon, id: string): Promise<string> => (await app.findStory(id)).status

async function trip(app: TestDaemon): Promise<void> {
  const good = await app.submitAccepted({ to: Array.from({ length: 8 }, (_, at) => `ann-${at}@b.test`) })
  const bad = await app.submitAccepted({ to: Array.from({ length: 4 }, (_, at) => `gone-${at}@b.test`) })
  await app.waitUntilSettled(good)
  await app.waitUntilSettled(bad)
  await waitUntil('the mail is held', () => isHeld(app))
}

t.test('held, kept over a restart, released by REST, then delivered', async (t) => {
  const sink = await openSink({ script })
  t.teardown(() => sink.close())
  const options = { routes: { 'b.test': sink, 'a.test': sink }, settings: { limits }, level: 'info' as const }
  const app = await testDaemon(t, options)
  t.match(await listBreakers(app), [{ scope: 'workspace', id: app.workspaceId, state: 'ok', reason: null }])
  await trip(app)
  const reason = /^33\.33 % of 12 messages of the last day bounced$/
  t.match(await listBreakers(app), [
    { scope: 'workspace', state: 'held', reason, figures: { settled: 12, bounced: 4, delivered: 8, complained: 0 } },
    { scope: 'domain', id: 'a.test', state: 'held', reason },
  ])
  const waiting = await app.submitAccepted({ to: ['bob@b.test'] })
  const byRest = await app.rest('POST', '/emails', {
    body: { from: 'app@a.test', to: ['cid@b.test'], subject: 'hello', text: 'a line' },
  })
  t.match(byRest, { status: 201 })
  await waitUntil('both wait', async () => (await app.rows('select 1 from queue where held = 4')).length === 2)
  t.match((await app.cli('explain', waiting)).out, /because 33\.33 % of 12 messages of the last day bounced/)
  const other = await app.submitAccepted({ from: 'app@other.test', key: app.otherKey, to: ['dan@b.test'] })
  t.equal((await app.waitUntilSettled(other)).status, 'delivered', 'mail of others goes out')
  const notices = (): readonly string[] =>
    sink.messages.map(({ raw }) => raw.toString()).filter((text) => text.includes('Subject: Mail of'))
  await waitUntil('the owner is told', () => notices().length > 0)
  t.match(notices()[0], /Subject: Mail of the workspace is held/)
  t.match(notices()[0], /4 of 12 messages of the last day bounced: 33\.33 percent/)
  const types = "select type from events where type like 'sending.%' order by seq"
  t.same(await app.rows(types), [{ type: 'sending.held' }, { type: 'sending.held' }])
  t.same(app.errors, [])
  await app.stop()

  const again = await testDaemon(t, { ...options, folder: app.folder })
  const rest = (method: string, path: string) => again.rest(method, path, { key: app.key })
  t.match((await rest('GET', '/breakers')).json(), { data: [{ state: 'held' }, { id: 'a.test', state: 'held' }] })
  t.equal(await statusOf(again, waiting), 'queued')
  t.match((await rest('POST', '/breakers/a.test/release')).json(), {
    data: [{ id: 'a.test', state: 'ok', figures: { settled: 0, bounced: 0 } }],
  })
  t.match(await rest('POST', '/breakers/a.test/release'), { status: 404 }, 'not twice')
  t.equal(await statusOf(again, waiting), 'queued', 'the workspace is still held')
  t.match(await rest('POST', `/breakers/${app.workspaceId}/release`), { status: 200 })
  t.equal((await again.waitUntilSettled(waiting)).status, 'delivered')
  t.match((await rest('GET', '/breakers')).json(), { data: [{ state: 'ok', reason: null, figures: { bounced: 0 } }] })
  t.match(await again.rows("select target from audit_log where action = 'breaker.released' order by seq"), [
    { target: 'a.test' },
    { target: app.workspaceId },
  ])
  t.same(await again.rows("select count(*) as n from events where type = 'sending.released'"), [{ n: 2 }])
  t.same(again.errors, [])
})

t.test('a broadcast is paused with the reason, and resumed on the command line', async (t) => {
  const sink = await openSink({
    script: {
      rcpt: ({ line }) => {
        if (line.includes('<gone')) return '550 5.1.1 no such user'
        return line.includes('<later') ? '450 4.2.0 later' : '250 ok'
      },
    },
  })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink, 'a.test': sink }, settings: { limits } })
  for (let part = 0; part < 5; part += 1) {
    const to = Array.from({ length: 44 }, (_, at) => `ann-${part}-${at}@b.test`)
    await app.waitUntilSettled(await app.submitAccepted({ to }))
  }
  const made = await app.rest('POST', '/v1/audiences', { body: { name: 'readers' } })
  const { id: audience_id } = made.json<{ id: string }>()
  const names = Array.from({ length: 14 }, (_, at) => `${at < 10 ? 'gone' : 'later'}-${at}@b.test`)
  const file = fileForm(['email', ...names, ''].join('\n'))
  t.equal((await app.rest('POST', `/v1/audiences/${audience_id}/import`, file)).status, 200)
  const draft = { name: 'May', audience_id, from: 'app@a.test', subject: 'hello', text: 'a line' }
  const { id } = (await app.rest('POST', '/v1/broadcasts', { body: draft })).json<{ id: string }>()
  t.equal((await app.rest('POST', `/v1/broadcasts/${id}/send`, { body: {} })).status, 202)
  const show = async () =>
    (await app.rest('GET', `/v1/broadcasts/${id}`)).json<{ status: string; note: string | null }>()
  await waitUntil('it is paused', async () => (await show()).status === 'paused')
  t.match(await show(), { note: '100 % of 10 messages of the last day bounced' })
  t.match((await app.cli('breaker', 'list')).out, new RegExp(`broadcast +${id} +held`))
  t.match(
    (await listBreakers(app)).find(({ scope }) => scope === 'workspace'),
    { state: 'ok', figures: { settled: 230, bounced: 10 } },
  )
  t.match(await app.cli('breaker', 'release', 'other.test', '--workspace', app.workspaceId), {
    status: 1,
    err: /nothing of this id is held/,
  })
  t.match(await app.cli('breaker', 'release', id, '--workspace', app.workspaceId), {
    status: 0,
    out: `mail of the broadcast ${id} is sent again\n`,
  })
  t.match(await show(), { status: 'sending', note: null })
  t.match(await app.rows("select actor, target from audit_log where action = 'breaker.released'"), [
    { actor: 'operator', target: id },
  ])
  t.same(app.errors, [])
})

t.test('a complaint and a late bounce count; mail to the simulator does not', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const routes = { 'b.test': sink, 'simulator.mail.service.test': sink }
  const app = await testDaemon(t, { routes, settings: { limits } })
  for (const to of ['gone@b.test', 'angry@b.test', 'delivered@simulator.mail.service.test']) {
    await app.waitUntilSettled(await app.submitAccepted({ to: [to] }))
  }
  const [gone, angry] = sink.messages
  const path = /bounce\+[^>]*/.exec(gone?.mailFrom ?? '')?.[0] ?? ''
  const bounce = dsn({ path, status: '5.1.1', recipient: 'gone@b.test' })
  idOfReply(await deliverInbound(t, app, { from: '', to: [path], raw: bounce }))
  const to = ['fbl@mail.service.test']
  idOfReply(await deliverInbound(t, app, { from: 'abuse@b.test', to, raw: complaint(angry?.raw.toString() ?? '') }))
  const figures = { settled: 2, bounced: 1, delivered: 1, complained: 1 }
  await waitUntil('all is counted', async () => {
    const [own] = (await app.rest('GET', '/breakers')).json<{ data: { figures: object }[] }>().data
    return JSON.stringify(own?.figures) === JSON.stringify(figures)
  })
  const counted = { settled: 2, bounced: 1, complained: 1 }
  t.same(
    await app.rows(
      `select scope, subject, sum(settled) as settled, sum(bounced) as bounced, sum(complained) as complained
        from breaker_counts where subject <> 'owner' group by scope, subject order by scope`,
    ),
    [
      { scope: 'domain', subject: 'a.test', ...counted },
      { scope: 'workspace', subject: app.workspaceId, ...counted },
    ],
  )
  t.same(app.errors, [])
})
