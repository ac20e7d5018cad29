/**
 * What people change of their own account: the password and the second factor.
 *
 * Each change checks the password first, with limits that only the user can use up, is recorded in the audit log of each
 * workspace of the user, and ends all other sessions of the user in its commit.
 */
import { Refusal } from '../../mail/refusal.js'
import type { Read } from '../../storage/prepared.js'
import { tryCommit, type Write } from '../../storage/writer/write.js'
import { type Actor, type AuditAction, recordAuditEntry } from '../audit-log.js'
import { addressKeyOf } from '../client-address.js'
import { setPassword } from '../people/users.js'
import { workspacesOfUser } from '../workspaces.js'
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
import { buildSession, endAllSessions, endOtherSessions, insertSession, type NewSession } from './session-records.js'
import { acceptSecondFactor, type Client, requirePassword, type SignInDeps } from './sign-in.js'
import { takeAttempt } from './sign-in-limits.js'

interface OwnChange {
  readonly session: OpenSession
  readonly now: number
}

type Account = ReturnType<typeof secondFactorOf>[number]

const MAX_WORKSPACES = 1_000

/** An entry in the log of each workspace of the user. */
export function recordForUser(
  read: Read,
  { userId, actor, action, at }: { userId: string; actor: Actor; action: AuditAction; at: number },
): Write[] {
  return workspacesOfUser(read, { userId, limit: MAX_WORKSPACES, offset: 0 }).map(({ id: workspaceId }) =>
    recordAuditEntry({ workspaceId, actor, action, target: userId, at }),
  )
}

function recordOwnAct(read: Read, userId: string, action: AuditAction, at: number): Write[] {
  return recordForUser(read, { userId, actor: { id: userId, keyId: null }, action, at })
}

/** Checks the password of the user of a session. Rejects with a Refusal. */
export async function checkOwnPassword(
  { read, provedPasswords, attempts }: SignInDeps,
  userId: string,
  password: string,
  now: number,
): Promise<Account & { readonly password_hash: string }> {
  const [account] = secondFactorOf(read, { userId })
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
  { session, current, next, now }: PasswordChange,
): Promise<void> {
  const { read, commit } = deps
  const { userId, id: keptId } = session
  const account = await checkOwnPassword(deps, userId, current, now)
  const hash = await hashNewPassword(deps, next, 'new_password')
  const writes = [
    requirePassword({ userId, hash: account.password_hash }),
    setPassword({ id: userId, hash }),
    endPasswordLinks({ userId, now }),
    endOtherSessions({ userId, keptId }),
    ...recordOwnAct(read, userId, 'user.password_set', now),
  ]
  if (!(await tryCommit(commit(writes)))) throw changedMeanwhileRefusal()
}

/** Names the field of the request in the refusal of a short password. */
async function hashNewPassword({ provedPasswords }: SignInDeps, password: string, field: string): Promise<string> {
  try {
    return await provedPasswords.hash(password)
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind !== 'invalid-parameter') throw error
    throw new Refusal('invalid-parameter', error.message.replace(/^password/, field), { field })
  }
}

function changedMeanwhileRefusal(): Refusal {
  return new Refusal('conflict', 'the account has just changed: try again')
}

interface LinkUse {
  readonly token: string
  readonly password: string
  readonly code: string | undefined
  readonly client: Client
  readonly now: number
}

/** Sets the password by a link and signs in. All sessions from before end. Rejects with a Refusal. */
export async function setPasswordByLink(
  deps: SignInDeps,
  { token, password, code, client, now }: LinkUse,
): Promise<NewSession> {
  const { read, commit, attempts } = deps
  takeAttempt(attempts.clients, addressKeyOf(client.remoteAddress), now)
  const link = findPasswordLink(read, token)
  if (link === null) throw new Refusal('not-found', 'no such link: it is incomplete or too old')
  if (link.used_at !== null) throw new Refusal('conflict', 'the link was used already: it works once')
  if (link.expires_at <= now) throw new Refusal('conflict', 'the link has expired: ask for another one')
  const userId = link.user_id
  const guesser = `link ${userId}`
  takeAttempt(attempts.proved, guesser, now)
  const factor = acceptSecondFactor(deps, { userId, code, guesser, now })
  const hash = await hashNewPassword(deps, password, 'password')
  const session = buildSession({ userId, ...client, lifetime: deps.sessionTimes.max, now })
  const writes = [
    usePasswordLink(token, now),
    ...factor,
    setPassword({ id: userId, hash }),
    endPasswordLinks({ userId, now }),
    endAllSessions(userId),
    ...insertSession(session.row),
    ...recordOwnAct(read, userId, 'user.password_set', now),
  ]
  if (!(await tryCommit(commit(writes)))) throw changedMeanwhileRefusal()
  return session
}

/** A new secret, which counts once a code of it is confirmed. Rejects with a Refusal. */
export async function beginSecondFactor(
  deps: SignInDeps,
  { session: { userId }, password, now }: OwnChange & { readonly password: string },
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
  { read, commit, attempts }: SignInDeps,
  { session: { userId, id: keptId }, code, now }: OwnChange & { readonly code: string },
): Promise<readonly string[]> {
  const [account] = secondFactorOf(read, { userId })
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
    ...recordOwnAct(read, userId, 'user.totp_enabled', now),
  ]
  if (!(await tryCommit(commit(writes)))) throw changedMeanwhileRefusal()
  return codes
}

/** Rejects with a Refusal. */
export async function disableSecondFactor(
  deps: SignInDeps,
  {
    session: { userId, id: keptId },
    password,
    code,
    now,
  }: OwnChange & { readonly password: string; readonly code: string },
): Promise<void> {
  const { read, commit } = deps
  const account = await checkOwnPassword(deps, userId, password, now)
  if (account.totp_enabled_at === null) throw new Refusal('conflict', 'no second factor is enabled')
  const writes = [
    requirePassword({ userId, hash: account.password_hash }),
    ...acceptSecondFactor(deps, { userId, code, guesser: `session ${userId}`, now }),
    ...disableFactor(userId),
    endOtherSessions({ userId, keptId }),
    ...recordOwnAct(read, userId, 'user.totp_disabled', now),
  ]
  if (!(await tryCommit(commit(writes)))) throw changedMeanwhileRefusal()
}
