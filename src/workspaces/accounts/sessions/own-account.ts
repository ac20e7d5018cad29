/**
 * Lets people change their own account: the password and the second factor.
 *
 * Each change checks the password first, with the same limits as a sign-in, and is recorded in the audit log of each
 * workspace of the user. Its commit ends all other sessions, except when recovery codes are replaced, and stores the mail
 * that reports it to the user.
 */
import { Refusal } from '../../../base/mail/refusal.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { tryCommit, type Write } from '../../../base/storage/db/write.js'
import { type Actor, type AuditAction, recordAuditEntry } from '../access/audit-log.js'
import { setPassword, userById } from '../people/users.js'
import { workspacesOfUser } from '../workspace/workspaces.js'
import { type AccountChange, type AccountNotice, commitWithNotices } from './account-notices.js'
import { forgetBrowsers } from './known-browsers.js'
import { endPasswordLinks, findPasswordLink, usePasswordLink } from './password-links.js'
import {
  disableFactor,
  enableFactor,
  findStep,
  generateRecoveryCodes,
  generateSecret,
  secondFactorOf,
  storeSecret,
} from './second-factor.js'
import type { OpenSession } from './session-check.js'
import { endAllSessions, endOtherSessions } from './session-records.js'
import {
  acceptGuess,
  acceptSecondFactor,
  openSession,
  requirePassword,
  type SignedIn,
  type SignInClient,
  type SignInDeps,
  wrongCodeRefusal,
} from './sign-in.js'
import { takeAttempt } from './sign-in-limits.js'

interface OwnChange {
  readonly session: OpenSession
  readonly client: SignInClient
  readonly now: number
}

type Account = Awaited<ReturnType<typeof secondFactorOf>>[number]

const MAX_WORKSPACES = 1_000

/** Records an entry in the log of each workspace of the user. */
export async function recordForUser(
  read: Read,
  { userId, actor, action, at }: { userId: string; actor: Actor; action: AuditAction; at: number },
): Promise<Write[]> {
  return (await workspacesOfUser(read, { userId, limit: MAX_WORKSPACES, offset: 0 })).map(({ id: workspaceId }) =>
    recordAuditEntry({ workspaceId, actor, action, target: userId, at }),
  )
}

async function recordOwnAct(read: Read, userId: string, action: AuditAction, at: number): Promise<Write[]> {
  return recordForUser(read, { userId, actor: { id: userId, keyId: null }, action, at })
}

function buildNotice(
  { email }: Pick<Account, 'email'>,
  { client, now }: Pick<OwnChange, 'client' | 'now'>,
  change: AccountChange,
): AccountNotice {
  return { email, change, client, now }
}

/** Checks the password of the user of a session. Rejects with a Refusal. */
export async function checkOwnPassword(
  { read, provedPasswords, attempts }: SignInDeps,
  userId: string,
  password: string,
  now: number,
): Promise<Account & { readonly password_hash: string }> {
  const [account] = await secondFactorOf(read, { userId })
  if (account === undefined) throw new Refusal('signed-out', 'you are not signed in')
  takeAttempt(attempts.proved, userId, now)
  const { password_hash: hash } = account
  if (hash !== null && (await provedPasswords.matches(password, hash))) return { ...account, password_hash: hash }
  throw new Refusal('wrong-password', 'the password is wrong')
}

interface PasswordChange extends OwnChange {
  readonly current: string
  readonly next: string
}

export async function changeOwnPassword(
  deps: SignInDeps,
  { session, client, current, next, now }: PasswordChange,
): Promise<void> {
  const { read } = deps
  const { userId, id: keptId } = session
  const account = await checkOwnPassword(deps, userId, current, now)
  const hash = await hashNewPassword(deps, { userId, password: next, field: 'new_password' })
  const writes = [
    requirePassword({ userId, hash: account.password_hash }),
    setPassword({ id: userId, hash }),
    endPasswordLinks({ userId, now }),
    endOtherSessions({ userId, keptId }),
    forgetBrowsers(userId, client.browserToken),
    ...(await recordOwnAct(read, userId, 'user.password_set', now)),
  ]
  const notice = buildNotice(account, { client, now }, { kind: 'password-changed' })
  if (!(await commitWithNotices(deps, writes, [notice]))) throw changedMeanwhileRefusal()
}

