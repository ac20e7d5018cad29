/** A copy that follows the log equals the database, whatever other connections commit, copy back and remove meanwhile. */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import SQLite from 'better-sqlite3'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { PageCopy } from '../../../../src/base/storage/wal/page-copy.js'
import { openSource } from '../../../../src/base/storage/wal/source-file.js'
import { LostLog, WalFollower } from '../../../../src/base/storage/wal/wal-follower.js'
import { WalReader } from '../../../../src/base/storage/wal/wal-reader.js'
import { temporaryFolder } from '../../../helpers/database/database.js'

interface Source {
  readonly file: string
  readonly db: SQLite.Database
}

function openSourceDatabase(t: Test): Source {
  const file = join(temporaryFolder(t), 'a.db')
  const db = new SQLite(file)
  t.teardown(() => db.close())
  db.pragma('auto_vacuum = INCREMENTAL')
  db.pragma('journal_mode = WAL')
  db.pragma('wal_autocheckpoint = 50')
  db.exec('create table rows (id integer primary key, bytes blob)')
  insert(db, 300)
  return { file, db }
}

function insert(db: SQLite.Database, count: number): void {
  db.prepare(
    `insert into rows (bytes) with recursive n (i) as (select 1 union all select i + 1 from n where i < ?)
     select randomblob(abs(random() % 9000)) from n`,
  ).run(count)
}

function contentOf(db: SQLite.Database): unknown {
  return db.prepare('select count(*) as count, sum(id) as ids, sum(length(bytes)) as bytes from rows').get()
}

function contentOfFile(file: string): unknown {
  const db = new SQLite(file)
  try {
    db.pragma('journal_mode = DELETE')
    return { integrity: db.pragma('integrity_check', { simple: true }), ...(contentOf(db) as object) }
  } finally {
    db.close()
  }
}

const acts = {
  insert: ({ db }: Source): void => insert(db, 20),
  grow: ({ db }: Source): void => insert(db, 200),
  update: ({ db }: Source): void =>
    void db.prepare('update rows set bytes = randomblob(5000) where id % 7 = abs(random() % 7)').run(),
  remove: ({ db }: Source): void => void db.prepare('delete from rows where id % 3 = abs(random() % 3)').run(),
  shrink: ({ db }: Source): void => void db.exec('pragma incremental_vacuum(50)'),
  passive: ({ db }: Source): void => void db.pragma('wal_checkpoint(PASSIVE)'),
  restart: ({ db }: Source): void => void db.pragma('wal_checkpoint(RESTART)'),
  truncate: ({ db }: Source): void => void db.pragma('wal_checkpoint(TRUNCATE)'),
  rolledBack: ({ db }: Source): void => {
    db.pragma('cache_size = 5')
    db.exec('begin')
    insert(db, 60)
    db.exec('rollback')
  },
  otherProcess: ({ file }: Source): void => {
    const other = new SQLite(file)
    insert(other, 5)
    other.pragma('wal_checkpoint(PASSIVE)')
    other.close()
  },
} as const
type Act = keyof typeof acts | 'poll' | 'rotate' | 'settle' | 'step'

t.test('after any history, the copy is the database', async (t) => {
  const names = [...(Object.keys(acts) as (keyof typeof acts)[]), 'poll', 'rotate', 'settle', 'step', 'step'] as const
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom<Act>(...names), { minLength: 5, maxLength: 40 }), async (history) => {
      const source = openSourceDatabase(t)
      source.db.pragma('busy_timeout = 0')
      const follower = new WalFollower(source.file)
      const to = `${source.file}.copy`
      const copy = new PageCopy(openSource(source.file), to, follower.countPages())
      const take = (piece: Parameters<typeof copy.apply>[0]): void => copy.apply(piece)
      follower.poll(take)
      for (const act of history) {
        if (act === 'poll') follower.poll(take)
        else if (act === 'rotate') follower.rotate(take)
        else if (act === 'settle') follower.settle()
        else if (act === 'step') copy.step()
        else acts[act](source)
      }
      while (copy.step()) follower.poll(take)
      follower.poll(take)
      copy.finish()
      copy.close()
      follower.close({ keepLog: false })
      const expected = { integrity: 'ok', ...(contentOf(source.db) as object) }
      source.db.close()
      return JSON.stringify(contentOfFile(to)) === JSON.stringify(expected)
    }),
    { numRuns: 15, examples: [[['insert', 'insert', 'settle', 'settle', 'insert']]] },
  )
})

