/** Deleted bytes are overwritten, files without rows removed, and not while another process reads them. */
// Of SQLite alone: bytes of messages are in files.
import { appendFileSync } from 'node:fs'
import t from 'tap'
import { spoolFile, spoolFolder } from '../../../../src/base/storage/db/spool-files.js'
import { purgeSpool } from '../../../../src/base/storage/maintenance/purge-log.js'
import { holdSpool } from '../../../../src/base/storage/spool/hold-spool.js'
import { openTestDatabase, temporaryDatabase } from '../../../helpers/database/database.js'
import {
  holesOf,
  LARGE_BYTES,
  largeMessage,
  placesOf,
  removeMessage,
  spoolFilesOf,
  storeLarge,
  storeMessage,
  sweepHoles,
} from '../../../helpers/database/spooled.js'

const { signal } = new AbortController()

t.test('deleted bytes are overwritten, and a file without rows is removed unless it is written to', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  const { read, commit } = database
  await storeLarge(database, 'a', 'b')
  await commit([removeMessage('a')])
  t.same(await holesOf(read), [{ file: 1, at: 0, bytes: LARGE_BYTES }])
  t.ok(await purgeSpool(database, signal))
  t.same(await holesOf(read), [])
  t.ok(spoolFilesOf(file)[0]?.bytes.equals(Buffer.concat([Buffer.alloc(LARGE_BYTES), largeMessage('b')])))
  await commit([{ sql: 'delete from raw_messages', parameters: [] }])
  t.ok(await purgeSpool(database, signal))
  t.ok(spoolFilesOf(file)[0]?.bytes.equals(Buffer.alloc(2 * LARGE_BYTES)), 'the current file stays')
  await database.close()
  const again = await openTestDatabase(t, { file, spool: true })
  t.ok(await purgeSpool(again, signal))
  t.same(spoolFilesOf(file), [])
})

t.test('a hole that another sweep has filled is passed over: other bytes may lie there', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  await storeLarge(database, 'a', 'b')
  await database.files?.sweepSpool([{ file: 1, at: 0, bytes: LARGE_BYTES }])
  t.ok(spoolFilesOf(file)[0]?.bytes.equals(Buffer.concat([largeMessage('a'), largeMessage('b')])))
})

t.test('one hole larger than a step takes several', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  const { read, commit } = database
  await commit([...(await storeMessage(read, 'a', largeMessage('a', 9_000_000))), ...(await storeMessage(read, 'b'))])
  await commit([removeMessage('a')])
  await sweepHoles(database)
  t.same(await holesOf(read), [{ file: 1, at: 4_194_304, bytes: 9_000_000 - 4_194_304 }])
  t.ok(await purgeSpool(database, signal))
  t.ok(spoolFilesOf(file)[0]?.bytes.equals(Buffer.concat([Buffer.alloc(9_000_000), largeMessage('b')])))
})

t.test('what a crash has left between the write and the commit is removed', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  await storeLarge(database, 'a')
  await database.close()
  appendFileSync(spoolFile(spoolFolder(file), 1), 'not committed')
  appendFileSync(spoolFile(spoolFolder(file), 2), 'nor this')
  const again = await openTestDatabase(t, { file, spool: true })
  await storeLarge(again, 'b')
  t.match(await placesOf(again.read), [{ file: 1 }, { file: 3, at: 0 }], 'no file of before is appended to')
  t.ok(await purgeSpool(again, signal))
  t.same(
    spoolFilesOf(file).map(({ number, bytes }) => [number, bytes.length]),
    [
      [1, LARGE_BYTES],
      [3, LARGE_BYTES],
    ],
  )
})

t.test('a sweep waits while the files are held', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  await storeLarge(database, 'a')
  await database.commit([removeMessage('a')])
  const release = holdSpool(file)
  const other = holdSpool(file)
  await t.rejects(sweepHoles(database), { name: 'StorageFault', code: 'SQLITE_BUSY' })
  release()
  await t.rejects(sweepHoles(database), { code: 'SQLITE_BUSY' }, 'by another one too')
  t.match(spoolFilesOf(file)[0]?.bytes.toString(), /^a a a /)
  other()
  t.ok(await purgeSpool(database, signal))
  t.match(spoolFilesOf(file)[0]?.bytes.toString(), /^\0+$/)
})
