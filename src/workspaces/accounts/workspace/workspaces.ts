/**
 * A *workspace* is a tenant: the keys, domains, emails and members of one team or customer. This file reads and
 * changes its record. One commit creates a workspace and its owner, on the command line with a first key, so a
 * workspace without an owner never exists.
 */
import { type Address, toLowerCaseAddress } from '../../../base/mail/address.js'
import { uuidv7 } from '../../../base/platform/ids.js'
import { prepareRead, prepareWrite, type Read, type StatementBuilder } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import type { Tables } from '../../../base/storage/tables/tables.js'
import { generateKey, insertKey, type NewKey } from '../keys/api-keys.js'
import { insertMember } from '../people/members.js'
import { insertUser, requireUser, userByEmail } from '../people/users.js'

const insertWorkspace = prepareWrite<Omit<Tables['workspaces'], 'language' | 'postal_address'>>(({ db, slot }) =>
  db.insertInto('workspaces').values({
    id: slot('id'),
    name: slot('name'),
    slug: slot('slug'),
    icon_url: slot('icon_url'),
    plan: slot('plan'),
    created_at: slot('created_at'),
  }),
)

const workspaceBySlug = prepareRead<{ slug: string }>()(({ db, slot }) =>
  db.selectFrom('workspaces').select('id').where('slug', '=', slot('slug')),
)

export const allWorkspaces = prepareRead<Record<never, never>>()(({ db }) =>
  db.selectFrom('workspaces').select(['id', 'name', 'slug', 'plan', 'created_at']).orderBy('created_at').orderBy('id'),
)

/** A page of all workspaces by slug, with their owners. It has those whose slug is from `prefix` up to `end`. */
export const workspacesBySlug = prepareRead<{ after: string; prefix: string; end: string; limit: number }>()(
  ({ db, slot }) =>
    selectWithOwner(db)
      .where('workspaces.slug', '>', slot('after'))
      .where('workspaces.slug', '>=', slot('prefix'))
      .where('workspaces.slug', '<', slot('end'))
      .orderBy('workspaces.slug')
      .limit(slot('limit')),
)

/** There is no row if the workspace was deleted. */
export const workspaceWithOwner = prepareRead<{ id: string }>()(({ db, slot }) =>
  selectWithOwner(db).where('workspaces.id', '=', slot('id')),
)

function selectWithOwner(db: StatementBuilder<object>['db']) {
  return db
    .selectFrom('workspaces')
    .innerJoin('members', 'members.workspace_id', 'workspaces.id')
    .innerJoin('users', 'users.id', 'members.user_id')
    .select(['workspaces.id', 'workspaces.name', 'workspaces.slug', 'workspaces.plan', 'workspaces.created_at'])
    .select(['users.id as owner_id', 'users.email as owner_email', 'users.password_hash as owner_password'])
    .where('members.role', '=', 'owner')
}

export const ownerOf = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('members')
    .select('user_id')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('role', '=', 'owner'),
)

/** Who a workspace counts for: the user who owns it, or the workspace itself if it has no owner. */
export async function findOwnerId(read: Read, workspaceId: string): Promise<string> {
  return (await ownerOf(read, { workspaceId }))[0]?.user_id ?? workspaceId
}

/** The role of a user in a workspace. There is no row if the user is not a member. */
export const roleIn = prepareRead<{ workspaceId: string; userId: string }>()(({ db, slot }) =>
  db
    .selectFrom('members')
    .select('role')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('user_id', '=', slot('userId')),
)

/** Workspaces as a member sees them, with the member's role. */
function selectUserWorkspaces<Values extends { userId: string }>({ db, slot }: StatementBuilder<Values>) {
  return db
    .selectFrom('members')
    .innerJoin('workspaces', 'workspaces.id', 'members.workspace_id')
    .innerJoin('members as owners', 'owners.workspace_id', 'workspaces.id')
    .select(['workspaces.id', 'workspaces.name', 'workspaces.slug', 'workspaces.icon_url', 'workspaces.created_at'])
    .select(['workspaces.language', 'workspaces.postal_address'])
    .select(['members.role', 'owners.user_id as owner_id'])
    .where('members.user_id', '=', slot('userId'))
    .where('owners.role', '=', 'owner')
}

