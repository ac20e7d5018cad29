/** Operations on the queue by the operator, and by a second process. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { type CommandResult, type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url))

/** The real program in a process of its own. */
async function program(app: TestDaemon, ...argv: readonly string[]): Promise<CommandResult> {
  const child = spawn(process.execPath, [main, ...argv, '--config', app.configFile], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString()
  })
  const [status] = (await once(child, 'close')) as [number]
  return { status, out, err, json: () => JSON.parse(out) as unknown }
}

const count = async (app: TestDaemon, sql: string): Promise<number> =>
  (await app.rows<{ n: number }>(`select count(*) as n from ${sql}`))[0]?.n ?? -1

t.test('the operator works on the queue while the daemon runs', async (t) => {
  let later = true
  const sink = await openSink({ script: { rcpt: () => (later ? '450 4.2.0 later' : '250 2.1.5 ok') } })
  const good = await openSink()
  t.teardown(() => Promise.all([sink.close(), good.close()]))
  const app = await testDaemon(t, { routes: { 'b.test': sink, 'good.test': good } })
  const ids: string[] = []
  for (const to of ['one@b.test', 'two@b.test', 'three@b.test']) ids.push(await app.submitAccepted({ to: [to] }))
  for (const id of ids) await app.waitUntilAttempted(id)

  const listed = await program(app, 'queue', 'list', '--json')
  t.equal(listed.status, 0, listed.err)
  const { data } = listed.json() as { data: { id: string; recipient: string; next_attempt_at: string }[] }
  t.match(
    data,
    ids.map((id) => ({
      email_id: id,
      domain: 'b.test',
      status: 'deferred',
      attempts: 1,
      last_response: '450 4.2.0 later',
    })),
  )
  const [one, two, three] = data.map(({ id }) => id) as [string, string, string]

  t.same((await program(app, 'queue', 'hold', one, two, '--json')).json(), { data: [one, two], missed: [] })
  t.match(
    await app.cli('queue', 'hold', one),
    { status: 1, out: /0 held\nnot changed.*: / },
    'a second hold is reported',
  )
  t.match((await app.cli('queue', 'list', '--status', 'held', '--json')).json(), { data: [{ id: one }, { id: two }] })
  app.advance(6 * 60_000)
  await waitUntil('the third again', async () => (await count(app, 'attempts')) === 4)
  t.match(await app.findStory(ids[0] ?? ''), { status: 'queued', recipients: [{ held: true, attempts: [{}] }] })

  later = false
  t.same((await program(app, 'queue', 'release', one, '--json')).json(), { data: [one], missed: [] })
  t.equal((await app.waitUntilSettled(ids[0] ?? '')).status, 'delivered', 'a foreign commit wakes the queue')
  t.equal((await app.cli('queue', 'retry', three)).status, 0)
  t.equal((await app.waitUntilSettled(ids[2] ?? '')).status, 'delivered', 'long before its time')

  t.match(await program(app, 'queue', 'delete', '--domain', 'B.TEST'), { status: 0, out: '1 deleted\n' })
  const gone = await app.findStory(ids[1] ?? '')
  t.match(gone, {
    status: 'failed',
    recipients: [{ status: 'failed', reason: 'operator', held: false, next_attempt_at: null }],
  })
  const [event] = await app.rows<{ type: string; data: string }>(
    'select type, data from events where email_id = ? order by seq desc',
    gone.id,
  )
  t.equal(event?.type, 'email.failed')
  t.same(JSON.parse(event?.data ?? ''), {
    email_id: gone.id,
    from: 'app@a.test',
    to: 'two@b.test',
    subject: 'hello',
    tags: {},
    reason: 'operator',
    response: gone.recipients[0]?.last_response,
  })
  t.match(await app.cli('queue', 'show', two), { status: 1, err: /no queue entry/ })
  t.same((await app.cli('queue', 'list', '--json')).json(), { data: [] })
  t.same(app.errors, [])
})

t.test('an entry that is retried while it waits in memory is not lost', async (t) => {
  const sink = await openSink({ script: { rcpt: ({ line }) => (line.includes('<first') ? 'hang' : '250 2.1.5 ok') } })
  t.teardown(() => sink.close())
  const settings = { outbound: { max_connections_per_host: 1, max_connections: 1 } }
  const app = await testDaemon(t, { routes: { 'b.test': sink }, settings })
  const first = await app.submitAccepted({ to: ['first@b.test'] })
  await sink.waitUntil(() => sink.commands.some((line) => line.includes('<first')))
  const waiting = await app.submitAccepted({ to: ['second@b.test'] })
  const held = await app.submitAccepted({ to: ['third@b.test'] })
  const entryOf = async (id: string): Promise<string> =>
    (await app.rows<{ id: string }>('select id from queue where email_id = ?', id))[0]?.id ?? ''
  t.equal((await app.cli('queue', 'retry', await entryOf(waiting))).status, 0)
  t.equal((await app.cli('queue', 'hold', await entryOf(held))).status, 0)
  const wakes = (await app.rows('select 1 from queue')).length
  t.equal(wakes, 3)
  sink.hangUp()
  t.equal((await app.waitUntilSettled(waiting)).status, 'delivered')
  t.equal((await app.findStory(held)).status, 'queued', 'what is held is not sent')
  t.equal((await app.cli('queue', 'release', await entryOf(held))).status, 0)
  t.equal((await app.waitUntilSettled(held)).status, 'delivered')
  t.equal((await app.findStory(first)).status, 'queued')
  t.same(app.errors, [])
})

t.test('deleting a domain fails its queued mail', async (t) => {
  let answer: ((reply: string) => void) | undefined
  const script = {
    rcpt: ({ line }: { readonly line: string }) => (line.includes('<wire') ? '250 2.1.5 ok' : '450 4.2.0 later'),
    message: () =>
      new Promise<string>((resolve) => {
        answer = resolve
      }),
  }
  const sink = await openSink({ script })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const waiting = await app.waitUntilAttempted(await app.submitAccepted())
  const scheduled = await app.submitAccepted({
    fields: [`X-Service-Scheduled-For: ${new Date(app.now() + 3_600_000).toISOString()}`],
  })
  const others = await app.waitUntilAttempted(await app.submitAccepted({ from: 'app@other.test', key: app.otherKey }))
  const wire = await app.submitAccepted({ to: ['wire@b.test'] })
  await sink.waitUntil(() => answer !== undefined)
  const deleted = await app.cli('domain', 'delete', 'a.test', '--yes', '--workspace', app.workspaceId)
  t.match(deleted, { status: 0, out: /^deleted a\.test\n2 queued messages/ })
  for (const id of [waiting.id, scheduled]) {
    t.match(await app.findStory(id), { status: 'failed', recipients: [{ status: 'failed', reason: 'domain-deleted' }] })
  }
  answer?.('451 4.3.0 later')
  t.match(await app.waitUntilAttempted(wire), { status: 'queued' })
  app.advance(6 * 60_000)
  t.match(await app.waitUntilSettled(wire), { status: 'failed', recipients: [{ reason: 'domain-deleted' }] })
  t.match(await app.findStory(others.id), { status: 'queued' }, 'mail from another domain stays')
  const client = await app.openSession()
  await waitUntil('the listener knows', async () => {
    const reply = await client.sendCommand('MAIL FROM:<app@a.test>')
    await client.sendCommand('RSET')
    return reply.startsWith('550 5.7.1')
  })
  t.same(app.errors, [])
})

t.test('two daemons never share a data folder', async (t) => {
  const app = await testDaemon(t)
  t.match(await program(app, 'serve'), { status: 1, err: /holds the data folder/ })
})
