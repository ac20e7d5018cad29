/**
 * Bytes of spool files that come back into their rows: in place, in a backup, which is one file, and by the restore of a
 * database that was put aside with its spool.
 */
// Of SQLite alone: bytes of messages are in files.
import { existsSync, readdirSync, rmSync, symlinkSync, truncateSync } from 'node:fs'
import { dirname } from 'node:path'
import t, { type Test } from 'tap'
import type { Database } from '../../../../src/base/storage/db/database.js'
import type { Read, ReadElsewhere } from '../../../../src/base/storage/db/prepared.js'
import { spoolFile, spoolFolder } from '../../../../src/base/storage/db/spool-files.js'
import { createBackup } from '../../../../src/base/storage/maintenance/backup.js'
import { purgeSpool } from '../../../../src/base/storage/maintenance/purge-log.js'
import { restoreBackup } from '../../../../src/base/storage/maintenance/restore.js'
import { verifyData } from '../../../../src/base/storage/maintenance/verify.js'
import { foldFile, foldSpool } from '../../../../src/base/storage/spool/fold.js'
import { readLargeRaw } from '../../../../src/records/messages/email/raw-message.js'
import { openTestDatabase, temporaryDatabase, temporaryFolder } from '../../../helpers/database/database.js'
import {
  holesOf,
  LARGE_BYTES,
  largeMessage,
  placesOf,
  readMessage,
  removeMessage,
  spoolFilesOf,
  storeLarge,
  storeMessage,
  sweepHoles,
} from '../../../helpers/database/spooled.js'

const { signal } = new AbortController()

const now = Date.parse('2026-11-21T10:00:00Z')

/** Each list goes to a file of its own, since each writer begins one. */
async function storeInFiles(t: Test, first: Database, file: string, ...lists: string[][]): Promise<Database> {
  let database = first
  for (const ids of lists) {
    await database.close()
    database = await openTestDatabase(t, { file, spool: true })
    await storeLarge(database, ...ids)
  }
  return database
}

const spoolProblems = (file: string): unknown[] => verifyData(file).filter(({ check }) => check.startsWith('spool'))

t.test('a fold puts all bytes back into their rows', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  const ids = Array.from({ length: 60 }, (_, place) => `m${String(place).padStart(2, '0')}`)
  await storeLarge(database, ...ids)
  const steps: number[] = []
  t.equal(await foldSpool(database, { onProgress: (bytes) => void steps.push(bytes) }), 60 * LARGE_BYTES)
  t.same(steps, [41 * LARGE_BYTES, 60 * LARGE_BYTES], 'in commits of at most 8 MB')
  for (const id of ids) t.equal(await readMessage(database.read, id), largeMessage(id).toString())
  t.match((await placesOf(database.read))[0], { file: null, at: null, bytes: null, inline: LARGE_BYTES })
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
    t.match(await placesOf(read), [
      { id: 'a', file: null, inline: LARGE_BYTES },
      { id: 'c', file: null, inline: LARGE_BYTES },
    ])
    t.same(await holesOf(read), [], 'and nothing is left to be overwritten there')
    for (const id of ['a', 'c']) t.equal(await readMessage(read, id), largeMessage(id).toString())
    t.match(await placesOf(database.read), [{ file: 1 }, { file: 1 }], 'the database stays as it is')
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
      void database
        .commit([removeMessage('a')])
        .then(async () => sweepHoles(database).catch((fault) => refused.push(fault)))
    },
    pace: 1_000_000,
  })
  await backup
  t.match(refused, [{ code: 'SQLITE_BUSY' }])
  const { read } = await openTestDatabase(t, { file: copy })
  for (const id of ['a', 'b']) t.equal(await readMessage(read, id), largeMessage(id).toString())
  await sweepHoles(database)
  t.same(await holesOf(database.read), [], 'after it, what was deleted is overwritten')
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
  t.equal(await readMessage(restored.read, 'old'), largeMessage('old').toString())
  t.equal(await readMessage(restored.read, 'newer'), undefined)
  const aside = await openTestDatabase(t, { file: previousFile })
  for (const id of ['old', 'newer']) t.equal(await readMessage(aside.read, id), largeMessage(id).toString())
  for (const opened of [restored, aside]) await opened.close()

  await restoreBackup({ backup: previousFile, file, now: now + 1 })
  const { read } = await openTestDatabase(t, { file })
  t.match(await placesOf(read), [{ inline: LARGE_BYTES }, { inline: LARGE_BYTES }])
  for (const id of ['old', 'newer']) t.equal(await readMessage(read, id), largeMessage(id).toString())
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

