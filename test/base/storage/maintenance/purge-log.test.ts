/** Deleted bytes are neither in the database file nor in its log: rows, large values, free pages, erased workspaces. */
// Of SQLite alone: its log is a file.
import { existsSync, readFileSync } from 'node:fs'
import SQLite from 'better-sqlite3'
import t from 'tap'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { createBackup } from '../../../../src/base/storage/maintenance/backup.js'
import { eraseWorkspace } from '../../../../src/base/storage/maintenance/erase.js'
import { purgeLog } from '../../../../src/base/storage/maintenance/purge-log.js'
import { WalFollower } from '../../../../src/base/storage/wal/wal-follower.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { rowOf } from '../../../helpers/database/rows.js'

const MARKER = 'a-marker-that-no-other-row-has'
const signal = new AbortController().signal

function filesWithMarker(file: string): string[] {
  return [file, `${file}-wal`].filter((name) => existsSync(name) && readFileSync(name).includes(MARKER))
}

/** A small value and one of many pages, in the database file and in the log. */
async function storeMarked({ commit, read }: Database): Promise<void> {
  const row = rowOf(read)
  await commit([
    await row('workspaces', { id: 'ws_1' }),
    await row('workspaces', { id: 'ws_2' }),
    await row('emails', { id: 'e1', workspace_id: 'ws_1', subject: MARKER }),
    await row('raw_messages', { email_id: 'e1', workspace_id: 'ws_1', raw: Buffer.from(`${MARKER} `.repeat(5000)) }),
    await row('contacts', { id: 'c1', workspace_id: 'ws_1', email: `${MARKER}@b.test` }),
    await row('emails', { id: 'e2', workspace_id: 'ws_2', subject: 'another' }),
  ])
}

function copyBack(file: string): void {
  const db = new SQLite(file)
  db.pragma('wal_checkpoint(PASSIVE)')
  db.close()
}

t.test('what was deleted is in no byte of the files', async (t) => {
  const { database, file } = await temporaryDatabase(t)
  await storeMarked(database)
  copyBack(file)
  t.same(filesWithMarker(file), [file, `${file}-wal`], 'it was there')
  await database.commit([
    { sql: `delete from raw_messages where email_id = 'e1'`, parameters: [] },
    { sql: `update emails set subject = '' where id = 'e1'`, parameters: [] },
    { sql: `delete from contacts where id = 'c1'`, parameters: [] },
  ])
  t.ok(await purgeLog(database, signal))
  copyBack(file)
  t.same(filesWithMarker(file), [])
  t.equal((await database.read<{ count: number }>('select count(*) as count from emails', []))[0]?.count, 2)
  const copy = `${file}.copy`
  await createBackup({ from: file, to: copy })
  t.same(filesWithMarker(copy), [], 'nor in a backup made afterwards')
})

t.test('an erased workspace is in no byte of the files', async (t) => {
  const { database, file } = await temporaryDatabase(t)
  await storeMarked(database)
  copyBack(file)
  await eraseWorkspace(database, 'ws_1')
  t.ok(await purgeLog(database, signal))
  copyBack(file)
  t.same(filesWithMarker(file), [])
})

t.test('a reader keeps the log: the purge waits for it', async (t) => {
  const { database, file } = await temporaryDatabase(t)
  await storeMarked(database)
  const reader = new SQLite(file, { readonly: true })
  reader.exec('begin')
  reader.prepare('select count(*) from emails').get()
  await database.commit([{ sql: `delete from raw_messages`, parameters: [] }])
  await t.rejects(async () => database.files?.purgeLog(), { name: 'StorageFault', code: 'SQLITE_BUSY' })
  t.same(filesWithMarker(file).includes(`${file}-wal`), true)
  reader.exec('rollback')
  reader.close()
  await database.files?.purgeLog()
  t.notOk(readFileSync(`${file}-wal`).includes(`${MARKER} ${MARKER}`))
})

t.test('a purge that gave up says nothing about what is deleted later', async (t) => {
  const { database, file } = await temporaryDatabase(t)
  const reader = new SQLite(file, { readonly: true })
  t.teardown(() => reader.close())
  const begin = (): void => {
    reader.exec('begin')
    reader.prepare('select count(*) from emails').get()
  }
  begin()
  await database.commit([{ sql: 'delete from contacts', parameters: [] }])
  await t.rejects(async () => database.files?.purgeLog(), { code: 'SQLITE_BUSY' })
  reader.exec('rollback')
  copyBack(file)
  await storeMarked(database)
  begin()
  await database.commit([{ sql: 'delete from raw_messages', parameters: [] }])
  await t.rejects(async () => database.files?.purgeLog(), { code: 'SQLITE_BUSY' }, 'the log was restarted before')
  reader.exec('rollback')
  await database.files?.purgeLog({ goesOn: true })
  t.notOk(readFileSync(`${file}-wal`).includes(`${MARKER} ${MARKER}`))
})

t.test('a follower of the log lets it be purged', async (t) => {
  const { database, file } = await temporaryDatabase(t)
  await storeMarked(database)
  const follower = new WalFollower(file)
  t.teardown(() => follower.close({ keepLog: true }))
  const poll = (): number => follower.poll(() => undefined)
  poll()
  await database.commit([
    { sql: `delete from raw_messages`, parameters: [] },
    { sql: `update emails set subject = ''`, parameters: [] },
    { sql: 'delete from contacts', parameters: [] },
  ])
  await t.rejects(async () => database.files?.purgeLog(), { code: 'SQLITE_BUSY' })
  poll()
  follower.settle()
  await database.files?.purgeLog()
  poll()
  follower.settle()
  t.same(filesWithMarker(file), [])
})
