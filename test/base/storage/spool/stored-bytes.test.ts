/** Large messages are read whole, wherever their bytes are, and a row that is deleted meanwhile is none. */
import { createHash, randomBytes } from 'node:crypto'
import t from 'tap'
import type { Read } from '../../../../src/base/storage/db/prepared.js'
import { readLargeRaw, removeRaw } from '../../../../src/records/messages/email/raw-message.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { storeMessage } from '../../../helpers/database/spooled.js'

const sumOf = (bytes: Uint8Array | undefined): string =>
  createHash('sha256')
    .update(bytes ?? '')
    .digest('hex')

t.test('messages of any size are read whole', async (t) => {
  const { database } = await temporaryDatabase(t, { spool: true })
  const { read, commit } = database
  for (const size of [1, 131_072, 131_073, 262_144, 262_145, 8 * 262_144, 8 * 262_144 + 1, 5_000_000]) {
    const bytes = randomBytes(size)
    const sum = sumOf(bytes)
    await commit(await storeMessage(read, `of ${size}`, bytes))
    const found = await readLargeRaw(read, { workspaceId: 'ws', emailId: `of ${size}` })
    t.equal(found?.length, size)
    t.equal(sumOf(found), sum)
  }
  t.equal(await readLargeRaw(read, { workspaceId: 'ws', emailId: 'none' }), undefined)
  t.equal(await readLargeRaw(read, { workspaceId: 'other', emailId: 'of 1' }), undefined)
})

t.test('a message that is deleted while it is read is none', async (t) => {
  const { database } = await temporaryDatabase(t, { spool: true })
  const { read, commit } = database
  await commit(await storeMessage(read, 'large', randomBytes(5_000_000)))
  const deleteFirst = async (): Promise<void> => {
    await commit([removeRaw({ emailId: 'large' })])
  }
  const { elsewhere, together } = read
  const late: Read = Object.assign(<Row>(...asked: Parameters<Read>) => read<Row>(...asked), {
    elsewhere: async (...asked: Parameters<NonNullable<typeof elsewhere>>) => {
      await deleteFirst()
      return elsewhere?.(...asked) ?? []
    },
    together: async (...asked: Parameters<NonNullable<typeof together>>) => {
      await deleteFirst()
      return together?.(...asked) ?? []
    },
  })
  t.equal(await readLargeRaw(late, { workspaceId: 'ws', emailId: 'large' }), undefined)
})
