/**
 * The routes of members: list, invite, change the role, remove.
 *
 * They are authorized by the role of the key's user in the workspace that the request names. The
 * owner cannot be changed or removed here: a workspace always has exactly one.
 */

import { z } from 'zod'
import type { ReadSettings } from '../../../base/config/live-config.js'
import type { Address } from '../../../base/mail/address.js'
import { Refusal } from '../../../base/mail/refusal.js'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import type { Store } from '../../../base/storage/db/database.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { tryUniqueCommit } from '../../../base/storage/db/write.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import { recordEvent } from '../../../records/events/event-log.js'
import { isSuppressed } from '../../../records/suppressions/suppressions.js'
import { actorOf, recordAuditEntry } from '../../../workspaces/accounts/access/audit-log.js'
import { requireUnbound } from '../../../workspaces/accounts/keys/key-limits.js'
import { chargeInvitation } from '../../../workspaces/accounts/people/invitation-limits.js'
import { pendingOfInviter } from '../../../workspaces/accounts/people/invitations.js'
import {
  buildInvitation,
  type InvitationRequest,
  requireInvitable,
} from '../../../workspaces/accounts/people/invite.js'
import {
  assignableRoles,
  memberById,
  membersPage,
  removeMember,
  requireAdministrator,
  setRole,
} from '../../../workspaces/accounts/people/members.js'
import type { Changes } from '../changes.js'
import { type Answer, json } from '../http/answer.js'
import { address, notFound, timestamp, uuid } from '../http/input/values.js'
import { type Call, type Route, route } from '../http/route/route.js'
import { authorizeInWorkspace, sliceFields, type WorkspaceCaller, workspaceId } from './named-workspace.js'

interface MemberDeps extends Store {
  readonly settings: ReadSettings
  readonly changes: Changes
}

const role = z.enum(assignableRoles, `allowed: ${assignableRoles.join(', ')}`)
const memberRequest = z.strictObject({ email: address, workspaceId, role }).meta({
  id: 'MemberRequest',
  example: { email: 'bob@example.com', workspaceId: 'ws_01a1ff35-3880-7ef5-bbba-0d7e1de2529c', role: 'member' },
})
const memberChange = z.strictObject({ workspaceId, role }).meta({ id: 'MemberChange' })
const listQuery = z.strictObject({ workspaceId, ...sliceFields })
const removeQuery = z.strictObject({ workspaceId })

export const member = z
  .strictObject({
    id: uuid,
    role: z.enum(['owner', 'admin', 'member']),
    joined_at: timestamp,
    user: z.strictObject({
      id: uuid,
      email: z.string(),
      full_name: z.string(),
      avatar_url: z.string().nullable(),
    }),
  })
  .meta({ id: 'Member' })
const invitation = z
  .strictObject({ id: uuid, email: z.string(), role, expires_at: timestamp, created_at: timestamp })
  .meta({ id: 'CreatedInvitation' })
const changedMember = z.strictObject({ id: uuid, role, updated_at: timestamp }).meta({ id: 'ChangedMember' })
const removedMember = z.strictObject({ removed: z.literal(true), id: uuid })
const withData = <Shape extends z.ZodType>(data: Shape) => z.strictObject({ data })

const tag = 'Members'

export function memberRoutes(deps: MemberDeps): readonly Route[] {
  return [listRoute(deps), createRoute(deps), patchRoute(deps), removeRoute(deps)]
}

function listRoute({ read }: MemberDeps): Route {
  return route({
    method: 'GET',
    path: '/members',
    area: 'named-read',
    tag,
    summary: 'List the members of a workspace, in the order in which they joined',
    query: listQuery,
    answers: { 200: { description: 'Some of them.', schema: withData(z.array(member)) } },
    refusals: ['not_found', 'missing_required_field'],
    run: async ({ principal, query: { workspaceId, ...query } }) => {
      await authorizeInWorkspace(read, principal, workspaceId, 'admin-read')
      return json(200, { data: (await membersPage(read, { workspaceId, ...query })).map(toMemberResource) })
    },
  })
}

function createRoute(deps: MemberDeps): Route {
  return route({
    method: 'POST',
    path: '/members',
    area: 'named',
    tag,
    summary: 'Invite a person to a workspace',
    description:
      'For owner and admins, with an unrestricted key. A mail with a link is sent, which works once, for seven days, ' +
      'while the inviter may invite.',
    body: memberRequest,
    answers: { 201: { description: 'The invitation.', schema: withData(invitation) } },
    refusals: ['not_found', 'conflict', 'invalid_email_address', 'all_recipients_suppressed'],
    run: (call) => runInvite(deps, call),
  })
}

async function runInvite(
  deps: MemberDeps,
  { principal, body, now }: Call<undefined, z.output<typeof memberRequest>>,
): Promise<Answer> {
  const { read, commit } = deps
  const { workspaceId, userId } = await authorizeInWorkspace(read, principal, body.workspaceId, 'admin')
  await requireUnbound(read, principal, 'invite')
  const { email, role } = body
  const request: InvitationRequest = { workspaceId, email, role, userId, actor: actorOf(principal), now }
  await requireInvitable(read, request)
  await refuseSuppressed(read, email)
  const charge = chargeInvitation(read, { userId, email, now }, deps.settings().limits.invitations_per_day)
  const { row, writes } = await buildInvitation(read, request)
  const data = { invitation_id: row.id, email: row.email, role }
  const event = { workspaceId, type: 'invitation.created', emailId: null, recipient: row.email, at: now, data } as const
  if (!(await tryUniqueCommit(commit([...charge.writes, ...writes, recordEvent(event)])))) {
    await authorizeInWorkspace(read, principal, workspaceId, 'admin')
    await requireInvitable(read, request)
    const conflict = new Refusal('conflict', 'an invitation of this address has just ended: try again', { email })
    throw (await charge.findRefusal()) ?? conflict
  }
  deps.changes.memberInvited()
  const { id, expires_at, created_at } = row
  return json(201, { data: { id, email: row.email, role, expires_at: iso(expires_at), created_at: iso(created_at) } })
}

