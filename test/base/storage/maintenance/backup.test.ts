/** Backup, restore, verify-data and the lock on the data folder. */
// Of SQLite alone: its file is copied.
import { existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import SQLite from 'better-sqlite3'
import t from 'tap'
import { isDataFolderHeld, lockDataFolder } from '../../../../src/base/storage/db/data-lock.js'
import { migrations } from '../../../../src/base/storage/db/migrations.js'
import { createBackup, decidePause } from '../../../../src/base/storage/maintenance/backup.js'
import { closeWorkspace, eraseWorkspace } from '../../../../src/base/storage/maintenance/erase.js'
import { restoreBackup } from '../../../../src/base/storage/maintenance/restore.js'
import { verifyData } from '../../../../src/base/storage/maintenance/verify.js'
import { openDatabase } from '../../../../src/base/storage/open.js'
import { startChild } from '../../../helpers/database/children.js'
import { createBroadcast } from '../../../helpers/database/create-broadcast.js'
import { openTestDatabase, temporaryDatabase, temporaryFolder } from '../../../helpers/database/database.js'
import { laterMigrations, makeDevelopmentDatabase } from '../../../helpers/database/later-migrations.js'
import { rowOf } from '../../../helpers/database/rows.js'
import { stateKeys, stateWrite } from '../../../helpers/database/state.js'

const now = Date.parse('2026-11-21T10:00:00Z')

async function closedDatabase(file: string, ...written: readonly string[]): Promise<void> {
  const database = await openDatabase({ file })
  await Promise.all(written.map((key) => database.commit([stateWrite(key, 'x')])))
  await database.close()
}

t.test('a backup made under load holds everything acknowledged before, and no partial requests', async (t) => {
  const folder = temporaryFolder(t)
  const from = join(folder, 'posthorn.db')
  const to = join(folder, 'copy.db')
  const child = startChild(t, from, 'write')
  await child.waitForLines(200)
  const before = [...child.lines]
  await createBackup({ from, to })
  await child.waitForLines(before.length + 50)
  await child.kill()

  t.equal(statSync(to).mode & 0o777, 0o600)
  t.same(verifyData(to), [])
  t.same(
    readdirSync(folder).filter((name) => name.includes('partial')),
    [],
  )
  const { read } = await openTestDatabase(t, { file: to })
  const present = new Set(await stateKeys(read))
  t.same(
    before.filter((number) => !present.has(number) || !present.has(`${number}-too`)),
    [],
  )
  t.equal(present.size % 2, 0)
  t.same(await read('pragma auto_vacuum', []), [{ auto_vacuum: 2 }], 'pages of the copy can be reclaimed as well')
})

t.test('a backup overwrites nothing, and a failed one leaves nothing', async (t) => {
  const { file } = await temporaryDatabase(t)
  const folder = dirname(file)
  const there = join(folder, 'there')
  writeFileSync(there, 'precious')
  await t.rejects(createBackup({ from: file, to: there }), { name: 'FileExistsError' })
  t.equal(readFileSync(there, 'utf8'), 'precious')
  await t.rejects(createBackup({ from: join(folder, 'absent.db'), to: join(folder, 'copy.db') }), {
    name: 'StorageFault',
  })
  t.same(
    readdirSync(folder).filter((name) => name.startsWith('copy')),
    [],
  )
})

t.test('restore puts the backup in place and keeps the old database aside', async (t) => {
  const file = join(temporaryFolder(t), 'posthorn.db')
  const copy = `${file}.copy`
  await closedDatabase(file, 'old')
  await createBackup({ from: file, to: copy })
  await closedDatabase(file, 'newer')
  const { previousFile } = await restoreBackup({ backup: copy, file, now })
  t.same(await stateKeys((await openTestDatabase(t, { file })).read), ['old'])
  t.same(await stateKeys((await openTestDatabase(t, { file: previousFile ?? '' })).read), ['newer', 'old'])
  t.equal(statSync(file).mode & 0o777, 0o600)
})

t.test('restored broadcasts do not go on by themselves', async (t) => {
  const file = join(temporaryFolder(t), 'posthorn.db')
  const made = { workspaceId: 'ws_a', contacts: ['a@b.test', 'c@b.test'], at: now - 60_000 }
  const database = await openDatabase({ file })
  const sending = await createBroadcast(database, made)
  const due = await createBroadcast(database, { ...made, status: 'scheduled', scheduledFor: now })
  const later = await createBroadcast(database, { ...made, status: 'scheduled', scheduledFor: now + 1 })
  const paused = await createBroadcast(database, { ...made, status: 'paused' })
  await database.close()
  const copy = `${file}.copy`
  await createBackup({ from: file, to: copy })
  t.match(await restoreBackup({ backup: copy, file, now }), { pausedBroadcasts: 2 })
  const { read } = await openTestDatabase(t, { file })
  const rows = (await read('select id, status, ceiling, started_at, note from broadcasts', [])) as {
    readonly id: string
  }[]
  const broadcast = ({ id }: { readonly id: string }) => rows.find((row) => row.id === id)
  const note = /restored from a backup/
  t.match(broadcast(sending), { status: 'paused', ceiling: sending.contactIds[1], started_at: now - 60_000, note })
  t.match(broadcast(due), { status: 'paused', ceiling: due.contactIds[1], started_at: now, note })
  t.match(broadcast(later), { status: 'scheduled', started_at: null, note: null })
  t.match(broadcast(paused), { status: 'paused', note: null })
})

t.test('restore works without a database, and with an unreadable one', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'posthorn.db')
  const source = join(folder, 'source.db')
  const copy = join(folder, 'copy.db')
  await closedDatabase(source, 'kept')
  await createBackup({ from: source, to: copy })
  t.same(await restoreBackup({ backup: copy, file, now }), { pausedBroadcasts: 0, held: 0, previousFile: undefined })
  writeFileSync(
    file,
    'no database at all, but longer than a header of one hundred bytes, so that it is looked at: '.repeat(9),
  )
  writeFileSync(`${file}-wal`, 'its log')
  const { previousFile } = await restoreBackup({ backup: copy, file, now })
  t.match(readFileSync(previousFile ?? '', 'utf8'), /^no database/)
  t.equal(readFileSync(`${previousFile}-wal`, 'utf8'), 'its log')
  t.same(await stateKeys((await openTestDatabase(t, { file })).read), ['kept'])
})

