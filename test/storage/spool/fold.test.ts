/**
 * Bytes of spool files that come back into their rows: in place, in a backup, which is one file, and by the restore of a
 * database that was put aside with its spool.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import t from 'tap'
import { createBackup } from '../../../src/storage/maintenance/backup.js'
import { purgeSpool } from '../../../src/storage/maintenance/purge-log.js'
import { restoreBackup } from '../../../src/storage/maintenance/restore.js'
import { verifyData } from '../../../src/storage/maintenance/verify.js'
import { foldSpool } from '../../../src/storage/spool/fold.js'
import { spoolFolder } from '../../../src/storage/spool/spool-files.js'
import { openTestDatabase, temporaryDatabase, temporaryFolder } from '../../helpers/database/database.js'
import {
  holesOf,
  LARGE_BYTES,
  largeMessage,
  placesOf,
  readMessage,
  removeMessage,
  spoolFilesOf,
  storeLarge,
  sweepHoles,
} from '../../helpers/database/spooled.js'

const { signal } = new AbortController()

const now = Date.parse('2026-11-21T10:00:00Z')

const spoolProblems = (file: string): unknown[] => verifyData(file).filter(({ check }) => check.startsWith('spool'))

t.test('a fold puts all bytes back into their rows', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  const ids = Array.from({ length: 60 }, (_, place) => `m${String(place).padStart(2, '0')}`)
  await storeLarge(database, ...ids)
  const steps: number[] = []
  t.equal(await foldSpool(database, { onProgress: (bytes) => void steps.push(bytes) }), 60 * LARGE_BYTES)
  t.same(steps, [41 * LARGE_BYTES, 60 * LARGE_BYTES], 'in commits of at most 8 MB')
  for (const id of ids) t.equal(readMessage(database.read, id), largeMessage(id).toString())
  t.match(placesOf(database.read)[0], { file: null, at: null, bytes: null, inline: LARGE_BYTES })
  t.ok(await purgeSpool(database, signal))
  t.match(spoolFilesOf(file)[0]?.bytes.toString(), /^\0+$/, 'and overwrites them in the spool')
})

for (const compact of [false, true]) {
  t.test(`a backup has all bytes in itself, ${compact ? 'compact' : 'page by page'}`, async (t) => {
    const { database, file } = await temporaryDatabase(t, { spool: true })
    await storeLarge(database, 'a', 'b', 'c')
    await database.commit([removeMessage('b')])
    const copy = `${temporaryFolder(t)}/copy.db`
    const phases = new Set<string>()
    await createBackup({ from: file, to: copy, compact, onProgress: ({ phase }) => phases.add(phase) })
    t.ok(phases.has('fold') && phases.has('check'))
    t.same(readdirSync(dirname(copy)), ['copy.db'])
    const { read } = await openTestDatabase(t, { file: copy })
    t.match(placesOf(read), [
      { id: 'a', file: null, inline: LARGE_BYTES },
      { id: 'c', file: null, inline: LARGE_BYTES },
    ])
    t.same(holesOf(read), [], 'and nothing is left to be overwritten there')
    for (const id of ['a', 'c']) t.equal(readMessage(read, id), largeMessage(id).toString())
    t.match(placesOf(database.read), [{ file: 1 }, { file: 1 }], 'the database stays as it is')
  })
}

t.test('a sweep during a backup takes nothing from it', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  await storeLarge(database, 'a', 'b')
  const copy = `${file}.copy`
  const refused: unknown[] = []
  let isFolding = false
  const backup = createBackup({
    from: file,
    to: copy,
    onProgress: ({ phase }) => {
      if (phase !== 'fold' || isFolding) return
      isFolding = true
      // The pages are copied; the second message is deleted before its bytes are.
      void database.commit([removeMessage('a')]).then(() => sweepHoles(database).catch((fault) => refused.push(fault)))
    },
    pace: 1_000_000,
  })
  await backup
  t.match(refused, [{ code: 'SQLITE_BUSY' }])
  const { read } = await openTestDatabase(t, { file: copy })
  for (const id of ['a', 'b']) t.equal(readMessage(read, id), largeMessage(id).toString())
  await sweepHoles(database)
  t.same(holesOf(database.read), [], 'after it, what was deleted is overwritten')
})

t.test('a backup fails, and leaves nothing, where a spool file is lost', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  await storeLarge(database, 'a')
  rmSync(spoolFolder(file), { recursive: true })
  const folder = temporaryFolder(t)
  await t.rejects(createBackup({ from: file, to: `${folder}/copy.db` }), {
    name: 'DamagedCopy',
    message: /there is no such file/,
  })
  t.same(readdirSync(folder), [])
})

t.test('a restore puts the spool aside with its database, and back again', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  await storeLarge(database, 'old')
  const copy = `${file}.copy`
  await createBackup({ from: file, to: copy })
  await storeLarge(database, 'newer')
  await database.close()
  const { previousFile = '' } = await restoreBackup({ backup: copy, file, now })
  t.notOk(existsSync(spoolFolder(file)), 'the restored database has no spool files')
  t.same(
    spoolFilesOf(previousFile).map(({ bytes }) => bytes.length),
    [2 * LARGE_BYTES],
  )
  t.same([...spoolProblems(file), ...spoolProblems(previousFile)], [])
  const restored = await openTestDatabase(t, { file, spool: true })
  t.equal(readMessage(restored.read, 'old'), largeMessage('old').toString())
  t.equal(readMessage(restored.read, 'newer'), undefined)
  const aside = await openTestDatabase(t, { file: previousFile })
  for (const id of ['old', 'newer']) t.equal(readMessage(aside.read, id), largeMessage(id).toString())
  for (const opened of [restored, aside]) await opened.close()

  await restoreBackup({ backup: previousFile, file, now: now + 1 })
  const { read } = await openTestDatabase(t, { file })
  t.match(placesOf(read), [{ inline: LARGE_BYTES }, { inline: LARGE_BYTES }])
  for (const id of ['old', 'newer']) t.equal(readMessage(read, id), largeMessage(id).toString())
})

t.test('a database without its spool files is no backup', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  await storeLarge(database, 'a')
  await database.close()
  rmSync(spoolFolder(file), { recursive: true })
  const target = `${temporaryFolder(t)}/posthorn.db`
  await t.rejects(restoreBackup({ backup: file, file: target, now }), {
    name: 'UnusableBackup',
    message: /lacks messages that were in .*posthorn\.db-spool/,
  })
  t.notOk(existsSync(target))
})
