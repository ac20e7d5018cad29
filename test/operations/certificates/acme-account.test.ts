/** One account is made, whatever fails on the way to its file. */
import t from 'tap'
import { AccountKeeper } from '../../../src/operations/certificates/acme-account.js'
import type { StoredAccount } from '../../../src/operations/certificates/certificate-files.js'

t.test('a disk that takes no account does not make the server have more of them', async (t) => {
  const keys: string[] = []
  let isFull = true
  let stored: StoredAccount | null = null
  const keeper = new AccountKeeper({
    directory: {
      createAccount: async (key) => {
        keys.push(key)
        return 'https://ca.test/account/1'
      },
    },
    directoryUrl: new URL('https://ca.test/directory'),
    email: null,
    files: {
      readAccount: async () => stored,
      storeAccount: async (_directory, account) => {
        if (isFull) throw new Error('no space left on device')
        stored = account
      },
    },
    clock: Date.now,
  })
  await t.rejects(keeper.use(), /no space/)
  await t.rejects(keeper.use(), /no space/)
  isFull = false
  const account = await keeper.use()
  t.same(stored, account)
  t.equal(new Set(keys).size, 1, 'the same key')
  await keeper.use()
  t.equal(keys.length, 3)
})