t.test('a database with a trigger or view of others is refused', async (t) => {
  const folder = temporaryFolder(t)
  const [file, copy] = [join(folder, 'posthorn.db'), join(folder, 'copy.db')]
  for (const program of [
    `create trigger leak after insert on emails begin update emails set subject = (select hash from api_keys) where id = new.id; end`,
    'create view leak as select * from api_keys',
    `drop trigger delete_email_count; create trigger delete_email_count after delete on emails begin select 1; end`,
  ]) {
    await closedDatabase(copy, 'kept')
    const db = new SQLite(copy)
    const triggers = db.prepare<[], string>(`select name from sqlite_schema where type = 'trigger' limit 1`).pluck()
    db.exec(program.replaceAll('delete_email_count', triggers.get() ?? ''))
    db.pragma('journal_mode = DELETE')
    db.close()
    await t.rejects(restoreBackup({ backup: copy, file, now }), {
      name: 'UnusableBackup',
      message: /has a trigger or view that this program did not make/,
    })
    t.notOk(existsSync(file), program)
    rmSync(copy)
  }
})

t.test('unusable backups are refused', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'posthorn.db')
  const copy = join(folder, 'copy.db')
  await closedDatabase(file, 'here', 'x'.repeat(50_000))
  await createBackup({ from: file, to: copy })
  const refused = async (
    from: string,
    expected: { readonly name: string; readonly message?: RegExp },
  ): Promise<void> => {
    await t.rejects(restoreBackup({ backup: from, file, now }), expected)
    t.same(
      readdirSync(folder).filter((name) => /restoring|before/.test(name)),
      [],
      'and leaves the folder as it was',
    )
  }

  const text = join(folder, 'text')
  writeFileSync(text, 'some words that are no database '.repeat(100))
  await refused(text, { name: 'UnusableBackup' })
  const empty = join(folder, 'empty')
  writeFileSync(empty, '')
  await refused(empty, { name: 'UnusableBackup', message: /not a database of this program/ })
  const short = join(folder, 'short.db')
  writeFileSync(short, readFileSync(copy))
  truncateSync(short, statSync(copy).size - 8192)
  await refused(short, { name: 'UnusableBackup' })

  const newer = join(folder, 'newer.db')
  const later = { ...migrations, '9999-later': [] }
  await (await openDatabase({ file: newer, migrations: later })).close()
  await refused(newer, { name: 'NewerDatabase', message: /newer\.db was made by a newer version/ })
  const development = join(folder, 'development.db')
  makeDevelopmentDatabase(development)
  const message = /development\.db was made by a development build.*Restore it with the build that made it$/
  await refused(development, { name: 'DevelopmentDatabase', message })

  const open = await openDatabase({ file })
  await refused(copy, { name: 'DataFolderHeld', message: /another process has/ })
  await open.commit([stateWrite('still', 'x')])
  await refused(file, { name: 'UnusableBackup', message: /write-ahead log/ })
  await open.close()
})

