/**
 * The members of a workspace and their roles.
 *
 * A workspace always has exactly one owner: the index `members_one_owner` forbids a second one, and
 * only the transfer, which replaces the owner in one commit, changes the owner.
 *
 * When a member loses the right to invite, triggers on the table cancel their pending invitations,
 * whichever statement removes or demotes the member.
 */
import type { Address } from '../../../base/mail/address.js'
import { prepareRead, prepareWrite, type StatementBuilder } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import type { Role } from '../../../base/storage/tables/account-tables.js'

/** The roles that an administrator assigns. Only a transfer changes the owner. */
export const assignableRoles = ['admin', 'member'] as const
export type AssignableRole = (typeof assignableRoles)[number]

/** Members and pending invitations of a workspace. */
export const MAX_MEMBERS = 1_000

export const insertMember = prepareWrite<{
  id: string
  workspace_id: string
  user_id: string
  role: Role
  joined_at: number
}>(({ db, slot }) =>
  db.insertInto('members').values({
    id: slot('id'),
    workspace_id: slot('workspace_id'),
    user_id: slot('user_id'),
    role: slot('role'),
    joined_at: slot('joined_at'),
  }),
)

function selectMembers<Values extends { workspaceId: string }>({ db, slot }: StatementBuilder<Values>) {
  return db
    .selectFrom('members')
    .innerJoin('users', 'users.id', 'members.user_id')
    .select(['members.id', 'members.user_id', 'members.role', 'members.joined_at'])
    .select(['users.email', 'users.full_name', 'users.avatar_url'])
    .where('members.workspace_id', '=', slot('workspaceId'))
}

/** A page of the members, in the order in which they joined. */
export const membersPage = prepareRead<{ workspaceId: string; limit: number; offset: number }>()((builder) =>
  selectMembers(builder)
    .orderBy('members.joined_at')
    .orderBy('members.id')
    .limit(builder.slot('limit'))
    .offset(builder.slot('offset')),
)

export const memberById = prepareRead<{ workspaceId: string; id: string }>()((builder) =>
  selectMembers(builder).where('members.id', '=', builder.slot('id')),
)

export const memberByEmail = prepareRead<{ workspaceId: string; email: Address }>()((builder) =>
  selectMembers(builder).where('users.email', '=', builder.slot('email')),
)

/** The owner and the admins, who get the notices to the workspace. */
export const administratorsOf = prepareRead<{ workspaceId: string }>()((builder) =>
  selectMembers(builder).where('members.role', 'in', ['owner', 'admin']),
)

export const countMembers = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('members')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('workspace_id', '=', slot('workspaceId')),
)

/** Changes nothing. It comes first in a commit of that user, and misses when the user is no longer owner or admin. */
export const requireAdministrator = prepareWrite<{ workspaceId: string; userId: string }>(
  ({ db, slot }) =>
    db
      .updateTable('members')
      .set((eb) => ({ role: eb.ref('role') }))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('user_id', '=', slot('userId'))
      .where('role', 'in', ['owner', 'admin']),
  1,
)

/** Changes nothing. It comes first in a commit of that user, and misses when the user is no longer a member. */
export const requireMember = prepareWrite<{ workspaceId: string; userId: string }>(
  ({ db, slot }) =>
    db
      .updateTable('members')
      .set((eb) => ({ role: eb.ref('role') }))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('user_id', '=', slot('userId')),
  1,
)

/** Misses when there is no such member, or when the member is the owner. */
export const setRole = prepareWrite<{ workspaceId: string; id: string; role: AssignableRole }>(
  ({ db, slot }) =>
    db
      .updateTable('members')
      .set({ role: slot('role') })
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('role', '<>', 'owner'),
  1,
)

/** Misses when there is no such member, or when the member is the owner. */
const deleteMember = prepareWrite<{ workspaceId: string; id: string }>(
  ({ db, slot }) =>
    db
      .deleteFrom('members')
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id'))
      .where('role', '<>', 'owner'),
  1,
)

const revokeKeysOf = prepareWrite<{ workspaceId: string; userId: string; at: number }>(({ db, slot }) =>
  db
    .updateTable('api_keys')
    .set({ revoked_at: slot('at') })
    .where('workspace_id', '=', slot('workspaceId'))
    .where('user_id', '=', slot('userId'))
    .where('revoked_at', 'is', null),
)

/** Removes a member and revokes their keys permanently. Misses as `setRole` does. */
export function removeMember(member: { workspaceId: string; id: string; userId: string }, at: number): Write[] {
  return [deleteMember(member), revokeKeysOf({ ...member, at })]
}

/** Misses when `ownerId` is no longer the owner. */
const demoteOwner = prepareWrite<{ workspaceId: string; ownerId: string }>(
  ({ db, slot }) =>
    db
      .updateTable('members')
      .set({ role: 'admin' })
      .where('workspace_id', '=', slot('workspaceId'))
      .where('user_id', '=', slot('ownerId'))
      .where('role', '=', 'owner'),
  1,
)

/** Misses when the user is no longer a member. */
const promoteToOwner = prepareWrite<{ workspaceId: string; newOwnerId: string }>(
  ({ db, slot }) =>
    db
      .updateTable('members')
      .set({ role: 'owner' })
      .where('workspace_id', '=', slot('workspaceId'))
      .where('user_id', '=', slot('newOwnerId')),
  1,
)

/** Makes another member the owner. The former owner becomes an admin. */
export function transferOwnership(of: { workspaceId: string; ownerId: string; newOwnerId: string }): Write[] {
  return [demoteOwner(of), promoteToOwner(of)]
}
