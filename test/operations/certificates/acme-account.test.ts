/** One account is made, whatever fails on the way to the database. */
import t from 'tap'
import type { StoredAccount } from '../../../src/operations/certificates/account-rows.js'
import { AccountKeeper } from '../../../src/operations/certificates/acme-account.js'
import { AcmeProblem } from '../../../src/operations/certificates/acme-problem.js'

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
    rows: {
      readAccount: async () => stored,
      storeAccount: async (_directory, account) => {
        if (isFull) throw new Error('no space left on device')
        stored = account
        return account
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

t.test('an account that another daemon has replaced is used, and no further one is made', async (t) => {
  let made = 0
  const first = { url: 'https://ca.test/account/1', key: 'one' }
  const replaced = { url: 'https://ca.test/account/2', key: 'two' }
  let stored = first
  const keeper = new AccountKeeper({
    directory: {
      createAccount: async () => {
        made += 1
        return `https://ca.test/account/${made + 2}`
      },
    },
    directoryUrl: new URL('https://ca.test/directory'),
    email: null,
    rows: {
      readAccount: async () => stored,
      storeAccount: async (_directory, account, old) => {
        t.same(old, replaced)
        stored = account
        return account
      },
    },
    clock: Date.now,
  })
  const problem = new AcmeProblem('unauthorized', 'deactivated', 'account')
  t.same(await keeper.use(), first)
  stored = replaced
  t.equal(await keeper.replace(problem), true)
  t.same([await keeper.use(), made], [replaced, 0])
  t.equal(await keeper.replace(problem), true)
  t.same([(await keeper.use()).url, made], ['https://ca.test/account/3', 1])
  t.equal(await keeper.replace(problem), false, 'once an hour')
})
