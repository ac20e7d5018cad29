/**
 * Signs a user in with mail address, password and, if it is enabled, the second factor.
 *
 * Every sign-in makes a session with a new token. We limit attempts before the costly work: by client address and by
 * account, or by browser if the user has signed in there before. Addresses without an account have the same limits,
 * take the same work and get the same answer, so no answer reveals which addresses have an account.
 */
import type { Address } from '../../../base/mail/address.js'
import { toLowerCaseAddress } from '../../../base/mail/address.js'
import { Refusal } from '../../../base/mail/refusal.js'
import type { Store } from '../../../base/storage/db/database.js'
import { prepareWrite } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import type { PasswordHasher } from '../people/passwords.js'
import { userByEmail } from '../people/users.js'
import { type AccountChange, commitWithNotices, type PrepareNotice } from './account-notices.js'
import { recognizeBrowser, rememberBrowser } from './known-browsers.js'
import { type AcceptedCode, acceptCode, countRecoveryCodes, secondFactorOf } from './second-factor.js'
import {
  buildSession,
  type Client,
  generateToken,
  hashToken,
  insertSession,
  type NewSession,
  type SessionTimes,
} from './session-records.js'
import { type AccountName, requireAttempt, type SignInLimits, takeAttempt } from './sign-in-limits.js'

export interface SignInDeps extends Store {
  /** The hasher for attempts that anyone can make. */
  readonly passwords: PasswordHasher
  /** The hasher for a session, a link or a known browser. Others cannot fill its line. */
  readonly provedPasswords: PasswordHasher
  readonly attempts: SignInLimits
  readonly sessionTimes: () => Pick<SessionTimes, 'max'>
  readonly prepareNotice: PrepareNotice
}

/** The browser that gets the session. */
export interface SignInClient extends Client {
  /** The token that an earlier sign-in gave to the browser. It is null if the browser has none. */
  readonly browserToken: string | null
}

interface SignIn {
  readonly email: Address
  readonly password: string
  readonly code: string | undefined
  readonly client: SignInClient
  readonly now: number
}

/** A session, and the token that marks its browser as known from now on. */
export interface SignedIn {
  readonly session: NewSession
  readonly browserToken: string
}

/** Changes nothing. Misses when the password has changed since it was checked. */
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
  const { read } = deps
  const email = toLowerCaseAddress(given)
  const [user] = await userByEmail(read, { email })
  const hash = user?.password_hash ?? null
  const token = client.browserToken
  // It is read for an unknown address too: the answer comes after the same work.
  const browser = await recognizeBrowser(read, { userId: user?.id ?? '', token, now })
  const guesser = browser === 'known' ? nameGuesser(user?.id ?? '', client) : null
  const passwords = takeSignIn(deps, { email, userId: user?.id ?? null, guesser, client, now })
  const matches = await passwords.matches(password, hash)
  if (!matches || user === undefined || hash === null) throw wrongPasswordRefusal()
  const userId = user.id
  const factor = await acceptSecondFactor(deps, { userId, code, guesser: guesser ?? userId, now })
  const opened = openSession(deps, { userId, client, now })
  const writes = [requirePassword({ userId, hash }), ...factor.writes, ...opened.writes]
  // The mail about a used recovery code names the browser, so a new browser needs no second mail.
  const change = factor.usedCode ?? (browser === 'new' ? { kind: 'new-browser' as const } : null)
  const notices = change === null ? [] : [{ email: user.email, change, client, now }]
  if (!(await commitWithNotices(deps, writes, notices))) throw wrongPasswordRefusal()
  return opened
}

/** Names a known browser, whose attempts count separately from those of others. */
function nameGuesser(userId: string, { browserToken }: SignInClient): string {
  return `browser ${userId} ${hashToken(browserToken ?? '')}`
}

interface SessionRequest {
  readonly userId: string
  readonly client: SignInClient
  readonly now: number
}

/** Makes a new session, with the writes that store it and make its browser known. */
export function openSession(
  { sessionTimes }: Pick<SignInDeps, 'sessionTimes'>,
  { userId, client, now }: SessionRequest,
): SignedIn & { readonly writes: readonly Write[] } {
  const session = buildSession({ userId, ...client, lifetime: sessionTimes().max, now })
  const browserToken = client.browserToken ?? generateToken()
  return {
    session,
    browserToken,
    writes: [...insertSession(session.row), ...rememberBrowser(userId, browserToken, now)],
  }
}

interface CountedSignIn extends AccountName {
  /** Null means that the browser is not known. */
  readonly guesser: string | null
  readonly client: Client
  readonly now: number
}

/** Counts the attempt; returns the hasher whose line it joins. Throws a Refusal `rate-limited`. */
function takeSignIn(
  { attempts, passwords, provedPasswords }: SignInDeps,
  { guesser, client, now, ...account }: CountedSignIn,
): PasswordHasher {
  if (guesser !== null) {
    takeAttempt(attempts.proved, guesser, now)
    return provedPasswords
  }
  attempts.clients.take(client.remoteAddress, now)
  attempts.accounts.take(account, now)
  return passwords
}

function wrongPasswordRefusal(): Refusal {
  return new Refusal('wrong-password', 'the mail address or the password is wrong')
}

interface GivenCode {
  readonly userId: string
  readonly code: string | undefined
  /** Wrong codes count for this name. */
  readonly guesser: string
  readonly now: number
}

interface AcceptedFactor {
  /** The list is empty if no second factor is enabled. */
  readonly writes: readonly Write[]
  /** Null means that no recovery code was used. */
  readonly usedCode: AccountChange | null
}

/**
 * Throws a Refusal if the second factor is enabled and the code is missing or wrong, or `rate-limited` after many
 * wrong ones.
 */
export async function acceptSecondFactor(
  deps: Pick<SignInDeps, 'read' | 'attempts'>,
  { userId, code, guesser, now }: GivenCode,
): Promise<AcceptedFactor> {
  const { read } = deps
  const [factor] = await secondFactorOf(read, { userId })
  if (factor === undefined || factor.totp_enabled_at === null) return { writes: [], usedCode: null }
  if (code === undefined) {
    const message = 'a code of the authenticator, or a recovery code, is needed too'
    throw new Refusal('signed-out', message, { second_factor: true })
  }
  const { kind, write } = await acceptGuess(deps, { userId, code, guesser, now })
  if (kind === 'time') return { writes: [write], usedCode: null }
  return {
    writes: [write],
    usedCode: { kind: 'recovery-code-used', left: (await countRecoveryCodes(read, userId)) - 1 },
  }
}

/** Throws a Refusal if the code is wrong, or `rate-limited` after many wrong ones. */
export async function acceptGuess(
  { read, attempts }: Pick<SignInDeps, 'read' | 'attempts'>,
  { userId, code, guesser, now }: GivenCode & { readonly code: string },
): Promise<AcceptedCode> {
  const accepted = await acceptCode(read, { userId, code, now })
  // Nothing is awaited from here on, so guesses that come at the same time do not pass the limit together.
  requireAttempt(attempts.codes, guesser, now)
  if (accepted !== null) return accepted
  takeAttempt(attempts.codes, guesser, now)
  throw wrongCodeRefusal()
}

export function wrongCodeRefusal(): Refusal {
  return new Refusal('wrong-password', 'the code is wrong, or was used already', { second_factor: true })
}
