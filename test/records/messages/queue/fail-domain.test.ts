/** What becomes of mail whose sending domain is removed. */
import t from 'tap'
import { parseDomainName } from '../../../../src/base/mail/address.js'
import { allHolds } from '../../../../src/base/storage/tables/hold.js'
import { failMailOfDomain } from '../../../../src/records/messages/queue/fail-domain.js'
import { bulkEmail } from '../../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'

t.test('it fails whatever holds it', async (t) => {
  const { database } = await temporaryDatabase(t)
  for (const held of allHolds) {
    const { writes } = bulkEmail({ workspaceId: 'ws_1', to: `x${held}@b.test`, at: 1000 })
    const hold = { sql: 'update queue set held = ? where recipient = ?', parameters: [held, `x${held}@b.test`] }
    await database.commit([...writes, hold])
  }
  const gone = { workspaceId: 'ws_1', domain: parseDomainName('a.test'), at: 2000 }
  t.equal(await failMailOfDomain(database, gone), allHolds.length)
  t.same(await database.read('select held from queue', []), [])
})
