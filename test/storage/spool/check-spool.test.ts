/** Bytes that are not where the rows say. */
import { rmSync, truncateSync } from 'node:fs'
import t from 'tap'
import { verifyData } from '../../../src/storage/maintenance/verify.js'
import { foldSpool } from '../../../src/storage/spool/fold.js'
import { spoolFile, spoolFolder } from '../../../src/storage/spool/spool-files.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { LARGE_BYTES, largeMessage, placesOf, readMessage, storeLarge } from '../../helpers/database/spooled.js'

t.test('bytes that are lost are an error where they are read, and verify-data names them', async (t) => {
  const { database, file } = await temporaryDatabase(t, { spool: true })
  await storeLarge(database, 'a', 'b', 'c')
  const first = spoolFile(spoolFolder(file), 1)
  truncateSync(first, 2 * LARGE_BYTES - 1)
  t.equal(readMessage(database.read, 'a'), largeMessage('a').toString())
  const tooShort = {
    name: 'LostBytes',
    message: /200000 bytes at 200000 of .*0000000001\.spool are lost: it is too short/,
  }
  t.throws(() => readMessage(database.read, 'b'), tooShort)
  t.equal(readMessage(database.read, 'gone'), undefined, 'a message that is not stored is none')
  const spoolProblems = (): unknown[] => verifyData(file).filter(({ check }) => check.startsWith('spool'))
  t.match(spoolProblems(), [{ check: 'spool-file', message: '2 rows whose bytes are not in their spool file: b, c' }])

  const lost: unknown[] = []
  await foldSpool(database, { onLost: (table, { name }, { at }) => lost.push([table, name, at]) })
  t.same(lost, [
    ['raw_messages', 'LostBytes', LARGE_BYTES],
    ['raw_messages', 'LostBytes', 2 * LARGE_BYTES],
  ])
  t.match(placesOf(database.read), [{ inline: LARGE_BYTES }, { inline: 0 }, { inline: 0 }], 'the others are folded')
  rmSync(first)
  t.throws(() => readMessage(database.read, 'b'), { name: 'LostBytes', message: /there is no such file/ })
  await t.rejects(foldSpool(database), { name: 'LostBytes' })
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
