/** Messages in spool files through the writer thread: stored, read, and what a batch that fails leaves. */
// Of SQLite alone: bytes of messages are in files.
import { appendFileSync, rmSync } from 'node:fs'
import t from 'tap'
import { MessageBytes } from '../../../../src/base/storage/db/message-bytes.js'
import { spoolFolder } from '../../../../src/base/storage/db/spool-files.js'
import { verifyData } from '../../../../src/base/storage/maintenance/verify.js'
import { openDatabase } from '../../../../src/base/storage/open.js'
import { copyInboundRaw, sizeOfMessage } from '../../../../src/records/messages/email/raw-message.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { rowOf } from '../../../helpers/database/rows.js'
import {
  holesOf,
  LARGE_BYTES,
  largeMessage,
  placesOf,
  readMessage,
  spoolFilesOf,
  storeLarge,
  storeMessage,
} from '../../../helpers/database/spooled.js'

t.test('large messages are in the spool, small ones in the database, and all are read alike', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  const { read, commit } = database
  const lent = MessageBytes.lent(largeMessage('lent'))
  await commit([
    ...(await storeMessage(read, 'lent', lent)),
    ...(await storeMessage(read, 'moved', MessageBytes.moved([Buffer.from('begins '), largeMessage('moved')]))),
    ...(await storeMessage(read, 'small', Buffer.from('small'))),
  ])
  t.same(await placesOf(read), [
    { id: 'lent', file: 1, at: 0, bytes: LARGE_BYTES, inline: 0 },
    { id: 'moved', file: 1, at: LARGE_BYTES, bytes: LARGE_BYTES + 7, inline: 0 },
    { id: 'small', file: null, at: null, bytes: null, inline: 5 },
  ])
  t.equal(await readMessage(read, 'lent'), largeMessage('lent').toString())
  t.equal(await readMessage(read, 'moved'), `begins ${largeMessage('moved')}`)
  t.equal(await readMessage(read, 'small'), 'small')
  t.equal(await sizeOfMessage(read, { workspaceId: 'ws', emailId: 'moved' }), LARGE_BYTES + 7)
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
  t.same(await read('select spool_file, spool_bytes from inbound_raw', []), [
    { spool_file: 1, spool_bytes: LARGE_BYTES },
  ])
  const place = { email_id: 'out', workspace_id: 'ws', created_at: 1, inboundId: 'in', inboundWorkspaceId: 'ws' }
  await commit([copyInboundRaw({ ...place, fields: 'X: y\r\n', start: 9 })])
  t.equal(await readMessage(read, 'out'), `X: y\r\n${raw.subarray(8)}`)
})

t.test('a statement that needs lost bytes fails its own request alone', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  const { read, commit } = database
  const sql = 'insert into "inbound_raw" ("inbound_id", "workspace_id", "received_at", "raw") values (?, ?, ?, ?)'
  await commit([{ sql, parameters: ['in', 'ws', 1, largeMessage('inbound')] }])
  rmSync(spoolFolder(file), { recursive: true })
  const place = { email_id: 'out', workspace_id: 'ws', created_at: 1, inboundId: 'in', inboundWorkspaceId: 'ws' }
  const outcomes = await Promise.allSettled([
    commit([copyInboundRaw({ ...place, fields: '', start: 1 })]),
    commit(await storeMessage(read, 'small', Buffer.from('small'))),
  ])
  t.match(outcomes, [{ status: 'rejected', reason: { name: 'LostBytes' } }, { status: 'fulfilled' }])
  t.equal(await readMessage(read, 'small'), 'small')
})

t.test('without the option all bytes are in the database', async (t) => {
  const { database, file } = await temporaryDatabase(t)
  await storeLarge(database, 'a')
  t.same(await placesOf(database.read), [{ id: 'a', file: null, at: null, bytes: null, inline: LARGE_BYTES }])
  t.same(spoolFilesOf(file), [])
})

t.test('a batch whose transaction fails leaves nothing in the spool', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true, maxPages: 500 })
  await storeLarge(database, 'first')
  const { read, commit } = database
  const filler = await rowOf(read)('recipient_copies', { recipient_id: 'r', bytes: Buffer.alloc(4_000_000) })
  await t.rejects(commit([...(await storeMessage(read, 'second')), filler]), { code: 'SQLITE_FULL' })
  t.same(
    spoolFilesOf(file).map(({ bytes }) => bytes.toString()),
    [largeMessage('first').toString()],
  )
  await storeLarge(database, 'third')
  t.equal(await readMessage(read, 'third'), largeMessage('third').toString())
})

t.test('a request that its first condition refuses writes no byte', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  const { read, commit } = database
  const impossible = { sql: 'update emails set status = status where id = ?', parameters: ['none'], rows: 1 }
  const outcomes = await Promise.allSettled([
    commit(await storeMessage(read, 'first')),
    commit([impossible, ...(await storeMessage(read, 'refused'))]),
    commit(await storeMessage(read, 'last')),
  ])
  t.match(outcomes, [{ status: 'fulfilled' }, { reason: { name: 'WriteConflict' } }, { status: 'fulfilled' }])
  t.match(await placesOf(read), [
    { id: 'first', at: 0 },
    { id: 'last', at: LARGE_BYTES },
  ])
  t.same(
    spoolFilesOf(file).map(({ bytes }) => bytes.length),
    [2 * LARGE_BYTES],
  )
  t.same(await holesOf(read), [])
})

t.test('what a request has written before it failed is cut off, and the others keep theirs', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  const { read, commit } = database
  const impossible = { sql: 'update emails set status = status where id = ?', parameters: ['none'], rows: 1 }
  const outcomes = await Promise.allSettled([
    commit(await storeMessage(read, 'first')),
    commit([...(await storeMessage(read, 'failed')), impossible]),
    commit(await storeMessage(read, 'last', MessageBytes.moved([largeMessage('last')]))),
    commit([...(await storeMessage(read, 'failed too')), impossible]),
  ])
  t.same(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'rejected'],
  )
  t.same(
    [await readMessage(read, 'first'), await readMessage(read, 'last')],
    [`${largeMessage('first')}`, `${largeMessage('last')}`],
  )
  t.same(
    spoolFilesOf(file).map(({ bytes }) => bytes.length),
    [2 * LARGE_BYTES],
  )
  t.same(
    verifyData(file).filter(({ check }) => check.startsWith('spool')),
    [],
  )
})

t.test('a spool that cannot be written refuses the batch, and the database goes on', async (t) => {
  const { file } = await temporaryDatabase(t)
  appendFileSync(spoolFolder(file), 'a file in place of the folder')
  const database = await openDatabase({ file, spool: true })
  t.teardown(() => database.close())
  await t.rejects(storeLarge(database, 'a'), { name: 'StorageFault', code: 'SQLITE_CANTOPEN' })
  await database.commit(await storeMessage(database.read, 'small', Buffer.from('small')))
  rmSync(spoolFolder(file))
  await storeLarge(database, 'a')
  t.match(await placesOf(database.read), [
    { id: 'a', file: 1 },
    { id: 'small', file: null },
  ])
})