t.test('one daemon holds the data folder, until it ends in any way', async (t) => {
  const file = join(temporaryFolder(t), 'posthorn.db')
  const folder = dirname(file)
  const daemon = startChild(t, file, 'lock')
  await daemon.waitForLines(1)
  t.ok(isDataFolderHeld(folder))
  t.throws(() => lockDataFolder(folder), { name: 'DataFolderHeld', message: /running daemon/ })
  await t.rejects(restoreBackup({ backup: file, file, now }), { name: 'DataFolderHeld' })
  await daemon.kill()

  const lock = lockDataFolder(folder)
  t.ok(isDataFolderHeld(folder), 'and to look in the process that holds it lets nothing go')
  t.throws(() => lockDataFolder(folder), { name: 'DataFolderHeld' }, 'not twice in one process either')
  const second = startChild(t, file, 'lock', { quiet: true })
  await t.rejects(second.waitForLines(1), 'and the refusal has not dropped the lock')
  lock.release()
  t.notOk(isDataFolderHeld(folder))
  lockDataFolder(folder).release()
})

t.test('verify-data names each row whose related rows are lost', async (t) => {
  const { database, file } = await temporaryDatabase(t)
  const row = rowOf(database.read)
  await database.commit([
    await row('workspaces', { id: 'ws_1' }),
    await row('emails', { id: 'whole', workspace_id: 'ws_1', status: 'queued', recipients_queued: 1 }),
    await row('raw_messages', { email_id: 'whole', workspace_id: 'ws_1' }),
    await row('recipients', { id: 'r1', email_id: 'whole', workspace_id: 'ws_1', status: 'queued' }),
    await row('queue', { id: 'r1', email_id: 'whole', workspace_id: 'ws_1' }),
    await row('emails', { id: 'copied', workspace_id: 'ws_1', status: 'queued', has_copies: 1, recipients_queued: 2 }),
    await row('raw_messages', { email_id: 'copied', workspace_id: 'ws_1' }),
    ...(
      await Promise.all(
        ['c1', 'c2'].map(async (id) => [
          await row('recipients', { id, email_id: 'copied', workspace_id: 'ws_1', status: 'queued' }),
          await row('queue', { id, email_id: 'copied', workspace_id: 'ws_1' }),
        ]),
      )
    ).flat(),
    await row('recipient_copies', { recipient_id: 'c2', email_id: 'copied', workspace_id: 'ws_1' }),
    await row('emails', { id: 'own', workspace_id: 'service', status: 'delivered' }),
    await row('cached_files', { workspace_id: 'ws_1', key: 'f1', size: 6 }),
    await row('cached_file_chunks', { workspace_id: 'ws_1', key: 'f1', place: 0 }),
    await row('cached_file_chunks', { workspace_id: 'ws_1', key: 'f1', place: 1 }),
    await row('exports', { id: 'x1', workspace_id: 'ws_1', type: 'opens', status: 'completed', bytes: 3 }),
    await row('export_chunks', { workspace_id: 'ws_1', export_id: 'x1', start_at: 0 }),
    // It is behind the progress, and is made again.
    await row('export_chunks', { workspace_id: 'ws_1', export_id: 'x1', start_at: 3 }),
    await row('webhooks', { id: 'w1', workspace_id: 'ws_1' }),
    await row('webhook_deliveries', {
      id: 'd1',
      webhook_id: 'w1',
      workspace_id: 'ws_1',
      status: 'pending',
      next_attempt_at: 1,
    }),
    await row('webhook_deliveries', { id: 'd2', webhook_id: 'deleted', workspace_id: 'ws_1', status: 'failed' }),
    await row('webhook_removals', { webhook_id: 'deleted', workspace_id: 'ws_1' }),
    await row('webhook_replays', { webhook_id: 'w1', workspace_id: 'ws_1' }),
  ])
  t.same(verifyData(file), [])

  await database.commit([
    { sql: 'delete from recipient_copies', parameters: [] },
    await row('recipient_copies', { recipient_id: 'c9', email_id: 'gone', workspace_id: 'ws_1' }),
    await row('emails', { id: 'bare', workspace_id: 'ws_1', status: 'queued' }),
    await row('recipients', { id: 'r2', email_id: 'bare', workspace_id: 'ws_1', status: 'queued' }),
    await row('emails', { id: 'settled', workspace_id: 'ws_1', status: 'delivered', recipients_delivered: 1 }),
    await row('recipients', { id: 'r3', email_id: 'settled', workspace_id: 'ws_1', status: 'delivered' }),
    await row('queue', { id: 'r3', email_id: 'settled', workspace_id: 'ws_1' }),
    await row('raw_messages', { email_id: 'settled', workspace_id: 'ws_1' }),
    await row('queue', { id: 'r4', email_id: 'gone', workspace_id: 'ws_1' }),
    await row('attempts', { email_id: 'gone', workspace_id: 'ws_1' }),
    await row('suppressions', { workspace_id: 'ws_gone' }),
    await row('cached_files', { workspace_id: 'ws_1', key: 'f2', size: 6 }),
    await row('cached_file_chunks', { workspace_id: 'ws_1', key: 'f2', place: 0 }),
    await row('exports', { id: 'x2', workspace_id: 'ws_1', type: 'opens', status: 'processing', bytes: 4 }),
    await row('export_chunks', { workspace_id: 'ws_1', export_id: 'x2', start_at: 0 }),
    { sql: 'update cached_file_totals set bytes = bytes + 1', parameters: [] },
    await row('inbound_totals', { workspace_id: 'ws_1', bytes: 1 }),
    await row('bayes_tokens', { workspace_id: 'ws_1' }),
    { sql: 'update bayes_counts set tokens = tokens + 1', parameters: [] },
    await row('webhook_deliveries', { id: 'd3', webhook_id: 'w2', workspace_id: 'ws_1', status: 'delivered' }),
    await row('webhook_deliveries', { id: 'd4', webhook_id: 'w1', workspace_id: 'ws_1', status: 'pending' }),
    await row('webhook_deliveries', {
      id: 'd5',
      webhook_id: 'w1',
      workspace_id: 'ws_1',
      status: 'failed',
      next_attempt_at: 1,
    }),
    await row('webhook_replays', { webhook_id: 'w3', workspace_id: 'ws_1' }),
  ])
  t.same(
    verifyData(file).map(({ check, message }) => `${check}: ${message}`),
    [
      'queue-recipient: 2 queue entries without an unsettled recipient: r3, r4',
      'queue-email: 1 queue entries without their email: gone',
      'recipient-queue: 1 unsettled recipients without a queue entry: r2',
      'email-raw: 1 unsettled emails without their raw message: bare',
      'recipient-copy: 1 unsettled recipients without their copy of the message: c2',
      'recipient-counts: 1 emails whose stored counts of recipients differ from the recipients: bare',
      'cached-file-totals: 1 stored sizes of cached files that differ from the rows: ws_1',
      'inbound-totals: 1 stored sizes of inbound mail that differ from the rows: ws_1',
      'cached-file-chunks: 1 cached files whose chunks are not all of them: f2',
      'export-chunks: 1 exports whose chunks are not all of them: x2',
      'bayes-counts: 1 stored counts of learned tokens that differ from the rows: ws_1',
      'recipient_copies-email: 1 rows of recipient_copies without their email: gone',
      'attempts-email: 1 rows of attempts without their email: gone',
      'webhook_deliveries-webhook: 1 deliveries without their webhook: w2',
      'webhook_replays-webhook: 1 replays without their webhook: w3',
      'webhook-delivery-time: 2 deliveries that are pending without a next attempt, or have one and are not pending: d4, d5',
      'suppressions-workspace: 1 rows of suppressions without their workspace: ws_gone',
    ],
  )
})

