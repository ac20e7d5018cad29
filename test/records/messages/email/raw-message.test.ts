/** Bytes of messages that are read without blocking the thread. */
import t from 'tap'
import type { Read, ReadElsewhere } from '../../../../src/base/storage/db/prepared.js'
import { readLargeRaw } from '../../../../src/records/messages/email/raw-message.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { largeMessage, removeMessage, storeLarge, storeMessage } from '../../../helpers/database/spooled.js'
import { skipOnPostgres } from '../../../helpers/database/test-engine.js'

const skip = skipOnPostgres('a thread reads there')

const key = { workspaceId: 'ws', emailId: 'one' }

function withElsewhere(read: Read, elsewhere: ReadElsewhere): Read {
  return Object.assign(read.bind(null) as Read, { elsewhere })
}

t.test('a large message is read on a thread, from a spool file or from its row', { skip }, async (t) => {
  for (const spool of [true, false]) {
    const { database } = await temporaryDatabase(t, { spool })
    await storeLarge(database, 'zero', 'one')
    let reads = 0
    const read = withElsewhere(database.read, (...statement) => {
      reads += 1
      return database.read.elsewhere?.(...statement) ?? Promise.resolve([])
    })
    t.ok((await readLargeRaw(read, key))?.equals(largeMessage('one')))
    t.equal(reads, 1)
    const failing = withElsewhere(database.read, () => Promise.reject(new Error('no thread')))
    t.ok((await readLargeRaw(failing, key))?.equals(largeMessage('one')))
  }
})

t.test('a short message, and one that does not exist, are read here', async (t) => {
  const { database } = await temporaryDatabase(t, { spool: true })
  const read = withElsewhere(database.read, () => Promise.reject(new Error('it is not large')))
  await database.commit(await storeMessage(database.read, 'one', Buffer.from('short')))
  t.equal((await readLargeRaw(read, key))?.toString(), 'short')
  t.equal(await readLargeRaw(read, { ...key, emailId: 'none' }), undefined)
  t.equal(await readLargeRaw(read, { ...key, workspaceId: 'other' }), undefined)
})

t.test('what was read while its message was deleted is not taken: it may be overwritten', { skip }, async (t) => {
  const { database } = await temporaryDatabase(t, { spool: true })
  await storeLarge(database, 'one')
  const read = withElsewhere(database.read, async <Row>() => {
    await database.commit([removeMessage('one')])
    return [{ raw: Buffer.alloc(10) }] as Row[]
  })
  t.equal(await readLargeRaw(read, key), undefined)
})
