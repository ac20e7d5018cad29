/** All daemons of a database use one account of a server. */
import t from 'tap'
import { AccountRows } from '../../../src/operations/certificates/account-rows.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const directory = new URL('https://acme.test/directory')
const accountOf = (number: number) => ({ url: `https://acme.test/account/${number}`, key: `key ${number}` })

t.test('the account that was stored first stays', async (t) => {
  const { database, openAgain } = await temporaryDatabase(t)
  const [one, two] = [new AccountRows(database), new AccountRows(await openAgain())]
  t.equal(await one.readAccount(directory), null)
  const stored = await Promise.all([
    one.storeAccount(directory, accountOf(1), null),
    two.storeAccount(directory, accountOf(2), null),
  ])
  t.same(stored[0], stored[1], 'both daemons use the same')
  t.same(await one.readAccount(directory), stored[0])
  t.equal(await one.readAccount(new URL('https://else.test/')), null, 'an account belongs to one server')
})

t.test('an account is replaced once', async (t) => {
  const { database, openAgain } = await temporaryDatabase(t)
  const [one, two] = [new AccountRows(database), new AccountRows(await openAgain())]
  await one.storeAccount(directory, accountOf(1), null)
  t.same(await one.storeAccount(directory, accountOf(2), accountOf(1)), accountOf(2))
  t.same(await two.storeAccount(directory, accountOf(3), accountOf(1)), accountOf(2), 'it was replaced meanwhile')
  t.same(await one.readAccount(directory), accountOf(2))
})