t.test('verify-data finds nothing wrong during the erasure of a workspace', async (t) => {
  const { database, file } = await temporaryDatabase(t)
  const row = rowOf(database.read)
  await database.commit([
    await row('workspaces', { id: 'ws_1' }),
    await row('audiences', { id: 'a1', workspace_id: 'ws_1' }),
    await row('contacts', { id: 'c1', workspace_id: 'ws_1', audience_id: 'a1' }),
    await row('cached_files', { workspace_id: 'ws_1', key: 'f1', size: 0 }),
    await row('webhooks', { id: 'w1', workspace_id: 'ws_1' }),
    await row('webhook_deliveries', { id: 'd1', webhook_id: 'w1', workspace_id: 'ws_1', status: 'failed' }),
    ...closeWorkspace('ws_1', 1),
  ])
  t.same(verifyData(file), [])
  const tables: string[] = []
  const commit: typeof database.commit = async (writes) => {
    const done = await database.commit(writes)
    const table = /delete from (\w+)/.exec(writes[0]?.sql ?? '')?.[1] ?? ''
    tables.push(table)
    t.same(verifyData(file), [], table)
    return done
  }
  await eraseWorkspace({ read: database.read, commit }, 'ws_1')
  for (const table of ['audiences', 'contacts', 'cached_file_totals', 'cached_files'])
    t.ok(tables.includes(table), table)
})

