/** Bytes that are not where the rows say, or are not those that were written. */
// Of SQLite alone: bytes of messages are in files.
import { rmSync, truncateSync } from 'node:fs'
import t from 'tap'
import { spoolFile, spoolFolder } from '../../../../src/base/storage/db/spool-files.js'
import { createBackup } from '../../../../src/base/storage/maintenance/backup.js'
import { verifyData } from '../../../../src/base/storage/maintenance/verify.js'
import { foldSpool } from '../../../../src/base/storage/spool/fold.js'
import { HEAD_BYTES, readHead, readLargeRaw } from '../../../../src/records/messages/email/raw-message.js'
import { openTestDatabase, temporaryDatabase } from '../../../helpers/database/database.js'
import {
  changeByte,
  LARGE_BYTES,
  largeMessage,
  placesOf,
  readMessage,
  storeLarge,
  storeMessage,
} from '../../../helpers/database/spooled.js'

const spoolProblems = (file: string): unknown[] => verifyData(file).filter(({ check }) => check.startsWith('spool'))

t.test('bytes that are lost are an error where they are read, and verify-data names them', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  await storeLarge(database, 'a', 'b', 'c')
  const first = spoolFile(spoolFolder(file), 1)
  truncateSync(first, 2 * LARGE_BYTES - 1)
  t.equal(await readMessage(database.read, 'a'), largeMessage('a').toString())
  const tooShort = {
    name: 'LostBytes',
    message: /200000 bytes at 200000 of .*0000000001\.spool are lost: it is too short/,
  }
  await t.rejects(() => readMessage(database.read, 'b'), tooShort)
  t.equal(await readMessage(database.read, 'gone'), undefined, 'a message that is not stored is none')
  t.match(spoolProblems(file), [
    { check: 'spool-file', message: '2 rows whose bytes are not in their spool file: b, c' },
  ])

  const lost: unknown[] = []
  await foldSpool(database, { onLost: (table, { name }, { at }) => lost.push([table, name, at]) })
  t.same(lost, [
    ['raw_messages', 'LostBytes', LARGE_BYTES],
    ['raw_messages', 'LostBytes', 2 * LARGE_BYTES],
  ])
  t.match(
    await placesOf(database.read),
    [{ inline: LARGE_BYTES }, { inline: 0 }, { inline: 0 }],
    'the others are folded',
  )
  rmSync(first)
  await t.rejects(() => readMessage(database.read, 'b'), { name: 'LostBytes', message: /there is no such file/ })
  await t.rejects(foldSpool(database), { name: 'LostBytes' })
})

t.test('verify-data names rows that share bytes, with each other or with what is deleted', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  await storeLarge(database, 'a', 'b', 'c')
  await database.commit([
    { sql: `update raw_messages set spool_at = spool_at - 1 where email_id = 'b'`, parameters: [] },
    { sql: 'insert into spool_holes values (1, ?, 5)', parameters: [3 * LARGE_BYTES - 5] },
  ])
  t.match(spoolProblems(file), [{ check: 'spool-overlap', message: /^2 rows or deleted ranges .*: b, deleted$/ }])
})

t.test('one changed byte is an error where the message is read, and verify-data names the message', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  const { read, commit } = database
  // Longer than one step of the verification, and changed in its second one.
  const long = largeMessage('long', 1_500_000)
  await commit([
    ...(await storeMessage(read, 'a')),
    ...(await storeMessage(read, 'long', long)),
    ...(await storeMessage(read, 'z')),
  ])
  t.same(spoolProblems(file), [])
  changeByte(file, LARGE_BYTES + 1_400_000)
  t.match(spoolProblems(file), [
    { check: 'spool-bytes', message: /^1 messages .*: long \(1500000 bytes at 200000 of .*\/0000000001\.spool\)$/ },
  ])
  const changed = { name: 'LostBytes', message: /1500000 bytes at 200000 of .* their checksum differs/ }
  await t.rejects(() => readMessage(read, 'long'), changed)
  await t.rejects(readLargeRaw(read, { workspaceId: 'ws', emailId: 'long' }), changed, 'on a thread too')
  for (const id of ['a', 'z']) t.equal(await readMessage(read, id), largeMessage(id).toString())

  await commit([{ sql: 'update raw_messages set spool_crc = null', parameters: [] }])
  t.same(spoolProblems(file), [], 'a message of a version without checksums is not checked')
  t.equal((await readMessage(read, 'long'))?.length, long.length)
})

t.test('the head of a message is checked if it is all of it', async (t) => {
  const { database } = await temporaryDatabase(t, { spool: true })
  const { read, commit } = database
  const short = largeMessage('short', HEAD_BYTES)
  await commit([...(await storeMessage(read, 'short', short)), ...(await storeMessage(read, 'long'))])
  const head = (emailId: string): Promise<Buffer | undefined> => readHead(read, { workspaceId: 'ws', emailId })
  const readBoth = async (): Promise<void> => {
    t.ok((await head('short'))?.equals(short))
    t.ok((await head('long'))?.equals(largeMessage('long').subarray(0, HEAD_BYTES)))
  }
  await readBoth()
  await foldSpool(database)
  await readBoth()
  await commit([{ sql: 'update raw_messages set spool_crc = spool_crc + 1', parameters: [] }])
  await t.rejects(() => head('short'), { name: 'LostBytes' })
  t.equal((await head('long'))?.length, HEAD_BYTES)
})

t.test('a changed message is copied with the others, and recognized in the copy', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  await storeLarge(database, 'a', 'b', 'c')
  changeByte(file, LARGE_BYTES)
  const copy = `${file}.copy`
  await createBackup({ from: file, to: copy })
  const { read } = await openTestDatabase(t, { file: copy })
  for (const id of ['a', 'c']) t.equal(await readMessage(read, id), largeMessage(id).toString())
  const changed = { name: 'LostBytes', message: /200000 bytes of a message in the database .* their checksum differs/ }
  await t.rejects(() => readMessage(read, 'b'), changed)
  t.match(spoolProblems(copy), [
    { check: 'spool-bytes', message: /^1 messages .*: b \(200000 bytes in the database\)$/ },
  ])
})
