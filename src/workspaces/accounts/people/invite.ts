/**
 * Invites a person to a workspace, as writes of one commit.
 *
 * You cannot invite a member again, or an address with a pending invitation: cancel the pending invitation first.
 * The index `invitations_pending` decides between two concurrent invitations.
 */
import { type Address, toLowerCaseAddress } from '../../../base/mail/address.js'
import { Refusal } from '../../../base/mail/refusal.js'
import { formatTimestamp } from '../../../base/platform/clock.js'
import { uuidv7 } from '../../../base/platform/ids.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import { type Actor, recordAuditEntry } from '../access/audit-log.js'
import {
  countPending,
  expireInvitation,
  INVITATION_LIFETIME,
  type InvitationRow,
  insertInvitation,
  pendingByEmail,
} from './invitations.js'
import { type AssignableRole, countMembers, MAX_MEMBERS, memberByEmail, requireAdministrator } from './members.js'
import { userById } from './users.js'

export interface InvitationRequest {
  readonly workspaceId: string
  readonly email: Address
  readonly role: AssignableRole
  /** The inviter. */
  readonly userId: string
  readonly actor: Actor
  readonly now: number
}

/** Throws a Refusal `conflict`. */
export async function requireInvitable(
  read: Read,
  { workspaceId, email: given, now }: InvitationRequest,
): Promise<void> {
  const email = toLowerCaseAddress(given)
  const [member] = await memberByEmail(read, { workspaceId, email })
  if (member !== undefined) {
    throw new Refusal('conflict', `${email} belongs to the workspace already`, { email, member_id: member.id })
  }
  const [waiting] = await pendingByEmail(read, { workspaceId, email, now })
  if (waiting !== undefined) {
    const until = formatTimestamp(waiting.expires_at)
    const message = `${email} has a pending invitation until ${until}: cancel it to send another`
    throw new Refusal('conflict', message, { email, invitation_id: waiting.id, expires_at: until })
  }
  const count =
    ((await countMembers(read, { workspaceId }))[0]?.count ?? 0) +
    ((await countPending(read, { workspaceId, now }))[0]?.count ?? 0)
  if (count < MAX_MEMBERS) return
  throw new Refusal('conflict', `a workspace may have at most ${MAX_MEMBERS} members and pending invitations`, {
    limit: MAX_MEMBERS,
    count,
  })
}

interface NewInvitation {
  readonly row: InvitationRow
  /** The writes miss when the inviter may no longer invite. */
  readonly writes: readonly Write[]
}

export async function buildInvitation(read: Read, request: InvitationRequest): Promise<NewInvitation> {
  const { workspaceId, role, userId, actor, now } = request
  const email = toLowerCaseAddress(request.email)
  const [inviter] = await userById(read, { id: userId })
  const row: InvitationRow = {
    id: uuidv7(now),
    workspace_id: workspaceId,
    email,
    role,
    status: 'pending',
    invited_by_name: inviter?.full_name ?? '',
    invited_by_email: inviter?.email ?? '',
    invited_by: userId,
    created_at: now,
    expires_at: now + INVITATION_LIFETIME,
  }
  const details = { email, role }
  return {
    row,
    writes: [
      requireAdministrator({ workspaceId, userId }),
      expireInvitation({ workspaceId, email, now }),
      insertInvitation(row),
      recordAuditEntry({ workspaceId, actor, action: 'member.invited', target: row.id, at: now, details }),
    ],
  }
}
