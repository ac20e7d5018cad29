/** Messages in spool files through the writer thread: stored, read, deleted, swept. */
import { appendFileSync, rmSync, truncateSync } from 'node:fs'
import t from 'tap'
import { copyInboundRaw, sizeOfMessage } from '../../../src/messages/raw-message.js'
import { purgeSpool } from '../../../src/storage/maintenance/purge-log.js'
import { verifyData } from '../../../src/storage/maintenance/verify.js'
import { openDatabase } from '../../../src/storage/open.js'
import { foldSpool } from '../../../src/storage/spool/fold.js'
import { holdSpool } from '../../../src/storage/spool/hold-spool.js'
import { spoolFile, spoolFolder } from '../../../src/storage/spool/spool-files.js'
import { LentBytes, MovedBytes } from '../../../src/storage/writer/write.js'
import { openTestDatabase, temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'
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
} from '../../helpers/database/spooled.js'

const { signal } = new AbortController()

t.test('large messages are in the spool, small ones in the database, and all are read alike', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  const { read, commit } = database
  const lent = new LentBytes(largeMessage('lent'))
  await commit([
    ...storeMessage(read, 'lent', lent),
    ...storeMessage(read, 'moved', new MovedBytes([Buffer.from('begins '), largeMessage('moved')])),
    ...storeMessage(read, 'small', Buffer.from('small')),
  ])
  t.same(placesOf(read), [
    { id: 'lent', file: 1, at: 0, bytes: LARGE_BYTES, inline: 0 },
    { id: 'moved', file: 1, at: LARGE_BYTES, bytes: LARGE_BYTES + 7, inline: 0 },
    { id: 'small', file: null, at: null, bytes: null, inline: 5 },
  ])
  t.equal(readMessage(read, 'lent'), largeMessage('lent').toString())
  t.equal(readMessage(read, 'moved'), `begins ${largeMessage('moved')}`)
  t.equal(readMessage(read, 'small'), 'small')
  t.equal(sizeOfMessage(read, { workspaceId: 'ws', emailId: 'moved' }), LARGE_BYTES + 7)
  t.notOk(lent.isGone, 'what was lent comes back')
  t.same(
    verifyData(file).filter(({ check }) => check.startsWith('spool')),
    [],
  )
})

t.test('the bytes of inbound mail are copied from the spool', async (t) => {
  const { database } = await temporaryDatabase(t, { spool: true })
  const { read, commit } = database
  const raw = largeMessage('inbound')
  const sql = 'insert into "inbound_raw" ("inbound_id", "workspace_id", "received_at", "raw") values (?, ?, ?, ?)'
  await commit([{ sql, parameters: ['in', 'ws', 1, raw] }])
  t.same(read('select spool_file, spool_bytes from inbound_raw', []), [{ spool_file: 1, spool_bytes: LARGE_BYTES }])
  const place = { email_id: 'out', workspace_id: 'ws', created_at: 1, inboundId: 'in', inboundWorkspaceId: 'ws' }
  await commit([copyInboundRaw({ ...place, fields: 'X: y\r\n', start: 9 })])
  t.equal(readMessage(read, 'out'), `X: y\r\n${raw.subarray(8)}`)
})

t.test('without the option all bytes are in the database', async (t) => {
  const { database, file } = await temporaryDatabase(t)
  await storeLarge(database, 'a')
  t.same(placesOf(database.read), [{ id: 'a', file: null, at: null, bytes: null, inline: LARGE_BYTES }])
  t.same(spoolFilesOf(file), [])
})

t.test('what a failed request has spooled is overwritten, whether its rows had to be undone or not', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  const { read, commit } = database
  await storeLarge(database, 'first')
  const missed = { sql: 'delete from emails where id = ?', parameters: ['nothing'], rows: 1 }
  const outcomes = await Promise.allSettled([
    commit([missed, ...storeMessage(read, 'early')]),
    commit(storeMessage(read, 'second')),
    commit([...storeMessage(read, 'late'), missed]),
  ])
  t.same(
    outcomes.map(({ status }) => status),
    ['rejected', 'fulfilled', 'rejected'],
  )
  const [spooled] = spoolFilesOf(file)
  t.equal(spooled?.bytes.length, 4 * LARGE_BYTES, 'although the transaction ran twice, each was written once')
  t.same(holesOf(read), [
    { file: 1, at: LARGE_BYTES, bytes: LARGE_BYTES },
    { file: 1, at: 3 * LARGE_BYTES, bytes: LARGE_BYTES },
  ])
  t.ok(await purgeSpool(database, signal))
  const content = spoolFilesOf(file)[0]?.bytes.toString() ?? ''
  t.notMatch(content, /early|late/)
  t.equal(readMessage(read, 'second'), largeMessage('second').toString())
  t.same(holesOf(read), [])
})

t.test('a batch whose transaction fails leaves nothing in the spool', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true, maxPages: 500 })
  await storeLarge(database, 'first')
  const { read, commit } = database
  const filler = rowOf(read)('recipient_copies', { recipient_id: 'r', bytes: Buffer.alloc(4_000_000) })
  await t.rejects(commit([...storeMessage(read, 'second'), filler]), { code: 'SQLITE_FULL' })
  t.same(
    spoolFilesOf(file).map(({ bytes }) => bytes.toString()),
    [largeMessage('first').toString()],
  )
  await storeLarge(database, 'third')
  t.equal(readMessage(read, 'third'), largeMessage('third').toString())
})

