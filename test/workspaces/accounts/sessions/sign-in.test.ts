/** A sign-in takes the same work and gives the same answer, whatever is wrong with it. */
import { Secret, TOTP } from 'otpauth'
import t from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import { Refusal } from '../../../../src/base/mail/refusal.js'
import type { Store } from '../../../../src/base/storage/db/database.js'
import type { PasswordHasher } from '../../../../src/workspaces/accounts/people/passwords.js'
import { insertUser } from '../../../../src/workspaces/accounts/people/users.js'
import { rememberBrowser } from '../../../../src/workspaces/accounts/sessions/known-browsers.js'
import { enableFactor, storeSecret } from '../../../../src/workspaces/accounts/sessions/second-factor.js'
import { acceptGuess, type SignInDeps, signIn } from '../../../../src/workspaces/accounts/sessions/sign-in.js'
import { SignInLimits } from '../../../../src/workspaces/accounts/sessions/sign-in-limits.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'

const NOW = Date.UTC(2026, 0, 1)
const client = { remoteAddress: '192.0.2.1', userAgent: 'TestBrowser/1.0', browserToken: null }

function buildDeps(database: Store, passwords: PasswordHasher, provedPasswords = passwords): SignInDeps {
  const rest = { sessionTimes: () => ({ max: 3_600_000 }), prepareNotice: async () => null }
  return { ...database, passwords, provedPasswords, attempts: new SignInLimits(), ...rest }
}

/** A hasher that finds every password right, or wrong. */
const hasher = (isRight: boolean): PasswordHasher => ({
  hash: () => Promise.reject(new Error('not needed')),
  matches: async (_password, stored) => isRight && stored !== null,
})

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
  const reads: string[] = []
  let name = ''
  const read: Store['read'] = (sql, parameters) => {
    reads.push(name)
    return database.read(sql, parameters)
  }
  const deps = buildDeps({ ...database, read }, passwords)
  const refusals: string[] = []
  for (name of ['unknown', 'none', 'ann']) {
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
  const countOf = (of: string): number => reads.filter((one) => one === of).length
  t.same([countOf('none'), countOf('ann')], Array(2).fill(countOf('unknown')), 'they cost as many reads')
  t.same(refusals, Array(3).fill('wrong-password: the mail address or the password is wrong {}'))
})

t.test('attempts are limited by client address over all accounts', async (t) => {
  const { database } = await temporaryDatabase(t)
  const deps = buildDeps(database, hasher(false))
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

/** The kinds of the refusals of so many attempts at `ann@b.test`, each from another client address. */
async function guess(
  deps: SignInDeps,
  count: number,
  options: Partial<Parameters<typeof signIn>[1]> = {},
): Promise<string[]> {
  const kinds: string[] = []
  for (let number = 0; number < count; number += 1) {
    const attempt = {
      ...{ email: parseAddress('ann@b.test'), password: 'x', code: undefined, now: NOW },
      client: { ...client, remoteAddress: `198.51.100.${number}` },
      ...options,
    }
    const outcome: unknown = await signIn(deps, attempt).catch((fault: unknown) => fault)
    kinds.push(outcome instanceof Refusal ? outcome.kind : 'none')
  }
  return kinds
}

const ann = insertUser({
  ...{ id: 'ann', email: parseAddress('ann@b.test'), full_name: '', password_hash: 'stored', created_at: NOW },
})

t.test('guesses of others do not keep a user out of a browser in which they have signed in', async (t) => {
  const { database } = await temporaryDatabase(t)
  await database.commit([ann])
  const deps = buildDeps(database, hasher(false), hasher(true))
  await database.commit([
    ...rememberBrowser('ann', 'token of ann', NOW),
    ...rememberBrowser('ben', 'token of ben', NOW),
  ])
  t.same(await guess(deps, 11), [...Array(10).fill('wrong-password'), 'rate-limited'])
  const known = { ...client, browserToken: 'token of ann' }
  t.same(await guess(deps, 1, { client: known }), ['none'])
  for (const browserToken of ['token of ben', 'invented', '']) {
    t.same(await guess(deps, 1, { client: { ...client, browserToken } }), ['rate-limited'], browserToken)
  }
  const guessing = { ...deps, provedPasswords: hasher(false) }
  t.same(await guess(guessing, 10, { client: known }), [...Array(9).fill('wrong-password'), 'rate-limited'])
})

t.test('attempts at many addresses without an account reset no count of an account', async (t) => {
  const { database } = await temporaryDatabase(t)
  await database.commit([ann])
  const deps = buildDeps(database, hasher(false))
  t.same((await guess(deps, 11)).at(-1), 'rate-limited')
  for (let number = 0; number < 10_001; number += 1) {
    deps.attempts.accounts.take({ email: parseAddress(`u${number}@b.test`), userId: null }, NOW)
  }
  t.same(await guess(deps, 1), ['rate-limited'])
})

t.test(
  'wrong codes after the right password have a limit of their own, which guesses of passwords do not touch',
  async (t) => {
    const { database } = await temporaryDatabase(t)
    const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
    await database.commit([ann])
    await database.commit([storeSecret({ userId: 'ann', secret })])
    await database.commit([enableFactor({ userId: 'ann', secret, step: 1, now: NOW })])
    const deps = buildDeps(database, hasher(true))
    const kinds: string[] = []
    for (let minute = 0; minute < 60; minute += 1) {
      kinds.push(...(await guess(deps, 1, { code: 'wrong', now: NOW + minute * 60_000 })))
    }
    t.same(kinds, [...Array(50).fill('wrong-password'), ...Array(10).fill('rate-limited')])
    const now = NOW + 61 * 60_000
    const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: now })
    t.same(await guess(deps, 1, { code, now }), ['rate-limited'], 'also the right code')
    await database.commit(rememberBrowser('ann', 'token of ann', now))
    const known = { ...client, browserToken: 'token of ann' }
    t.same(await guess(deps, 1, { code, now, client: known }), ['none'], 'but not in a known browser')
  },
)

t.test('codes that are guessed at once do not pass the limit together', async (t) => {
  const { database } = await temporaryDatabase(t)
  const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
  await database.commit([ann])
  await database.commit([storeSecret({ userId: 'ann', secret })])
  await database.commit([enableFactor({ userId: 'ann', secret, step: 1, now: NOW })])
  const deps = buildDeps(database, hasher(true))
  const right = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: NOW })
  const guessCode = (code: string): Promise<string> =>
    acceptGuess(deps, { userId: 'ann', code, guesser: 'ann', now: NOW }).then(
      () => 'accepted',
      (error: unknown) => (error instanceof Refusal ? error.kind : 'none'),
    )
  const outcomes = await Promise.all(Array<string>(20).fill('wrong').map(guessCode))
  t.equal(outcomes.filter((outcome) => outcome === 'wrong-password').length, 10)
  t.equal(await guessCode(right), 'rate-limited', 'also the right code')
})
