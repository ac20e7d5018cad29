/**
 * The bad day: a backup made under load is restored elsewhere, and a standby takes over from a primary that was killed.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import SQLite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { writeStandbyStatus } from '../../src/base/storage/standby/standby-status.js'
import { skipOnPostgres } from '../helpers/database/test-engine.js'
import { plainNode } from '../helpers/programs/plain-node.js'
import { openSink, type ScriptedSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'
import {
  configure,
  createInstallation,
  createReadyInstallation,
  type Installation,
  runCommand,
  runForJson,
  runInProcess,
  serve,
} from './support/program.js'
import { emailIdOf, openSession, submit } from './support/submit.js'

const skip = skipOnPostgres('its files are followed')

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url))

interface Primary {
  readonly at: Installation
  readonly trusted: string
}

/** Defers the recipients whose name begins with `later`. */
async function openDeferringSink(t: Test): Promise<ScriptedSink> {
  const sink = await openSink({
    script: { rcpt: ({ line }) => (line.includes('<later') ? '451 4.2.0 try again later' : '250 2.1.5 ok') },
  })
  t.teardown(() => sink.close())
  return sink
}

/** Ids of emails in the database of a stopped daemon, or beside one. */
function storedEmails({ dataDir }: Installation): ReadonlySet<unknown> {
  const db = new SQLite(join(dataDir, 'posthorn.db'), { readonly: true })
  try {
    return new Set(db.prepare('select id from emails').pluck().all())
  } finally {
    db.close()
  }
}

/** Where the message of an email is stored. */
function spoolOf(
  { dataDir }: Installation,
  id: string,
): { readonly file: unknown; readonly inline: unknown } | undefined {
  const db = new SQLite(join(dataDir, 'posthorn.db'), { readonly: true })
  try {
    const sql = 'select spool_file as file, length(raw) as inline from raw_messages where email_id = ?'
    return db.prepare<[string], { readonly file: unknown; readonly inline: unknown }>(sql).get(id)
  } finally {
    db.close()
  }
}

async function createPrimary(t: Test, sinkPort: number): Promise<Primary> {
  const { workspace, ...at } = await createReadyInstallation(t, sinkPort, '127.0.0.0/8')
  const trusted = `[[submission.trusted]]\nnetwork = "127.0.0.0/8"\nworkspace = "${workspace}"`
  configure(at, sinkPort, trusted)
  return { at, trusted }
}

async function queueOf(at: Installation): Promise<readonly { readonly email_id: string; readonly status: string }[]> {
  const { data } = await runForJson(at, 'queue', 'list')
  return data as readonly { readonly email_id: string; readonly status: string }[]
}

t.test('a rehearsal: backup under load, restore elsewhere with a held queue, release', { skip }, async (t) => {
  const sink = await openDeferringSink(t)
  const { at, trusted } = await createPrimary(t, sink.port)
  const daemon = await serve(t, at)
  const acknowledged: string[] = []
  const client = async (): Promise<void> => {
    const session = await openSession(daemon.port)
    for (let n = 0; n < 40; n += 1) {
      // Every second one is deferred, and stays in the queue.
      acknowledged.push(emailIdOf(await submit(session, n % 2 === 0 ? 'a@sink.test' : 'later@sink.test')))
    }
    session.end()
  }
  const load = Promise.all([client(), client()])
  await waitUntil('some are acknowledged', () => acknowledged.length > 40)
  const before = [...acknowledged]
  const file = join(at.folder, 'backup.db')
  const said = `backup written to ${file} and checked\n`
  t.match(await runCommand(at, 'backup', file), { status: 0, stdout: said })
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
  const stored = storedEmails(elsewhere)
  t.same(
    before.filter((id) => !stored.has(id)),
    [],
  )
  const session = await openSession(second.port)
  emailIdOf(await submit(session, 'new@sink.test'))
  await waitUntil('new mail goes out', () => sink.messages.length === sent + 1)
  t.match(sink.messages.at(-1)?.rcptTo[0], /^<new@sink\.test>/, 'and nothing that was held')
  t.match(await runForJson(elsewhere, 'queue', 'release', '--status', 'held'), { missed: [] })
  t.notOk((await queueOf(elsewhere)).some(({ status }) => status === 'held'))
})