/** Throws a Refusal for an address that no mail of the service can reach. */
async function refuseSuppressed(read: Read, email: Address): Promise<void> {
  if (!(await isSuppressed(read, SERVICE_WORKSPACE, email))) return
  const message = 'this address has bounced: the operator of the service must remove its suppression first'
  throw new Refusal('all-recipients-suppressed', message, { suppressed: [email] })
}

function patchRoute(deps: MemberDeps): Route {
  return route({
    method: 'PATCH',
    path: '/members/:id',
    area: 'named',
    tag,
    summary: 'Change the role of a member',
    description:
      'For owner and admins; only an unrestricted key may make a member an admin. The role of the owner cannot be ' +
      'changed: its owner transfers a workspace in the dashboard. Pending invitations by an admin who becomes a ' +
      'member are cancelled.',
    body: memberChange,
    answers: { 200: { description: 'The member.', schema: withData(changedMember) } },
    refusals: ['not_found', 'conflict'],
    run: async ({ principal, params: { id = '' }, body: { workspaceId, role }, now }) => {
      const { read, commit, changes } = deps
      const named = await authorizeInWorkspace(read, principal, workspaceId, 'admin')
      if (role === 'admin') await requireUnbound(read, principal, 'give a member more rights')
      const { user_id, role: before } = await requireChangeableMember(read, workspaceId, id)
      const cancelled = role === 'admin' ? {} : await cancelledInvitationDetails(read, workspaceId, user_id, now)
      const details = { user_id, from: before, to: role, ...cancelled }
      const act = {
        workspaceId,
        actor: actorOf(principal),
        action: 'member.role_changed',
        target: id,
        at: now,
      } as const
      const writes = [
        requireAdministrator(named),
        setRole({ workspaceId, id, role }),
        recordAuditEntry({ ...act, details }),
      ]
      if (!(await tryUniqueCommit(commit(writes))))
        throw await explainMiss(deps, named, id, () => authorizeInWorkspace(read, principal, workspaceId, 'admin'))
      await changes.memberChanged({ workspaceId, userId: user_id, removed: false })
      return json(200, { data: { id, role, updated_at: iso(now) } })
    },
  })
}

function removeRoute(deps: MemberDeps): Route {
  return route({
    method: 'DELETE',
    path: '/members/:id',
    area: 'named',
    tag,
    summary: 'Remove a member',
    description:
      "For owner and admins. The member's keys of this workspace are revoked, their SMTP sessions end, and pending " +
      'invitations by the member are cancelled.',
    query: removeQuery,
    answers: { 200: { description: 'The member is removed.', schema: withData(removedMember) } },
    refusals: ['not_found', 'conflict', 'missing_required_field'],
    run: async ({ principal, params: { id = '' }, query: { workspaceId }, now }) => {
      const { read, commit, changes } = deps
      const named = await authorizeInWorkspace(read, principal, workspaceId, 'admin')
      const { user_id: userId, email, role } = await requireChangeableMember(read, workspaceId, id)
      const details = {
        user_id: userId,
        email,
        role,
        ...(await cancelledInvitationDetails(read, workspaceId, userId, now)),
      }
      const act = { workspaceId, actor: actorOf(principal), action: 'member.removed', target: id, at: now } as const
      const gone = removeMember({ workspaceId, id, userId }, now)
      const writes = [requireAdministrator(named), ...gone, recordAuditEntry({ ...act, details })]
      if (!(await tryUniqueCommit(commit(writes))))
        throw await explainMiss(deps, named, id, () => authorizeInWorkspace(read, principal, workspaceId, 'admin'))
      await changes.memberChanged({ workspaceId, userId, removed: true })
      return json(200, { data: { removed: true, id } })
    },
  })
}

/** Details for the audit log: the invitations that are cancelled because this user may no longer invite. */
async function cancelledInvitationDetails(
  read: Read,
  workspaceId: string,
  userId: string,
  now: number,
): Promise<Readonly<Record<string, unknown>>> {
  const ids = (await pendingOfInviter(read, { workspaceId, userId, now })).map(({ id }) => id)
  return ids.length === 0 ? {} : { cancelled_invitations: ids }
}

type Row = Awaited<ReturnType<typeof memberById>>[number]

/** Throws a Refusal if there is no such member, or it is the owner. */
async function requireChangeableMember(read: Read, workspaceId: string, id: string): Promise<Row> {
  const [row] = await memberById(read, { workspaceId, id })
  if (row === undefined) throw notFound('not-found', 'member', id)
  if (row.role !== 'owner') return row
  const message =
    'the owner of a workspace cannot be changed or removed: transfer the workspace to another member first'
  throw new Refusal('conflict', message, { id })
}

/**
 * Why the commit missed: the caller lost the right, the member was removed, or is the owner now. Throws or returns a
 * Refusal.
 */
async function explainMiss(
  { read }: MemberDeps,
  { workspaceId }: WorkspaceCaller,
  id: string,
  stillMay: () => Promise<unknown>,
): Promise<Refusal> {
  await stillMay()
  await requireChangeableMember(read, workspaceId, id)
  return new Refusal('conflict', 'the member has just changed: try again', { id })
}

export function toMemberResource({
  id,
  role,
  joined_at,
  user_id,
  email,
  full_name,
  avatar_url,
}: Row): z.output<typeof member> {
  return { id, role, joined_at: iso(joined_at), user: { id: user_id, email, full_name, avatar_url } }
}