t.test('verify-data finds a damaged file', async (t) => {
  const file = join(temporaryFolder(t), 'posthorn.db')
  await closedDatabase(file, 'x'.repeat(50_000))
  const bytes = readFileSync(file)
  bytes.fill(0xff, bytes.length - 20_000)
  writeFileSync(file, bytes)
  t.match(verifyData(file), [{ check: 'integrity' }])
})

t.test('verify-data says that a database of an earlier version has to be updated first', async (t) => {
  const file = join(temporaryFolder(t), 'posthorn.db')
  await (await openDatabase({ file })).close()
  t.match(verifyData(file, laterMigrations), [{ check: 'version', message: /earlier version: start the daemon/ }])
  await (await openDatabase({ file, migrations: laterMigrations })).close()
  t.same(verifyData(file, laterMigrations), [])
})

t.test('a backup waits while the daemon commits, or keeps to its pace', (t) => {
  const step = { took: 5, isBusy: false, bytes: 1 << 20, pace: undefined }
  t.equal(decidePause(step), 0)
  t.equal(decidePause({ ...step, isBusy: true }), 60)
  t.equal(decidePause({ ...step, isBusy: true, took: 1 }), 40)
  t.equal(decidePause({ ...step, isBusy: true, took: 5000 }), 500)
  t.equal(decidePause({ ...step, isBusy: true, pace: 10 << 20 }), 95)
  t.equal(decidePause({ ...step, pace: 1 << 30 }), 0)
  t.end()
})

t.test('a compact backup has no free pages', async (t) => {
  const { file, database } = await temporaryDatabase(t)
  await database.commit([stateWrite('large', 'x'.repeat(500_000))])
  await database.commit([{ sql: `delete from service_state where key = 'large'`, parameters: [] }])
  const [exact, compact] = [`${file}.exact`, `${file}.compact`]
  await createBackup({ from: file, to: exact })
  await createBackup({ from: file, to: compact, compact: true })
  t.ok(statSync(compact).size < statSync(exact).size - 400_000)
  t.same(verifyData(compact), [])
})