/** A page of the workspaces that a user belongs to, oldest first. */
export const workspacesOfUser = prepareRead<{ userId: string; limit: number; offset: number }>()((builder) =>
  selectUserWorkspaces(builder)
    .orderBy('workspaces.created_at')
    .orderBy('workspaces.id')
    .limit(builder.slot('limit'))
    .offset(builder.slot('offset')),
)

export const workspaceOfUser = prepareRead<{ userId: string; workspaceId: string }>()((builder) =>
  selectUserWorkspaces(builder).where('workspaces.id', '=', builder.slot('workspaceId')),
)

/** There is no row if the workspace was deleted. */
export const workspaceById = prepareRead<{ id: string }>()(({ db, slot }) =>
  db.selectFrom('workspaces').select('id').where('id', '=', slot('id')),
)

/** Changes nothing. It comes first in a commit of many writes, and misses when the workspace was deleted. */
export const requireWorkspace = prepareWrite<{ id: string }>(
  ({ db, slot }) =>
    db
      .updateTable('workspaces')
      .set((eb) => ({ name: eb.ref('name') }))
      .where('id', '=', slot('id')),
  1,
)

/** How many workspaces a user owns. */
export const countOwned = prepareRead<{ userId: string }>()(({ db, slot }) =>
  db
    .selectFrom('members')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('user_id', '=', slot('userId'))
    .where('role', '=', 'owner'),
)

/** The oldest of the workspaces that a user owns. Ids begin with the time. */
export const oldestOwned = prepareRead<{ userId: string }>()(({ db, slot }) =>
  db
    .selectFrom('members')
    .select(({ fn }) => fn.min<string | null>('workspace_id').as('id'))
    .where('user_id', '=', slot('userId'))
    .where('role', '=', 'owner'),
)

const ownedBeside = prepareRead<{ userId: string; workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('members')
    .select('workspace_id')
    .where('user_id', '=', slot('userId'))
    .where('role', '=', 'owner')
    .where('workspace_id', '!=', slot('workspaceId'))
    .limit(1),
)

/** Tells whether this transfer makes two owners of one, each with separate limits. */
export async function addsOwner(
  read: Read,
  { workspaceId, from, to }: { readonly workspaceId: string; readonly from: string; readonly to: string },
): Promise<boolean> {
  const owns = async (userId: string): Promise<boolean> => (await ownedBeside(read, { userId, workspaceId })).length > 0
  return (await owns(from)) && !(await owns(to))
}

/** The slug follows the name. */
const renameWorkspace = prepareWrite<{ id: string; name: string; slug: string }>(
  ({ db, slot }) =>
    db
      .updateTable('workspaces')
      .set({ name: slot('name'), slug: slot('slug') })
      .where('id', '=', slot('id')),
  1,
)

const setIcon = prepareWrite<{ id: string; iconUrl: string | null }>(
  ({ db, slot }) =>
    db
      .updateTable('workspaces')
      .set({ icon_url: slot('iconUrl') })
      .where('id', '=', slot('id')),
  1,
)

/** Changes nothing. It comes first in a commit of the owner, and misses when the user is no longer the owner. */
export const requireOwner = prepareWrite<{ workspaceId: string; userId: string }>(
  ({ db, slot }) =>
    db
      .updateTable('members')
      .set({ role: 'owner' })
      .where('workspace_id', '=', slot('workspaceId'))
      .where('user_id', '=', slot('userId'))
      .where('role', '=', 'owner'),
  1,
)

