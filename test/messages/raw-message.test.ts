/** Bytes of messages that are read without blocking the thread. */
import t from 'tap'
import { readLargeRaw } from '../../src/messages/raw-message.js'
import { createSpoolReader, type ReadSpooled } from '../../src/storage/spool/spool-files.js'
import { temporaryDatabase } from '../helpers/database/database.js'
import { largeMessage, removeMessage, storeLarge, storeMessage } from '../helpers/database/spooled.js'

const key = { workspaceId: 'ws', emailId: 'one' }

t.test('a large message is read aside, from its place in a spool file', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  await storeLarge(database, 'zero', 'one')
  let reads = 0
  const readSpooled: ReadSpooled = (place) => {
    reads += 1
    return createSpoolReader(file)(place)
  }
  t.ok((await readLargeRaw(database.read, readSpooled, key))?.equals(largeMessage('one')))
  t.equal(reads, 1)
  t.ok((await readLargeRaw(database.read, () => Promise.reject(new Error('EMFILE')), key))?.equals(largeMessage('one')))
})

t.test('a message in its row, and one that does not exist', async (t) => {
  const { database } = await temporaryDatabase(t, { spool: true })
  const unused: ReadSpooled = () => Promise.reject(new Error('it has no place'))
  await database.commit(storeMessage(database.read, 'one', Buffer.from('short')))
  t.equal((await readLargeRaw(database.read, unused, key))?.toString(), 'short')
  t.equal(await readLargeRaw(database.read, unused, { ...key, emailId: 'none' }), undefined)
  t.equal(await readLargeRaw(database.read, unused, { ...key, workspaceId: 'other' }), undefined)
})

t.test('what was read while its message was deleted is not taken: it may be overwritten', async (t) => {
  const { database } = await temporaryDatabase(t, { spool: true })
  await storeLarge(database, 'one')
  const removing: ReadSpooled = async ({ bytes }) => {
    await database.commit([removeMessage('one')])
    return Buffer.alloc(bytes)
  }
  t.equal(await readLargeRaw(database.read, removing, key), undefined)
})

t.test('a place that the file lacks', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  await storeLarge(database, 'one')
  await t.rejects(createSpoolReader(file)({ file: 1, at: 0, bytes: 9e15 }), { message: 'the file is too short' })
  await t.rejects(createSpoolReader(file)({ file: 77, at: 0, bytes: 1 }), { code: 'ENOENT' })
})
