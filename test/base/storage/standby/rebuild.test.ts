/** A database is rebuilt from a standby folder to the last complete commit that is there, and never further or wrong. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import SQLite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { rebuild, withCopy } from '../../../../src/base/storage/standby/rebuild.js'
import { listGenerations, listSegments, listSnapshots } from '../../../../src/base/storage/standby/standby-folder.js'
import { StandbyStream } from '../../../../src/base/storage/standby/standby-stream.js'
import { temporaryFolder } from '../../../helpers/database/database.js'

interface Bench {
  readonly db: SQLite.Database
  readonly folder: string
  readonly work: string
  readonly open: (keep?: number, now?: number) => StandbyStream
  /** Rows of the rebuilt database; throws when it is damaged. */
  readonly rebuiltRows: () => number
}

function bench(t: Test): Bench {
  const root = temporaryFolder(t)
  const file = join(root, 'a.db')
  const folder = join(root, 'standby')
  mkdirSync(folder)
  const db = new SQLite(file)
  t.teardown(() => db.close())
  db.pragma('journal_mode = WAL')
  db.exec('create table rows (id integer primary key, bytes blob)')
  let streams = 0
  const work = join(root, 'work')
  mkdirSync(work)
  return {
    db,
    folder,
    work,
    open: (keep = 2, now = Date.now() + streams * 1000) => {
      streams += 1
      return new StandbyStream({ file, folder, keep, now: () => now, randomName: () => `x00${streams}` })
    },
    rebuiltRows: () => countRows(rebuild(folder, work).file),
  }
}

function countRows(file: string): number {
  const db = new SQLite(file)
  try {
    db.pragma('journal_mode = DELETE')
    if (db.pragma('integrity_check', { simple: true }) !== 'ok') throw new Error('damaged')
    return Number(db.prepare('select count(*) from rows').pluck().get())
  } finally {
    db.close()
  }
}

function insert(db: SQLite.Database, count: number, size = 3000): void {
  db.transaction(() => {
    for (let n = 0; n < count; n += 1) db.prepare('insert into rows (bytes) values (randomblob(?))').run(size)
  })()
}

function takeSnapshot(stream: StandbyStream): void {
  while (stream.stepSnapshot()) stream.poll()
}

t.test('commits before, during and after the snapshot are rebuilt', (t) => {
  const { db, open, rebuiltRows } = bench(t)
  insert(db, 2000)
  const stream = open()
  t.teardown(() => stream.close())
  stream.poll()
  t.ok(stream.stepSnapshot(), 'the snapshot takes more than a step')
  insert(db, 500)
  takeSnapshot(stream)
  t.equal(rebuiltRows(), 2500)
  insert(db, 3, 5_000_000)
  insert(db, 1)
  stream.poll()
  t.equal(rebuiltRows(), 2504, 'also a commit of several segments')
  db.exec('delete from rows where id > 10')
  db.exec('vacuum')
  stream.poll()
  t.equal(rebuiltRows(), 10)
  t.end()
})

t.test('a missing, short or damaged segment ends the copy before it', (t) => {
  const { db, folder, work, open, rebuiltRows } = bench(t)
  const stream = open()
  t.teardown(() => stream.close())
  takeSnapshot(stream)
  for (let commit = 0; commit < 6; commit += 1) {
    insert(db, 1)
    stream.poll()
  }
  const segments = listSegments(join(folder, stream.generationName))
  const file = segments.at(-3)?.file ?? ''
  const whole = readFileSync(file)
  rmSync(file)
  t.equal(rebuiltRows(), 3)
  t.match(rebuild(folder, work).gap, /is missing/)
  writeFileSync(file, whole)
  truncateSync(file, whole.length - 5)
  t.equal(rebuiltRows(), 3)
  for (const at of [2, 10, 17, 30, whole.length - 1]) {
    const changed = Buffer.from(whole)
    changed[at] = (changed[at] ?? 0) ^ 0x40
    writeFileSync(file, changed)
    t.match(rebuild(folder, work), { gap: /is damaged/ })
    t.equal(rebuiltRows(), 3)
  }
  writeFileSync(file, whole)
  t.equal(rebuiltRows(), 6, 'once it has arrived, the copy goes on')
  t.end()
})

