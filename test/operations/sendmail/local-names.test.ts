/** Where the aliases of the machine come from. */
import { join } from 'node:path'
import t from 'tap'
import { readAliases } from '../../../src/operations/sendmail/local-names.js'
import { temporaryFolder } from '../../helpers/database/database.js'

t.test('aliases that are there and cannot be read are an error', async (t) => {
  const folder = temporaryFolder(t)
  t.equal(readAliases(join(folder, 'none')).size, 0)
  t.throws(() => readAliases(folder), { name: 'SendmailFault', message: /EISDIR/ })
})
