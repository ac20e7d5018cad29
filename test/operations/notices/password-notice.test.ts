/** The mail with a link for a new password: it is marked, and an address without an account costs a commit too. */
import t from 'tap'
import { parseAddress, parseDomainName } from '../../../src/base/mail/address.js'
import type { Write } from '../../../src/base/storage/db/write.js'
import { createPasswordMailer } from '../../../src/operations/notices/password-notice.js'
import { givesAccess } from '../../../src/records/messages/service-email.js'
import { insertUser } from '../../../src/workspaces/accounts/people/users.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

t.test('both kinds of address write, and only one sends', async (t) => {
  const { database } = await temporaryDatabase(t)
  const ann = parseAddress('ann@b.test')
  const user = { id: 'ann', email: ann, full_name: '', password_hash: null, created_at: 1 }
  await database.commit([insertUser(user)])
  const commits: (readonly Write[])[] = []
  const offered: boolean[] = []
  const send = createPasswordMailer({
    ...{ read: database.read, publicUrl: 'https://mx.test', hostname: parseDomainName('mx.test') },
    mailFrom: parseAddress('posthorn@mx.test'),
    commit: async (writes) => {
      commits.push(writes)
      await database.commit(writes)
    },
    offer: ({ email }) => offered.push(givesAccess(email)),
  })
  await send(parseAddress('nobody@b.test'), 1)
  t.same([commits.length, offered], [1, []])
  await send(ann, 1)
  t.same([commits.length, offered], [2, [true]], 'its link gives access')
  t.equal((await database.read('select 1 as one from password_links', [])).length, 1)
})