t.test('under continuous commits the log is restarted, so that it does not grow', async (t) => {
  const { file, db } = openSourceDatabase(t)
  const follower = new WalFollower(file)
  t.teardown(() => follower.close({ keepLog: false }))
  let largest = 0
  for (let round = 0; round < 60; round += 1) {
    insert(db, 300)
    follower.poll(() => undefined)
    largest = Math.max(largest, statSync(`${file}-wal`).size)
  }
  t.ok(largest < 30_000_000, `${largest} bytes`)
})

t.test('while the copy takes the bytes, others can write, and bytes that it did not take are passed on again', (t) => {
  const { file, db } = openSourceDatabase(t)
  db.pragma('busy_timeout = 0')
  const follower = new WalFollower(file)
  t.teardown(() => follower.close({ keepLog: false }))
  follower.poll(() => undefined)
  insert(db, 10)
  t.throws(
    () =>
      follower.rotate(() => {
        insert(db, 1)
        throw new Error('the folder takes nothing')
      }),
    { message: 'the folder takes nothing' },
  )
  const logs: string[] = []
  follower.poll(({ header }) => logs.push(header.salts))
  t.equal(logs.length, 2)
  t.not(logs[0], logs[1], 'the end of the log, and the beginning of the next one')
  t.end()
})

t.test('a log that is restarted right after it was resumed has lost nothing', (t) => {
  const { file, db } = openSourceDatabase(t)
  const first = new WalFollower(file)
  insert(db, 1)
  first.poll(() => undefined)
  const position = first.position()
  insert(db, 10)
  first.close({ keepLog: true })
  db.pragma('wal_checkpoint(PASSIVE)')
  const second = new WalFollower(file)
  t.teardown(() => second.close({ keepLog: false }))
  t.ok(position !== null && second.resume(position))
  insert(db, 1)
  const pieces: [salts: string, offset: number][] = []
  second.poll(({ header, offset }) => pieces.push([header.salts, offset]))
  t.equal(pieces.length, 2)
  t.same(pieces[0], [position?.salts, position?.offset])
  t.not(pieces[1]?.[0], position?.salts)
  t.end()
})

t.test('a log that differs from what was read is noticed', async (t) => {
  const { file, db } = openSourceDatabase(t)
  const follower = new WalFollower(file)
  t.teardown(() => follower.close({ keepLog: false }))
  follower.poll(() => undefined)
  insert(db, 10)
  follower.poll(() => undefined)
  insert(db, 10)
  const log = readFileSync(`${file}-wal`)
  // The next frame is not one that a reader of the file can confirm.
  const { offset = 0 } = follower.position() ?? {}
  log.fill(1, offset + 100, offset + 200)
  writeFileSync(`${file}-wal`, log)
  t.throws(() => follower.rotate(() => undefined), LostLog)
})

t.test('the reader takes no frame that is incomplete, of an older log, or not committed', async (t) => {
  const { file, db } = openSourceDatabase(t)
  const log = readFileSync(`${file}-wal`)
  const whole = readAll(t, log)
  t.equal(whole, log.length)
  const frame = 4096 + 24
  for (const cut of [1, 24, frame - 1, frame, 3 * frame + 7]) {
    const read = readAll(t, log.subarray(0, log.length - cut))
    t.ok(read <= log.length - cut && (read === 0 || (read - 32) % frame === 0), `${cut} bytes less: ${read}`)
  }
  for (const at of [3, 12, 20, 30, 40, 60]) {
    const changed = Buffer.from(log)
    changed[at] = (changed[at] ?? 0) ^ 1
    t.equal(readAll(t, changed), 0, `a bit of byte ${at}`)
  }
  t.equal(readAll(t, Buffer.alloc(0)), 0)
  db.pragma('wal_checkpoint(TRUNCATE)')
})

function readAll(t: Test, log: Buffer): number {
  const file = join(temporaryFolder(t), 'x-wal')
  writeFileSync(file, log)
  let end = 0
  for (const { offset, bytes } of new WalReader(file).read()) end = offset + bytes.length
  return end
}
