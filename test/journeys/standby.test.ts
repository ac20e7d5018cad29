/**
 * The bad day: a backup made under load is restored elsewhere, and a standby takes over from a primary that was killed.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'
import { configure, createInstallation, createReadyInstallation, type Installation, runCommand, runForJson, serve } from './support/program.js'
import { emailIdOf, openSession, submit } from './support/submit.js'

interface Primary {
  readonly at: Installation
  readonly trusted: string
}

async function createPrimary(t: Test, sinkPort: number, more = ''): Promise<Primary> {
  const { workspace, ...at } = await createReadyInstallation(t, sinkPort, '127.0.0.0/8')
  const trusted = `[[submission.trusted]]\nnetwork = "127.0.0.0/8"\nworkspace = "${workspace}"`
  configure(at, sinkPort, `${trusted}\n${more}`)
  return { at, trusted }
}

async function queueOf(at: Installation): Promise<readonly { readonly email_id: string; readonly status: string }[]> {
  const { data } = await runForJson(at, 'queue', 'list')
  return data as readonly { readonly email_id: string; readonly status: string }[]
}

t.test('a rehearsal: backup under load, restore elsewhere with a held queue, release', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const { at, trusted } = await createPrimary(t, sink.port)
  const daemon = await serve(t, at)
  const acknowledged: string[] = []
  const client = async (): Promise<void> => {
    const session = await openSession(daemon.port)
    for (let n = 0; n < 60; n += 1) {
      // Every second one waits in the queue for a host that is not there.
      acknowledged.push(emailIdOf(await submit(session, n % 2 === 0 ? 'a@sink.test' : 'a@nowhere.invalid')))
    }
    session.end()
  }
  const load = Promise.all([client(), client()])
  await waitUntil('some are acknowledged', () => acknowledged.length > 40)
  const before = [...acknowledged]
  const file = join(at.folder, 'backup.db')
  t.match(await runCommand(at, 'backup', file), { status: 0 })
  await load
  daemon.signal('SIGKILL')
  await daemon.ended
  await waitUntil('the sink is quiet', () => sink.messages.length > 0)

  const elsewhere = createInstallation(t, sink.port, trusted)
  const { held } = await runForJson(elsewhere, 'restore', file, '--hold-queue')
  t.match(await runForJson(elsewhere, 'verify-data'), { ok: true })
  const queue = await queueOf(elsewhere)
  t.equal(queue.length, held)
  t.ok(queue.length > 0)
  t.ok(queue.every(({ status }) => status === 'held'))
  const sent = sink.messages.length
  const second = await serve(t, elsewhere)
  for (const id of before) {
    t.ok(Array.isArray((await runForJson(elsewhere, 'explain', id))['recipients']), `${id} is there`)
  }
  const session = await openSession(second.port)
  emailIdOf(await submit(session, 'new@sink.test'))
  await waitUntil('new mail goes out', () => sink.messages.length === sent + 1)
  t.match(sink.messages.at(-1)?.rcptTo[0], /^<new@sink\.test>/, 'and nothing that was held')
  t.match(await runForJson(elsewhere, 'queue', 'release', '--status', 'held'), { missed: [] })
  t.notOk((await queueOf(elsewhere)).some(({ status }) => status === 'held'))
})

t.test('a standby takes over from a primary that was killed, and the primary stops cleanly otherwise', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const root = createInstallation(t, 1).folder
  const folder = join(root, 'carried')
  mkdirSync(folder)
  const { at, trusted } = await createPrimary(t, sink.port, `[standby]\nfolder = ${JSON.stringify(folder)}`)
  const first = await serve(t, at)
  const session = await openSession(first.port)
  const ids = [emailIdOf(await submit(session, 'a@sink.test'))]
  await waitUntil('there is a snapshot', async () => (await statusOf(at))['snapshot_at'] != null)
  const { generation } = await statusOf(at)
  first.signal('SIGTERM')
  t.equal(await first.ended, 0)

  const again = await serve(t, at)
  const later = await openSession(again.port)
  ids.push(emailIdOf(await submit(later, 'b@sink.test')), emailIdOf(await submit(later, 'c@nowhere.invalid')))
  await waitUntil('the standby runs', async () => Number((await statusOf(at))['lag_ms'] ?? 9e9) < 60_000)
  t.equal((await statusOf(at))['generation'], generation, 'a restart goes on where the stop has ended')
  // The daemon alone: its standby process copies the last commits, and ends.
  process.kill(again.pid, 'SIGKILL')
  await again.ended

  const other = createInstallation(t, sink.port, trusted)
  await waitUntil('the last commit has arrived', async () => {
    await runForJson(other, 'standby', 'follow', folder, '--once')
    return runForJson(other, 'standby', 'restore', folder, '--hold-queue').then(async () => {
      const found = await Promise.all(ids.map((id) => runForJson(other, 'explain', id).catch(() => null)))
      return found.every((record) => record !== null)
    })
  })
  t.match(await runForJson(other, 'verify-data'), { ok: true })
  const sent = sink.messages.length
  const third = await serve(t, other)
  emailIdOf(await submit(await openSession(third.port), 'new@sink.test'))
  await waitUntil('clients go on', () => sink.messages.length === sent + 1)
  t.equal(sink.messages.filter(({ rcptTo }) => rcptTo[0]?.startsWith('<a@')).length, 1, 'nothing was sent twice')
  t.ok((await queueOf(other)).every(({ status }) => status === 'held'))
})

async function statusOf(at: Installation): Promise<Readonly<Record<string, unknown>>> {
  return runForJson(at, 'standby', 'status').catch(() => ({}))
}
