/**
 * Accepts an invitation: the holder of the link becomes a member, with a key.
 *
 * A link works once. The commit that inserts the member ends the invitation. It misses when the invitation was
 * accepted, cancelled or has expired, or when the inviter may no longer invite. A new user chooses a password. If
 * the address has an account, we verify its password and never change it, so a stolen link does not give access to
 * the account. If the operator created the account without a password, the operator must set one first. If the
 * second factor is enabled, we verify a code of the authenticator too. Recovery codes are for the sign-in alone.
 *
 * We limit attempts by invitation and by client address before we do any work.
 */
import type { KeyObject } from 'node:crypto'
import type { Address } from '../../../base/mail/address.js'
import { Refusal } from '../../../base/mail/refusal.js'
import { uuidv7 } from '../../../base/platform/ids.js'
import type { Store } from '../../../base/storage/db/database.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { tryUniqueCommit, type Write } from '../../../base/storage/db/write.js'
import { type Actor, recordAuditEntry } from '../access/audit-log.js'
import { generateKey, type NewKey } from '../keys/api-keys.js'
import { createKeyAudited } from '../keys/audited-keys.js'
import { RateLimit } from '../limits/rate-limit.js'
import { endInvitation, invitationOfToken, parseInvitationToken, statusAt } from '../people/invitations.js'
import { insertMember, memberById, requireAdministrator } from '../people/members.js'
import type { PasswordHasher } from '../people/passwords.js'
import { insertUser, requireUser, setMissingName, userByEmail } from '../people/users.js'
import { acceptCode, secondFactorOf } from './second-factor.js'
import { ClientLimit, takeAttempt } from './sign-in-limits.js'

export interface AcceptDeps extends Store {
  /** The key that signs tokens. */
  readonly secret: KeyObject
  readonly passwords: PasswordHasher
  readonly attempts: AttemptLimits
}

/** Two limits, so that many client addresses cannot evict the counts of invitations. */
export class AttemptLimits {
  readonly clients = new ClientLimit()
  /** By the id of the invitation. */
  readonly invitations = new RateLimit({ limitsOf: () => ({ requests_per_minute: 5, requests_per_day: 50 }) })
}

type TokenInvitation = Awaited<ReturnType<typeof invitationOfToken>>[number]

/** Finds the invitation of a token. Throws a Refusal: `not-found`, or `conflict` if it is no longer pending. */
export async function findOpenInvitation(
  { read, secret }: Pick<AcceptDeps, 'read' | 'secret'>,
  token: string,
  now: number,
): Promise<TokenInvitation & { readonly hasAccount: boolean }> {
  const id = parseInvitationToken(secret, token)
  const [row] = id === null ? [] : await invitationOfToken(read, { id })
  if (row === undefined) throw new Refusal('not-found', 'no such invitation: the link is incomplete or too old')
  const over = statusAt(row, now)
  if (over !== 'pending') throw new Refusal('conflict', endedMessages[over], { id: row.id, status: over })
  return { ...row, hasAccount: (await userByEmail(read, { email: row.email })).length > 0 }
}

const endedMessages = {
  accepted: 'the invitation was accepted already: it works once',
  cancelled: 'the invitation was cancelled: ask for another one',
  expired: 'the invitation has expired: ask for another one',
} as const

interface Acceptance {
  readonly token: string
  readonly fullName: string
  readonly password: string
  /** The time-based code of the authenticator. It is undefined if none was given. */
  readonly code: string | undefined
  readonly remoteAddress: string
  readonly now: number
}

interface AcceptedInvitation {
  readonly workspaceId: string
  readonly member: Awaited<ReturnType<typeof memberById>>[number]
  readonly key: NewKey
}

export async function acceptInvitation(deps: AcceptDeps, acceptance: Acceptance): Promise<AcceptedInvitation> {
  const { read, commit, attempts } = deps
  const { token, remoteAddress, now } = acceptance
  attempts.clients.take(remoteAddress, now)
  const invitation = await findOpenInvitation(deps, token, now)
  takeAttempt(attempts.invitations, invitation.id, now)
  const user = await resolveUser(deps, invitation.email, acceptance)
  const { workspace_id: workspaceId, id, role, invited_by: inviter } = invitation
  const memberId = uuidv7(now)
  const key = generateKey({ workspaceId, userId: user.id, name: 'first key', now })
  const actor: Actor = { id: user.id, keyId: null }
  const writes = [
    // An administrator may assign both assignable roles.
    requireAdministrator({ workspaceId, userId: inviter }),
    endInvitation({ workspaceId, id, status: 'accepted', now }),
    ...user.writes,
    insertMember({ id: memberId, workspace_id: workspaceId, user_id: user.id, role, joined_at: now }),
    recordJoin(workspaceId, memberId, actor, invitation, now),
    ...createKeyAudited(key, actor),
  ]
  if (!(await tryUniqueCommit(commit(writes)))) {
    await findOpenInvitation(deps, token, now)
    throw new Refusal('conflict', 'the account or its memberships have just changed: try again')
  }
  const [member] = await memberById(read, { workspaceId, id: memberId })
  if (member === undefined) throw new Refusal('conflict', 'the membership has just been removed again')
  return { workspaceId, member, key }
}

function recordJoin(workspaceId: string, target: string, actor: Actor, invitation: TokenInvitation, at: number): Write {
  const { id, email, role } = invitation
  const details = { email, role, invitation_id: id }
  return recordAuditEntry({ workspaceId, actor, action: 'member.joined', target, at, details })
}

interface JoiningUser {
  readonly id: string
  readonly writes: readonly Write[]
}

/**
 * Returns the joining user: a new one, or the existing one if password and second factor are right. Otherwise it
 * rejects with a Refusal.
 */
async function resolveUser(
  { read, passwords }: AcceptDeps,
  email: Address,
  { fullName, password, code, now }: Acceptance,
): Promise<JoiningUser> {
  const [known] = await userByEmail(read, { email })
  if (known === undefined) {
    const id = uuidv7(now)
    const hash = await passwords.hash(password, { email, fullName })
    return { id, writes: [insertUser({ id, email, full_name: fullName, password_hash: hash, created_at: now })] }
  }
  if (!(await passwords.matches(password, known.password_hash))) {
    if (known.password_hash !== null) throw new Refusal('forbidden', 'this is not the password of the existing account')
    const fix = `the operator of the service sets one with "posthorn user set-password"`
    throw new Refusal('conflict', `the account of this address has no password yet: ${fix}`)
  }
  const userId = known.id
  const secondFactor = await requireSecondFactor(read, { userId, code, now })
  return {
    id: userId,
    writes: [...secondFactor, requireUser({ id: userId }), setMissingName({ id: userId, name: fullName })],
  }
}

interface GivenCode {
  readonly userId: string
  readonly code: string | undefined
  readonly now: number
}

/** Returns the write that uses the code up, or none if no second factor is enabled. Throws a Refusal `forbidden`. */
async function requireSecondFactor(read: Read, { userId, code = '', now }: GivenCode): Promise<readonly Write[]> {
  const [factor] = await secondFactorOf(read, { userId })
  if (factor === undefined || factor.totp_enabled_at === null) return []
  const details = { second_factor: true }
  if (code === '') throw new Refusal('forbidden', 'a code of the authenticator is needed too', details)
  const accepted = await acceptCode(read, { userId, code, now })
  if (accepted?.kind === 'time') return [accepted.write]
  throw new Refusal('forbidden', 'this is not a current code of the authenticator, or it was used already', details)
}
