/**
 * Signing in with mail address, password and, where it is enabled, the second factor.
 *
 * Every sign-in makes a session with a new token. Attempts are limited by client address and by account, or by device
 * where the user has signed in before, ahead of the costly work, and for addresses without an account too. Both kinds
 * take the same work and get the same answer, so that neither reveals which addresses have an account.
 */
import type { Address } from '../../mail/address.js'
import { toLowerCaseAddress } from '../../mail/address.js'
import { Refusal } from '../../mail/refusal.js'
import type { Store } from '../../storage/database.js'
import { prepareWrite } from '../../storage/prepared.js'
import { tryCommit, type Write } from '../../storage/writer/write.js'
import { addressKeyOf } from '../client-address.js'
import type { PasswordHasher } from '../people/passwords.js'
import { userByEmail } from '../people/users.js'
import type { KnownDevices } from './known-devices.js'
import { acceptCode, secondFactorOf } from './second-factor.js'
import { buildSession, insertSession, type NewSession, type SessionTimes } from './session-records.js'
import { type AccountName, requireAttempt, type SignInLimits, takeAttempt } from './sign-in-limits.js'

export interface SignInDeps extends Store {
  /** For attempts that anyone can make. */
  readonly passwords: PasswordHasher
  /** For a session, a link, or a known device: others cannot fill its line. */
  readonly provedPasswords: PasswordHasher
  readonly devices: KnownDevices
  readonly attempts: SignInLimits
  readonly sessionTimes: Pick<SessionTimes, 'max'>
}

/** The browser that gets the session. */
export interface Client {
  readonly remoteAddress: string
  readonly userAgent: string
  /** Its cookie of a known device. */
  readonly device: string | null
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
  const { read, commit } = deps
  const [user] = userByEmail(read, { email: toLowerCaseAddress(given) })
  const hash = user?.password_hash ?? null
  const device = user === undefined ? null : deps.devices.find(client.device, user.id)
  const passwords = takeSignIn(deps, {
    email: toLowerCaseAddress(given),
    userId: user?.id ?? null,
    device,
    client,
    now,
  })
  const matches = await passwords.matches(password, hash)
  if (!matches || user === undefined || hash === null) throw wrongPasswordRefusal()
  const session = buildSession({ userId: user.id, ...client, lifetime: deps.sessionTimes.max, now })
  const writes = [
    requirePassword({ userId: user.id, hash }),
    ...acceptSecondFactor(deps, { userId: user.id, code, guesser: device ?? user.id, now }),
    ...insertSession(session.row),
  ]
  if (!(await tryCommit(commit(writes)))) throw wrongPasswordRefusal()
  return session
}

interface CountedSignIn extends AccountName {
  readonly device: string | null
  readonly client: Client
  readonly now: number
}

/** Counts the attempt; returns the hasher whose line it joins. Throws a Refusal `rate-limited`. */
function takeSignIn(
  { attempts, passwords, provedPasswords }: SignInDeps,
  { device, client, now, ...account }: CountedSignIn,
): PasswordHasher {
  if (device !== null) {
    takeAttempt(attempts.proved, device, now)
    return provedPasswords
  }
  takeAttempt(attempts.clients, addressKeyOf(client.remoteAddress), now)
  attempts.accounts.take(account, now)
  return passwords
}

function wrongPasswordRefusal(): Refusal {
  return new Refusal('wrong-password', 'the mail address or the password is wrong')
}

interface GivenCode {
  readonly userId: string
  readonly code: string | undefined
  /** For whom wrong codes count. */
  readonly guesser: string
  readonly now: number
}

/**
 * The writes that accept the second factor; none where it is not enabled. Throws a Refusal if it is missing or wrong,
 * or `rate-limited` after many wrong ones.
 */
export function acceptSecondFactor(
  { read, attempts }: Pick<SignInDeps, 'read' | 'attempts'>,
  { userId, code, guesser, now }: GivenCode,
): readonly Write[] {
  const [factor] = secondFactorOf(read, { userId })
  if (factor === undefined || factor.totp_enabled_at === null) return []
  if (code === undefined) {
    const message = 'a code of the authenticator, or a recovery code, is needed too'
    throw new Refusal('signed-out', message, { second_factor: true })
  }
  requireAttempt(attempts.codes, guesser, now)
  const accepted = acceptCode(read, { userId, code, now })
  if (accepted !== null) return [accepted]
  takeAttempt(attempts.codes, guesser, now)
  throw new Refusal('wrong-password', 'the code is wrong, or was used already', { second_factor: true })
}