t.test(
  'a standby takes over from a primary that was killed, and the primary stops cleanly otherwise',
  { skip },
  async (t) => {
    const sink = await openDeferringSink(t)
    const folder = join(createInstallation(t, 1).folder, 'carried')
    mkdirSync(folder)
    const { at, trusted } = await createPrimary(t, sink.port)
    const ids = [await storeInSpool(t, at)]

    configure(at, sink.port, `${trusted}\n[standby]\nfolder = ${JSON.stringify(folder)}`)
    const first = await serve(t, at)
    t.match(spoolOf(at, ids[0] ?? ''), { file: null }, 'it is in the database before clients are served')
    const session = await openSession(first.port)
    ids.push(
      emailIdOf(await submit(session, 'a@sink.test')),
      emailIdOf(await submit(session, 'later@sink.test', LARGE)),
    )
    t.match(spoolOf(at, ids[2] ?? ''), { file: null }, 'and so is what comes')
    await waitUntil('there is a snapshot', async () => (await statusOf(at))['snapshot_at'] != null)
    for (const field of ['updated_at', 'copied_at', 'snapshot_at'])
      t.match((await statusOf(at))[field], /^20.*Z$/, field)
    const { generation } = await statusOf(at)
    first.signal('SIGTERM')
    t.equal(await first.ended, 0)
    t.match(await runInProcess(at, 'standby', 'status'), {
      status: 1,
      stdout: new RegExp(`snapshot of +20.*\\ngeneration +${generation}, [1-9].*\\nfault +none\\nno daemon is running`),
    })

    const again = await serve(t, at)
    const later = await openSession(again.port)
    ids.push(emailIdOf(await submit(later, 'b@sink.test')), emailIdOf(await submit(later, 'later@sink.test')))
    await waitUntil('the standby runs', async () => Number((await statusOf(at))['lag_ms'] ?? 9e9) < 60_000)
    t.equal((await statusOf(at))['generation'], generation, 'a restart goes on where the stop has ended')
    // The daemon alone: its standby process copies the last commits, and ends.
    process.kill(again.pid, 'SIGKILL')
    await again.ended

    const other = createInstallation(t, sink.port, trusted)
    await waitUntil('the last commit has arrived', async () => {
      await runForJson(other, 'standby', 'follow', folder, '--once')
      await runForJson(other, 'standby', 'restore', folder, '--hold-queue')
      const stored = storedEmails(other)
      return ids.every((id) => stored.has(id))
    })
    await endFollower(t, { at: other, folder })
    t.match(await runForJson(other, 'verify-data'), { ok: true })
    for (const id of [ids[0] ?? '', ids[2] ?? '']) {
      t.same(spoolOf(other, id), spoolOf(at, id), 'a large message is there')
      t.ok(Number(spoolOf(other, id)?.inline) > 200_000)
    }
    const sent = sink.messages.length
    const third = await serve(t, other)
    t.match(await runInProcess(other, 'standby', 'follow', folder, '--once'), {
      status: 1,
      stderr: 'this machine is the primary',
    })
    emailIdOf(await submit(await openSession(third.port), 'new@sink.test'))
    await waitUntil('clients go on', () => sink.messages.length === sent + 1)
    t.equal(sink.messages.filter(({ rcptTo }) => rcptTo[0]?.startsWith('<a@')).length, 1, 'nothing was sent twice')
    await waitUntil('only held mail is left', async () =>
      (await queueOf(other)).every(({ status }) => status === 'held'),
    )
  },
)

/** Fields that make a message large enough for the spool. Its lines are folded at 998 octets at most. */
const LARGE = `X-Large: ${'long '.repeat(100)}\r\n`.repeat(400)

/** The id of an email whose message a daemon without a standby has put into a spool file. */
async function storeInSpool(t: Test, at: Installation): Promise<string> {
  const daemon = await serve(t, at)
  const id = emailIdOf(await submit(await openSession(daemon.port), 'later@sink.test', LARGE))
  t.match(spoolOf(at, id), { file: 1, inline: 0 })
  daemon.signal('SIGTERM')
  t.equal(await daemon.ended, 0)
  return id
}

/**
 * A follower ends when a restore takes its copy: it would copy everything once more, for nothing. A restore that fails
 * does not end it.
 */
async function endFollower(
  t: Test,
  { at, folder }: { readonly at: Installation; readonly folder: string },
): Promise<void> {
  const follower = spawn('env', plainNode(main, 'standby', 'follow', folder, '--config', at.file))
  t.teardown(() => follower.kill('SIGKILL'))
  const [said, ended] = [text(follower.stdout), once(follower, 'exit')]
  await once(follower.stderr, 'data')
  const copy = join(at.dataDir, 'standby', 'copy.db')
  writeFileSync(`${copy}-wal`, '')
  t.match(await runInProcess(at, 'standby', 'restore', folder), {
    status: 1,
    stderr: 'has a write-ahead log next to it',
  })
  rmSync(`${copy}-wal`)
  await waitUntil('the copy is made again', () => existsSync(join(at.dataDir, 'standby', 'copy.json')))
  await runForJson(at, 'standby', 'restore', folder, '--hold-queue')
  t.same(await ended, [0, null])
  t.match(await said, 'this machine has taken over')
  t.notOk(existsSync(copy))
}

t.test('a follower waits for a folder that is not filled yet', { skip }, async (t) => {
  const { folder, file } = createInstallation(t, 1)
  const carried = join(folder, 'carried')
  mkdirSync(carried)
  const follower = spawn('env', plainNode(main, 'standby', 'follow', carried, '--config', file))
  t.teardown(() => follower.kill('SIGKILL'))
  let said = ''
  follower.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString()
  })
  await waitUntil('it says what is missing', () => said.includes('no complete snapshot of a database; trying again'))
  t.equal(follower.exitCode, null)
})

t.test('the status of another folder is none of this one', { skip }, async (t) => {
  const { folder, dataDir, file } = createInstallation(t, 1, '[standby]\nfolder = "carried"')
  mkdirSync(dataDir, { recursive: true })
  const absent = await runInProcess({ folder, dataDir, file }, 'standby', 'status')
  t.match(absent, { status: 1, stderr: `the daemon has copied nothing to ${join(folder, 'carried')} yet` })
  writeStandbyStatus(dataDir, {
    ...{
      folder: '/srv/old',
      generation: null,
      segments: 0,
      updated_at: 0,
      copied_at: 0,
      snapshot_at: 0,
      error: null,
      pid: 1,
    },
  })
  t.match(await runInProcess({ folder, dataDir, file }, 'standby', 'status'), absent)
})

async function statusOf(at: Installation): Promise<Readonly<Record<string, unknown>>> {
  return runForJson(at, 'standby', 'status').catch(() => ({}))
}