t.test('deleted bytes are overwritten, and a file without rows is removed unless it is written to', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  const { read, commit } = database
  await storeLarge(database, 'a', 'b')
  await commit([removeMessage('a')])
  t.same(holesOf(read), [{ file: 1, at: 0, bytes: LARGE_BYTES }])
  t.ok(await purgeSpool(database, signal))
  t.same(holesOf(read), [])
  t.ok(spoolFilesOf(file)[0]?.bytes.equals(Buffer.concat([Buffer.alloc(LARGE_BYTES), largeMessage('b')])))
  await commit([{ sql: 'delete from raw_messages', parameters: [] }])
  t.ok(await purgeSpool(database, signal))
  t.ok(spoolFilesOf(file)[0]?.bytes.equals(Buffer.alloc(2 * LARGE_BYTES)), 'the current file stays')
  await database.close()
  const again = await openTestDatabase(t, { file, spool: true })
  t.ok(await purgeSpool(again, signal))
  t.same(spoolFilesOf(file), [])
})

t.test('one hole larger than a step takes several', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  const { read, commit } = database
  await commit([...storeMessage(read, 'a', largeMessage('a', 9_000_000)), ...storeMessage(read, 'b')])
  await commit([removeMessage('a')])
  await database.sweepSpool()
  t.same(holesOf(read), [{ file: 1, at: 4_194_304, bytes: 9_000_000 - 4_194_304 }])
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
  t.match(placesOf(again.read), [{ file: 1 }, { file: 3, at: 0 }], 'no file of before is appended to')
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
  await t.rejects(database.sweepSpool(), { name: 'StorageFault', code: 'SQLITE_BUSY' })
  release()
  await t.rejects(database.sweepSpool(), { code: 'SQLITE_BUSY' }, 'by another one too')
  t.match(spoolFilesOf(file)[0]?.bytes.toString(), /^a a a /)
  other()
  t.ok(await purgeSpool(database, signal))
  t.match(spoolFilesOf(file)[0]?.bytes.toString(), /^\0+$/)
})

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

t.test('bytes that are lost are a fault where they are read, and verify-data names them', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  await storeLarge(database, 'a', 'b', 'c')
  const first = spoolFile(spoolFolder(file), 1)
  truncateSync(first, 2 * LARGE_BYTES - 1)
  t.equal(readMessage(database.read, 'a'), largeMessage('a').toString())
  const tooShort = {
    name: 'StorageFault',
    code: 'SQLITE_IOERR_READ',
    message: /0000000001\.spool: the file is too short/,
  }
  t.throws(() => readMessage(database.read, 'b'), tooShort)
  t.equal(readMessage(database.read, 'gone'), undefined, 'a message that is not stored is none')
  const spoolProblems = (): unknown[] => verifyData(file).filter(({ check }) => check.startsWith('spool'))
  t.match(spoolProblems(), [{ check: 'spool-file', message: '2 rows whose bytes are not in their spool file: b, c' }])

  const lost: unknown[] = []
  await foldSpool(database, { onLost: (table, { code }, { at }) => lost.push([table, code, at]) })
  t.same(lost, [
    ['raw_messages', 'SQLITE_IOERR_READ', LARGE_BYTES],
    ['raw_messages', 'SQLITE_IOERR_READ', 2 * LARGE_BYTES],
  ])
  t.match(placesOf(database.read), [{ inline: LARGE_BYTES }, { inline: 0 }, { inline: 0 }], 'the others are folded')
  rmSync(first)
  t.throws(() => readMessage(database.read, 'b'), { code: 'SQLITE_IOERR_READ', message: /ENOENT/ })
  await t.rejects(foldSpool(database), { code: 'SQLITE_IOERR_READ' })
})

t.test('verify-data names rows that share bytes, with each other or with what is deleted', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  await storeLarge(database, 'a', 'b', 'c')
  await database.commit([
    { sql: `update raw_messages set spool_at = spool_at - 1 where email_id = 'b'`, parameters: [] },
    { sql: 'insert into spool_holes values (1, ?, 5)', parameters: [3 * LARGE_BYTES - 5] },
  ])
  const found = verifyData(file).filter(({ check }) => check.startsWith('spool'))
  t.match(found, [{ check: 'spool-overlap', message: /^2 rows or deleted ranges .*: b, deleted$/ }])
})

t.test('a spool that cannot be written refuses the batch, and the database goes on', async (t) => {
  const { file } = await temporaryDatabase(t)
  appendFileSync(spoolFolder(file), 'a file in place of the folder')
  const database = await openDatabase({ file, spool: true })
  t.teardown(() => database.close())
  await t.rejects(storeLarge(database, 'a'), { name: 'StorageFault', code: 'SQLITE_CANTOPEN' })
  await database.commit(storeMessage(database.read, 'small', Buffer.from('small')))
  rmSync(spoolFolder(file))
  await storeLarge(database, 'a')
  t.match(placesOf(database.read), [
    { id: 'a', file: 1 },
    { id: 'small', file: null },
  ])
})
