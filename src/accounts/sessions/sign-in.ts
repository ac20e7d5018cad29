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
import type { Write } from '../../storage/writer/write.js'
import { addressKeyOf } from '../client-address.js'
import { buildRateRefusal, createRateLimit, type RateLimit } from '../limits/rate-limit.js'
import type { PasswordHasher } from '../people/passwords.js'
import { userByEmail } from '../people/users.js'
import { type AccountChange, commitWithNotices, type PrepareNotice } from './account-notices.js'
import { recognizeBrowser, rememberBrowser } from './known-browsers.js'
import { acceptCode, countRecoveryCodes, secondFactorOf } from './second-factor.js'
import { buildSession, type Client, generateToken, insertSession, type NewSession } from './session-records.js'

export interface SignInDeps extends Store {
  readonly passwords: PasswordHasher
  readonly attempts: SignInLimits
  readonly prepareNotice: PrepareNotice
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
export interface SignInClient extends Client {
  /** By which it is known from an earlier sign-in; null: it has none. */
  readonly browserToken: string | null
}

interface SignIn {
  readonly email: Address
  readonly password: string
  readonly code: string | undefined
  readonly client: SignInClient
  readonly now: number
}

/** A session, and the token by which its browser is known from now on. */
export interface SignedIn {
  readonly session: NewSession
  readonly browserToken: string
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
): Promise<SignedIn> {
  const { read, passwords, attempts } = deps
  const email = toLowerCaseAddress(given)
  takeAttempt(attempts.clients, addressKeyOf(client.remoteAddress), now)
  takeAttempt(attempts.accounts, email, now)
  const [user] = userByEmail(read, { email })
  const hash = user?.password_hash ?? null
  const matches = await passwords.matches(password, hash)
  if (!matches || user === undefined || hash === null) throw wrongPasswordRefusal()
  const userId = user.id
  const factor = acceptSecondFactor(deps, { userId, code, now })
  const browser = recognizeBrowser(read, { userId, token: client.browserToken, now })
  const opened = openSession({ userId, client, now })
  const writes = [requirePassword({ userId, hash }), ...factor.writes, ...opened.writes]
  // The mail about a used recovery code names the browser, so a new one needs no mail of its own.
  const change = factor.usedCode ?? (browser === 'new' ? { kind: 'new-browser' as const } : null)
  const notices = change === null ? [] : [{ email: user.email, change, client, now }]
  if (!(await commitWithNotices(deps, writes, notices))) throw wrongPasswordRefusal()
  return opened
}

/** A new session, with the writes that store it and make its browser known. */
export function openSession(request: {
  readonly userId: string
  readonly client: SignInClient
  readonly now: number
}): SignedIn & { readonly writes: readonly Write[] } {
  const { userId, client, now } = request
  const session = buildSession({ userId, ...client, now })
  const browserToken = client.browserToken ?? generateToken()
  return {
    session,
    browserToken,
    writes: [...insertSession(session.row), ...rememberBrowser(userId, browserToken, now)],
  }
}

function wrongPasswordRefusal(): Refusal {
  return new Refusal('wrong-password', 'the mail address or the password is wrong')
}

interface AcceptedFactor {
  /** None where no second factor is enabled. */
  readonly writes: readonly Write[]
  /** Null: no recovery code was used. */
  readonly usedCode: AccountChange | null
}

/** Throws a Refusal if the second factor is enabled and missing or wrong. */
export function acceptSecondFactor(
  { read }: Pick<Store, 'read'>,
  { userId, code, now }: { readonly userId: string; readonly code: string | undefined; readonly now: number },
): AcceptedFactor {
  const [factor] = secondFactorOf(read, { userId })
  if (factor === undefined || factor.totp_enabled_at === null) return { writes: [], usedCode: null }
  if (code === undefined) {
    const message = 'a code of the authenticator, or a recovery code, is needed too'
    throw new Refusal('signed-out', message, { second_factor: true })
  }
  const accepted = acceptCode(read, { userId, code, now })
  if (accepted?.kind === 'time') return { writes: [accepted.write], usedCode: null }
  if (accepted?.kind === 'recovery') {
    const left = countRecoveryCodes(read, userId) - 1
    return { writes: [accepted.write], usedCode: { kind: 'recovery-code-used', left } }
  }
  throw new Refusal('wrong-password', 'the code is wrong, or was used already', { second_factor: true })
}