interface NewPassword {
  readonly userId: string
  readonly password: string
  /** Its field in the request, which a refusal names. */
  readonly field: string
}

async function hashNewPassword(
  { read, provedPasswords }: SignInDeps,
  { userId, password, field }: NewPassword,
): Promise<string> {
  const [user] = await userById(read, { id: userId })
  try {
    return await provedPasswords.hash(password, { email: user?.email ?? '', fullName: user?.full_name ?? '' })
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind !== 'invalid-parameter') throw error
    throw new Refusal('invalid-parameter', error.message.replace(/^password/, field), { field })
  }
}

function changedMeanwhileRefusal(): Refusal {
  return new Refusal('conflict', 'the account has just changed: try again')
}

const EXPIRED_LINK =
  'the link has expired: the operator of the service sets a password with "posthorn user set-password ADDRESS"'

/** Tells whose password a link sets. Rejects with a Refusal. */
export async function readPasswordLink(
  { read, attempts }: Pick<SignInDeps, 'read' | 'attempts'>,
  { token, remoteAddress, now }: { readonly token: string; readonly remoteAddress: string; readonly now: number },
): Promise<{ readonly email: string }> {
  attempts.clients.take(remoteAddress, now)
  const { email } = await findOpenLink(read, token, now)
  return { email }
}

async function findOpenLink(
  read: Read,
  token: string,
  now: number,
): Promise<NonNullable<Awaited<ReturnType<typeof findPasswordLink>>>> {
  const link = await findPasswordLink(read, token)
  if (link === null) throw new Refusal('not-found', 'no such link: it is incomplete or too old')
  if (link.used_at !== null) throw new Refusal('conflict', 'the link was used already: it works once')
  if (link.expires_at <= now) throw new Refusal('conflict', EXPIRED_LINK)
  return link
}

interface LinkUse {
  readonly token: string
  readonly password: string
  readonly code: string | undefined
  readonly client: SignInClient
  readonly now: number
}

/** Sets the password by a link and signs in. All earlier sessions end. Rejects with a Refusal. */
export async function setPasswordByLink(
  deps: SignInDeps,
  { token, password, code, client, now }: LinkUse,
): Promise<SignedIn> {
  const { read, attempts } = deps
  attempts.clients.take(client.remoteAddress, now)
  const link = await findOpenLink(read, token, now)
  const userId = link.user_id
  const guesser = `link ${userId}`
  takeAttempt(attempts.proved, guesser, now)
  const factor = await acceptSecondFactor(deps, { userId, code, guesser, now })
  const isFirst = ((await secondFactorOf(read, { userId }))[0]?.password_hash ?? null) === null
  const hash = await hashNewPassword(deps, { userId, password, field: 'password' })
  const opened = openSession(deps, { userId, client, now })
  const writes = [
    usePasswordLink(token, now),
    ...factor.writes,
    setPassword({ id: userId, hash }),
    endPasswordLinks({ userId, now }),
    endAllSessions(userId),
    forgetBrowsers(userId, null),
    ...opened.writes,
    ...(await recordOwnAct(read, userId, 'user.password_set', now)),
  ]
  const changes: readonly (AccountChange | null)[] = [isFirst ? null : { kind: 'password-changed' }, factor.usedCode]
  const notices = changes
    .filter((change) => change !== null)
    .map((change) => buildNotice(link, { client, now }, change))
  if (!(await commitWithNotices(deps, writes, notices))) throw changedMeanwhileRefusal()
  return opened
}

