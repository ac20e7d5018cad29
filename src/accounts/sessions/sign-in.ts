/**
 * Signing in with mail address, password and, where it is enabled, the second factor.
 *
 * Every sign-in makes a session with a new token. Attempts are limited by client address and by account,
 * before any work is done, and for addresses without an account too. Both kinds take the same work
 * and get the same answer, so that neither reveals which addresses have an account.
 */
import type { Address } from '../../mail/address.js'
import { toLowerCaseAddress } from '../../mail/address.js'
import { Refusal } from '../../mail/refusal.js'
import type { Store } from '../../storage/database.js'
import { prepareWrite } from '../../storage/prepared.js'
import { tryCommit, type Write } from '../../storage/writer/write.js'
import { addressKeyOf } from '../client-address.js'
import { buildRateRefusal, createRateLimit, type RateLimit } from '../limits/rate-limit.js'
import type { PasswordHasher } from '../people/passwords.js'
import { userByEmail } from '../people/users.js'
import { acceptCode, secondFactorOf } from './second-factor.js'
import { buildSession, insertSession, type NewSession, type SessionTimes } from './session-records.js'

export interface SignInDeps extends Store {
  readonly passwords: PasswordHasher
  readonly attempts: SignInLimits
  readonly sessionTimes: Pick<SessionTimes, 'max'>
}

interface SignInLimits {
  /** By client address, as `addressKeyOf` groups them. */
  readonly clients: RateLimit
  /** By mail address in lower case, whether or not it has an account. */
  readonly accounts: RateLimit
}

export function createSignInLimits(): SignInLimits {
  return {
    clients: createRateLimit({ limitsOf: () => ({ requests_per_minute: 30, requests_per_day: 1_000 }) }),
    accounts: createRateLimit({ limitsOf: () => ({ requests_per_minute: 10, requests_per_day: 200 }) }),
  }
}

/** Throws a Refusal `rate-limited`. */
export function takeAttempt(limit: RateLimit, key: string, now: number): void {
  const state = limit.take(key, now)
  if (!state.allowed) throw buildRateRefusal(state)
}

/** The browser that gets the session. */
export interface Client {
  readonly remoteAddress: string
  readonly userAgent: string
}

interface SignIn {
  readonly email: Address
  readonly password: string
  readonly code: string | undefined
  readonly client: Client
  readonly now: number
}

/** Changes nothing; misses when the password has changed since it was checked. */
export const requirePassword = prepareWrite<{ userId: string; hash: string }>(
  ({ db, slot }) =>
    db
      .updateTable('users')
      .set({ password_hash: slot('hash') })
      .where('id', '=', slot('userId'))
      .where('password_hash', '=', slot('hash')),
  1,
)

/** Rejects with a Refusal: `rate-limited`, `wrong-password`, or `signed-out` when the second factor is missing. */
export async function signIn(
  deps: SignInDeps,
  { email: given, password, code, client, now }: SignIn,
): Promise<NewSession> {
  const { read, commit, passwords, attempts } = deps
  const email = toLowerCaseAddress(given)
  takeAttempt(attempts.clients, addressKeyOf(client.remoteAddress), now)
  takeAttempt(attempts.accounts, email, now)
  const [user] = userByEmail(read, { email })
  const hash = user?.password_hash ?? null
  const matches = await passwords.matches(password, hash)
  if (!matches || user === undefined || hash === null) throw wrongPasswordRefusal()
  const session = buildSession({ userId: user.id, ...client, lifetime: deps.sessionTimes.max, now })
  const writes = [
    requirePassword({ userId: user.id, hash }),
    ...acceptSecondFactor(deps, { userId: user.id, code, now }),
    ...insertSession(session.row),
  ]
  if (!(await tryCommit(commit(writes)))) throw wrongPasswordRefusal()
  return session
}

function wrongPasswordRefusal(): Refusal {
  return new Refusal('wrong-password', 'the mail address or the password is wrong')
}

/** The writes that accept the second factor; none where it is not enabled. Throws a Refusal if it is missing or wrong. */
export function acceptSecondFactor(
  { read }: Pick<Store, 'read'>,
  { userId, code, now }: { readonly userId: string; readonly code: string | undefined; readonly now: number },
): readonly Write[] {
  const [factor] = secondFactorOf(read, { userId })
  if (factor === undefined || factor.totp_enabled_at === null) return []
  if (code === undefined) {
    const message = 'a code of the authenticator, or a recovery code, is needed too'
    throw new Refusal('signed-out', message, { second_factor: true })
  }
  const accepted = acceptCode(read, { userId, code, now })
  if (accepted !== null) return [accepted]
  throw new Refusal('wrong-password', 'the code is wrong, or was used already', { second_factor: true })
}
