/**
 * Who belongs to a workspace, and as what.
 *
 * A workspace has exactly one owner, always: the index `members_one_owner` allows no second
 * one, and no statement here touches the owner but the transfer, which puts another in its
 * place by the same commit.
 *
 * What a member who may invite has invited ends with that right: triggers on the table cancel it,
 * whichever statement removes or demotes them.
 */

import type { Address } from '../../mail/address.js'
import { prepareRead, prepareWrite, type StatementBuilder } from '../../storage/prepared.js'
import type { Role } from '../../storage/tables/account-tables.js'
import type { Write } from '../../storage/writer/write.js'

/** What may be given; who owns is changed by a transfer alone. */
export const assignableRoles = ['admin', 'member'] as const
export type AssignableRole = (typeof assignableRoles)[number]

/** With those who are invited. */
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

/** Some of them, in the order in which they came. */
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

/** Owner and admins: those who hear what the workspace must know. */
export const administratorsOf = prepareRead<{ workspaceId: string }>()((builder) =>
  selectMembers(builder).where('members.role', 'in', ['owner', 'admin']),
)

export const countMembers = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('members')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('workspace_id', '=', slot('workspaceId')),
)

/** Changes nothing; misses when the user may not administrate the workspace any more. First in a commit of theirs. */
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

/** Changes nothing; misses when the user does not belong to the workspace any more. First in a commit of theirs. */
export const requireMember = prepareWrite<{ workspaceId: string; userId: string }>(
  ({ db, slot }) =>
    db
      .updateTable('members')
      .set((eb) => ({ role: eb.ref('role') }))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('user_id', '=', slot('userId')),
  1,
)

/** Misses when there is no such member, or it is the owner. */
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

/** Misses when there is no such member, or it is the owner. */
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

/** With their keys, for good: whoever is invited again makes new ones. Misses as `setRole` does. */
export function removeMember(member: { workspaceId: string; id: string; userId: string }, at: number): Write[] {
  return [deleteMember(member), revokeKeysOf({ ...member, at })]
}

/** Misses when the owner is not who it was. */
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

/** Misses when the user is no member any more. */
const promoteToOwner = prepareWrite<{ workspaceId: string; newOwnerId: string }>(
  ({ db, slot }) =>
    db
      .updateTable('members')
      .set({ role: 'owner' })
      .where('workspace_id', '=', slot('workspaceId'))
      .where('user_id', '=', slot('newOwnerId')),
  1,
)

/** Who owned it stays, as an admin. */
export function transferOwnership(of: { workspaceId: string; ownerId: string; newOwnerId: string }): Write[] {
  return [demoteOwner(of), promoteToOwner(of)]
}