t.test('what is left of a mostly empty file comes back into its rows, and the file goes', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  await storeLarge(database, 'a', 'b', 'c')
  const files = await storeInFiles(t, database, file, ['half', 'other'], ['d', 'e', 'f'])
  await files.commit(['a', 'b', 'other', 'd', 'e'].map(removeMessage))
  t.ok(await purgeSpool(files, signal))
  t.same(
    spoolFilesOf(file).map(({ number, bytes }) => [number, bytes.length]),
    [
      [2, LARGE_BYTES],
      [3, 3 * LARGE_BYTES],
    ],
    'half of a file is enough, and the newest one stays',
  )
  t.match(await placesOf(files.read), [
    { id: 'c', file: null, inline: LARGE_BYTES },
    { id: 'f', file: 3 },
    { id: 'half', file: 2 },
  ])
  for (const id of ['c', 'f', 'half']) t.equal(await readMessage(files.read, id), largeMessage(id).toString())
  t.same([...(await holesOf(files.read)), ...spoolProblems(file)], [])
})

t.test('a crash between the fold of a file and its sweep loses nothing', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  await storeLarge(database, 'a', 'b', 'c')
  await database.commit([removeMessage('a')])
  for await (const bytes of foldFile(database, 1)) t.equal(bytes, 2 * LARGE_BYTES)
  await database.close()
  t.equal((await holesOf((await openTestDatabase(t, { file })).read)).length, 3)
  const again = await openTestDatabase(t, { file, spool: true })
  t.ok(await purgeSpool(again, signal))
  t.same(spoolFilesOf(file), [])
  for (const id of ['b', 'c']) t.equal(await readMessage(again.read, id), largeMessage(id).toString())
})

t.test('a message whose bytes are lost hinders no other of its file', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  await storeLarge(database, 'a', 'b', 'c', 'd', 'e')
  const again = await storeInFiles(t, database, file, ['new'])
  await again.commit(['a', 'b', 'c'].map(removeMessage))
  truncateSync(spoolFile(spoolFolder(file), 1), 4 * LARGE_BYTES)
  t.ok(await purgeSpool(again, signal))
  t.match(await placesOf(again.read), [
    { id: 'd', file: null },
    { id: 'e', file: 1 },
    { id: 'new', file: 2 },
  ])
  t.equal(await readMessage(again.read, 'd'), largeMessage('d').toString())
})

t.test('a place that cannot be read fails its fold alone, and nothing that is committed with it', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  await storeLarge(database, 'a', 'b', 'c')
  const again = await storeInFiles(t, database, file, ['new'])
  await again.commit(['a', 'b'].map(removeMessage))
  const path = spoolFile(spoolFolder(file), 1)
  rmSync(path)
  symlinkSync(path, path) // to itself, which is no missing file but an error of the system
  const outcomes = await Promise.allSettled([
    foldFile(again, 1).next(),
    again.commit(await storeMessage(again.read, 'small', Buffer.from('s'))),
  ])
  t.same(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'fulfilled'],
  )
  t.match(await placesOf(again.read), [
    { id: 'c', file: 1 },
    { id: 'new', file: 2 },
    { id: 'small', file: null },
  ])
})

t.test('a large message that is folded and swept while it is read on a thread is read whole', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  await storeLarge(database, 'a', 'b', 'c')
  const again = await storeInFiles(t, database, file, ['new'])
  await again.commit(['a', 'b'].map(removeMessage))
  let reads = 0
  const elsewhere: ReadElsewhere = async (...statement) => {
    reads += 1
    if (reads > 1) return (await again.read.elsewhere?.(...statement)) as never
    t.ok(await purgeSpool(again, signal))
    return [{ raw: Buffer.alloc(LARGE_BYTES) }] as never
  }
  const read: Read = Object.assign(again.read.bind(null) as Read, { elsewhere })
  const found = await readLargeRaw(read, { workspaceId: 'ws', emailId: 'c' })
  t.equal(found?.toString(), largeMessage('c').toString())
  t.equal(reads, 2, 'the second time on the thread too')
})

t.test('a backup that began before a fold has all bytes', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  await storeLarge(database, 'a', 'b', 'c')
  await database.commit(['a', 'c'].map(removeMessage))
  const copy = `${file}.copy`
  const fold = async (): Promise<void> => {
    for await (const bytes of foldFile(database, 1)) t.equal(bytes, LARGE_BYTES)
    await t.rejects(sweepHoles(database), { code: 'SQLITE_BUSY' })
  }
  let folding: Promise<void> | undefined
  await createBackup({
    from: file,
    to: copy,
    onProgress: ({ phase }) => {
      if (phase === 'fold') folding ??= fold()
    },
    pace: 1_000_000,
  })
  await folding
  const { read } = await openTestDatabase(t, { file: copy })
  t.equal(await readMessage(read, 'b'), largeMessage('b').toString())
})