/** Undefined fields stay unchanged. Each write misses when the workspace is deleted. */
export async function changeWorkspace(
  read: Read,
  id: string,
  { name, iconUrl }: { readonly name?: string | undefined; readonly iconUrl?: string | null | undefined },
): Promise<Write[]> {
  return [
    ...(name === undefined ? [] : [renameWorkspace({ id, name, slug: await findFreeSlug(read, name, id) })]),
    ...(iconUrl === undefined ? [] : [setIcon({ id, iconUrl })]),
  ]
}

/** A slug that no other workspace has now. The unique index of the table decides. */
async function findFreeSlug(read: Read, name: string, own: string): Promise<string> {
  return buildUniqueSlug(name, async (slug) => (await workspaceBySlug(read, { slug })).some(({ id }) => id !== own))
}

/** Joins the words of the name by `-` in lower case, and makes the result unique with a number: `acme`, `acme-2`. */
export async function buildUniqueSlug(name: string, isTaken: (slug: string) => Promise<boolean>): Promise<string> {
  const words = name
    .normalize('NFKD')
    // Upper case first, because it turns ß into ss.
    .toUpperCase()
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .match(/[a-z0-9]+/g)
  const base = (words ?? ['workspace']).join('-').slice(0, 50)
  if (!(await isTaken(base))) return base
  let number = 2
  while (await isTaken(`${base}-${number}`)) number += 1
  return `${base}-${number}`
}

interface WorkspaceRequest {
  readonly name: string
  readonly iconUrl: string | null
  /** The owner, who exists or is created in the same commit. */
  readonly userId: string
  /** The configured default, `limits.default_plan`. */
  readonly plan: string
  readonly now: number
}

interface NewWorkspace {
  readonly id: string
  readonly writes: readonly Write[]
}

export async function buildWorkspace(
  read: Read,
  { name, iconUrl, userId, plan, now }: WorkspaceRequest,
): Promise<NewWorkspace> {
  const id = `ws_${uuidv7(now)}`
  const slug = await findFreeSlug(read, name, id)
  return {
    id,
    writes: [
      insertWorkspace({ id, name, slug, icon_url: iconUrl, plan, created_at: now }),
      insertMember({ id: uuidv7(now), workspace_id: id, user_id: userId, role: 'owner', joined_at: now }),
    ],
  }
}

interface OwnedWorkspace {
  readonly workspaceId: string
  readonly userId: string
  readonly writes: readonly Write[]
}

export interface NewWorkspaceWithOwner extends OwnedWorkspace {
  readonly key: NewKey
}

interface NewOwnedWorkspace {
  readonly name: string
  /** The owner: a new user, or an existing one. */
  readonly email: Address
  readonly plan: string
  readonly now: number
}

/** A workspace and its owner, without a key. */
export async function buildOwnedWorkspace(
  read: Read,
  { name, email: given, plan, now }: NewOwnedWorkspace,
): Promise<OwnedWorkspace> {
  const email = toLowerCaseAddress(given)
  const [known] = await userByEmail(read, { email })
  const userId = known?.id ?? uuidv7(now)
  const { id: workspaceId, writes } = await buildWorkspace(read, { name, iconUrl: null, userId, plan, now })
  const user = insertUser({ id: userId, email, full_name: '', password_hash: null, created_at: now })
  return { workspaceId, userId, writes: [known === undefined ? user : requireUser({ id: userId }), ...writes] }
}

/** A workspace with its owner and a first key that may do everything. */
export async function buildWorkspaceWithOwner(
  read: Read,
  name: string,
  email: Address,
  plan: string,
  now: number,
): Promise<NewWorkspaceWithOwner> {
  const { workspaceId, userId, writes } = await buildOwnedWorkspace(read, { name, email, plan, now })
  const key = generateKey({ workspaceId, userId, name: 'first key', now })
  return { workspaceId, userId, key, writes: [...writes, insertKey(key.row)] }
}
