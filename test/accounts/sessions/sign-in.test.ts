/** A sign-in takes the same work and gives the same answer, whatever is wrong with it. */
import t from 'tap'
import type { PasswordHasher } from '../../../src/accounts/people/passwords.js'
import { insertUser } from '../../../src/accounts/people/users.js'
import { createSignInLimits, signIn } from '../../../src/accounts/sessions/sign-in.js'
import { parseAddress } from '../../../src/mail/address.js'
import { Refusal } from '../../../src/mail/refusal.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const NOW = Date.UTC(2026, 0, 1)
const client = { remoteAddress: '192.0.2.1', userAgent: 'TestBrowser/1.0', browserToken: null }
const prepareNotice = (): null => null

t.test('an unknown address, an account without a password and a wrong password cost one hash each', async (t) => {
  const { database } = await temporaryDatabase(t)
  const user = (id: string, hash: string | null): ReturnType<typeof insertUser> =>
    insertUser({ id, email: parseAddress(`${id}@b.test`), full_name: '', password_hash: hash, created_at: NOW })
  await database.commit([user('none', null), user('ann', 'stored')])
  const checked: (string | null)[] = []
  const passwords: PasswordHasher = {
    hash: () => Promise.reject(new Error('not needed')),
    matches: async (_password, stored) => {
      checked.push(stored)
      return false
    },
  }
  const deps = { ...database, passwords, prepareNotice, attempts: createSignInLimits() }
  const refusals: string[] = []
  for (const name of ['unknown', 'none', 'ann']) {
    const attempt = {
      email: parseAddress(`${name}@b.test`),
      password: 'a wrong password',
      code: undefined,
      client,
      now: NOW,
    }
    const error: unknown = await signIn(deps, attempt).catch((fault: unknown) => fault)
    refusals.push(
      error instanceof Refusal ? `${error.kind}: ${error.message} ${JSON.stringify(error.details)}` : 'none',
    )
  }
  t.same(checked, [null, null, 'stored'])
  t.same(refusals, Array(3).fill('wrong-password: the mail address or the password is wrong {}'))
})

t.test('attempts are limited by client address over all accounts', async (t) => {
  const { database } = await temporaryDatabase(t)
  const passwords: PasswordHasher = { hash: () => Promise.reject(new Error('not needed')), matches: async () => false }
  const deps = { ...database, passwords, prepareNotice, attempts: createSignInLimits() }
  const kinds: string[] = []
  for (let number = 0; number < 31; number += 1) {
    const email = parseAddress(`user${number}@b.test`)
    const error: unknown = await signIn(deps, { email, password: 'x', code: undefined, client, now: NOW }).catch(
      (fault: unknown) => fault,
    )
    kinds.push(error instanceof Refusal ? error.kind : 'none')
  }
  t.same(kinds, [...Array(30).fill('wrong-password'), 'rate-limited'])
})
