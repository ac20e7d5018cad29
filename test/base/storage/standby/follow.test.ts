/** A follower ends after a takeover, and after nothing else: a copy that failed is made again. */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import SQLite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { lockDataFolder } from '../../../../src/base/storage/db/data-lock.js'
import { beginFollowing, markTakeover } from '../../../../src/base/storage/standby/follow.js'
import { forgetCopy } from '../../../../src/base/storage/standby/rebuild.js'
import { StandbyStream } from '../../../../src/base/storage/standby/standby-stream.js'
import { temporaryFolder } from '../../../helpers/database/database.js'

interface Place {
  readonly folder: string
  readonly work: string
  readonly dataDir: string
  /** Begins another generation in the folder, with a snapshot. */
  readonly writeGeneration: () => void
}

function createPlace(t: Test): Place {
  const dataDir = temporaryFolder(t)
  const [folder, work, file] = [join(dataDir, 'carried'), join(dataDir, 'standby'), join(dataDir, 'a.db')]
  mkdirSync(folder)
  const db = new SQLite(file)
  t.teardown(() => db.close())
  db.pragma('journal_mode = WAL')
  db.exec('create table rows (id integer primary key)')
  let streams = 0
  const writeGeneration = (): void => {
    // The stream cannot go on after a log that it has not read.
    db.pragma('wal_checkpoint(TRUNCATE)')
    db.exec('insert into rows default values')
    streams += 1
    const stream = new StandbyStream({
      file,
      folder,
      keep: 2,
      now: () => streams * 10_000,
      randomName: () => `x00${streams}`,
    })
    while (stream.stepSnapshot()) stream.poll()
    stream.close()
  }
  writeGeneration()
  return { folder, work, dataDir, writeGeneration }
}

t.test('a copy that failed is no takeover: the next pass makes it', async (t) => {
  const place = createPlace(t)
  const makePass = beginFollowing(place)
  t.match(await makePass(), { rebuilt: { generation: /x001$/ }, found: null })
  place.writeGeneration()
  const copy = join(place.work, 'copy.db')
  rmSync(copy)
  mkdirSync(copy)
  for (let pass = 0; pass < 2; pass += 1) t.match(await makePass(), { rebuilt: null, found: /EISDIR|EEXIST|copy\.db/ })
  rmSync(copy, { recursive: true })
  t.match(await makePass(), { rebuilt: { generation: /x002$/ }, found: null })
})

t.test('a restore that took the copy and failed is no takeover', async (t) => {
  const place = createPlace(t)
  const makePass = beginFollowing(place)
  await makePass()
  forgetCopy(place.work)
  t.match(await makePass(), { rebuilt: { generation: /x001$/ }, found: null })
})

t.test('a takeover ends those who follow, and none who begins after it', async (t) => {
  const place = createPlace(t)
  for (const at of [1, 1]) {
    const [one, other] = [beginFollowing(place), beginFollowing(place)]
    t.match(await one(), { found: null }, 'a mark of an earlier takeover ends nothing')
    forgetCopy(place.work)
    markTakeover(place.work, at)
    t.same([await one(), await other(), await one()], ['over', 'over', 'over'])
  }
})

t.test('a daemon that starts here ends the following', async (t) => {
  const place = createPlace(t)
  const makePass = beginFollowing(place)
  t.match(await makePass(), { found: null })
  const lock = lockDataFolder(place.dataDir)
  t.teardown(() => lock.release())
  t.equal(await makePass(), 'over')
})