/** Makes a new secret, which counts once the user confirms a code of it. Rejects with a Refusal. */
export async function beginSecondFactor(
  deps: SignInDeps,
  { session: { userId }, password, now }: Omit<OwnChange, 'client'> & { readonly password: string },
): Promise<ReturnType<typeof generateSecret>> {
  const account = await checkOwnPassword(deps, userId, password, now)
  const made = generateSecret(account.email)
  const writes = [
    requirePassword({ userId, hash: account.password_hash }),
    storeSecret({ userId, secret: made.secret }),
  ]
  if (await tryCommit(deps.commit(writes))) return made
  throw new Refusal('conflict', 'a second factor is enabled already: disable it first')
}

/** Enables the second factor; returns the recovery codes. Rejects with a Refusal. */
export async function confirmSecondFactor(
  deps: SignInDeps,
  { session: { userId, id: keptId }, client, code, now }: OwnChange & { readonly code: string },
): Promise<readonly string[]> {
  const { read, attempts } = deps
  const [account] = await secondFactorOf(read, { userId })
  if (account === undefined || account.totp_secret === null || account.totp_enabled_at !== null) {
    throw new Refusal('conflict', 'there is no second factor to confirm')
  }
  takeAttempt(attempts.proved, userId, now)
  const secret = account.totp_secret
  const step = findStep(secret, code, 0, now)
  if (step === null) throw new Refusal('wrong-password', 'the code is wrong', { second_factor: true })
  const { codes, writes: codeWrites } = generateRecoveryCodes(userId)
  const writes = [
    enableFactor({ userId, secret, step, now }),
    ...codeWrites,
    endOtherSessions({ userId, keptId }),
    ...(await recordOwnAct(read, userId, 'user.totp_enabled', now)),
  ]
  const notice = buildNotice(account, { client, now }, { kind: 'second-factor-enabled' })
  if (!(await commitWithNotices(deps, writes, [notice]))) throw changedMeanwhileRefusal()
  return codes
}

interface ConfirmedChange extends OwnChange {
  readonly password: string
  readonly code: string
}

/** Ends all recovery codes and makes new ones. The code must be one of the authenticator. Rejects with a Refusal. */
export async function replaceRecoveryCodes(
  deps: SignInDeps,
  { session: { userId }, client, password, code, now }: ConfirmedChange,
): Promise<readonly string[]> {
  const { read } = deps
  const account = await checkOwnPassword(deps, userId, password, now)
  if (account.totp_enabled_at === null) throw new Refusal('conflict', 'no second factor is enabled')
  const accepted = await acceptGuess(deps, { userId, code, guesser: `session ${userId}`, now })
  if (accepted.kind !== 'time') throw wrongCodeRefusal()
  const { codes, writes: codeWrites } = generateRecoveryCodes(userId)
  const writes = [
    requirePassword({ userId, hash: account.password_hash }),
    accepted.write,
    ...codeWrites,
    ...(await recordOwnAct(read, userId, 'user.recovery_codes_replaced', now)),
  ]
  const notice = buildNotice(account, { client, now }, { kind: 'recovery-codes-replaced' })
  if (!(await commitWithNotices(deps, writes, [notice]))) throw changedMeanwhileRefusal()
  return codes
}

/** Rejects with a Refusal. */
export async function disableSecondFactor(
  deps: SignInDeps,
  { session: { userId, id: keptId }, client, password, code, now }: ConfirmedChange,
): Promise<void> {
  const { read } = deps
  const account = await checkOwnPassword(deps, userId, password, now)
  if (account.totp_enabled_at === null) throw new Refusal('conflict', 'no second factor is enabled')
  const writes = [
    requirePassword({ userId, hash: account.password_hash }),
    ...(await acceptSecondFactor(deps, { userId, code, guesser: `session ${userId}`, now })).writes,
    ...disableFactor(userId),
    endOtherSessions({ userId, keptId }),
    ...(await recordOwnAct(read, userId, 'user.totp_disabled', now)),
  ]
  const notice = buildNotice(account, { client, now }, { kind: 'second-factor-disabled' })
  if (!(await commitWithNotices(deps, writes, [notice]))) throw changedMeanwhileRefusal()
}