t.test('the stream goes on after a restart, and begins anew when the log shows a gap', (t) => {
  const { db, folder, open, rebuiltRows } = bench(t)
  const first = open()
  takeSnapshot(first)
  insert(db, 1)
  first.poll()
  first.close()
  insert(db, 1)
  const second = open()
  second.poll()
  t.equal(second.generationName, first.generationName)
  t.equal(rebuiltRows(), 2, 'what was committed meanwhile is in the log')
  second.close()

  insert(db, 1)
  db.pragma('wal_checkpoint(TRUNCATE)')
  insert(db, 1)
  const third = open()
  t.teardown(() => third.close())
  t.not(third.generationName, first.generationName)
  third.poll()
  t.equal(rebuiltRows(), 2, 'until the new generation has a snapshot, the old one counts')
  takeSnapshot(third)
  t.equal(rebuiltRows(), 4)
  t.same(listGenerations(folder), [third.generationName], 'and then it is removed')
  t.end()
})

t.test('a generation that begins after the clock was set back is the newest', (t) => {
  const { db, folder, open, rebuiltRows } = bench(t)
  const first = open(2, Date.parse('2026-12-31T23:59:59.900Z'))
  takeSnapshot(first)
  first.close()
  db.pragma('wal_checkpoint(TRUNCATE)')
  insert(db, 1)
  const second = open(2, Date.parse('2026-11-23T02:00:00Z'))
  t.teardown(() => second.close())
  takeSnapshot(second)
  t.equal(rebuiltRows(), 1)
  t.same(listGenerations(folder), ['20270101T000000Z-x002'])
  t.end()
})

t.test('old snapshots and the segments before them are removed; a copy that needs them begins anew', (t) => {
  const { db, folder, open, rebuiltRows } = bench(t)
  const stream = open(1)
  t.teardown(() => stream.close())
  takeSnapshot(stream)
  t.equal(rebuiltRows(), 0)
  for (let commit = 0; commit < 5; commit += 1) {
    insert(db, 1)
    stream.poll()
  }
  takeSnapshot(stream)
  const generation = join(folder, stream.generationName)
  t.equal(listSnapshots(generation).length, 1)
  t.same(listSegments(generation), [])
  insert(db, 1)
  stream.poll()
  t.equal(rebuiltRows(), 6)
  t.end()
})

t.test('one process at a time uses a copy', async (t) => {
  const { work } = bench(t)
  const child = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { withCopy } from ${JSON.stringify(join(process.cwd(), 'dist/src/base/storage/standby/rebuild.js'))}
      await withCopy(${JSON.stringify(work)}, () => new Promise((resolve) => {
        process.stdin.once('data', resolve)
        process.stdout.write('held')
      }))
      process.stdin.destroy()`,
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  await once(child.stdout, 'data')
  await t.rejects(
    withCopy(work, () => 'in the way'),
    { name: 'DataFolderHeld', message: /standby follow/ },
  )
  child.stdin.write('go on')
  await once(child, 'exit')
  t.equal(await withCopy(work, () => 'alone'), 'alone')
})

t.test('a folder without a complete snapshot is refused', (t) => {
  const { db, folder, work, open } = bench(t)
  t.throws(() => rebuild(folder, work), { name: 'UnusableStandby' })
  insert(db, 1000)
  const stream = open()
  t.teardown(() => stream.close())
  stream.poll()
  stream.stepSnapshot()
  t.throws(() => rebuild(folder, work), { name: 'UnusableStandby' })
  takeSnapshot(stream)
  const snapshots = join(folder, stream.generationName, 'snapshots')
  const name = readdirSync(snapshots).find((one) => one.endsWith('.db')) ?? ''
  truncateSync(join(snapshots, name), statSync(join(snapshots, name)).size - 1)
  t.throws(() => rebuild(folder, work), { name: 'UnusableStandby' }, 'nor one that has not arrived in full')
  t.end()
})
