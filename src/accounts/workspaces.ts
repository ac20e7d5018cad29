/**
 * Workspaces and the people in them. A workspace is born with its owner and a first
 * key, in one commit: there is no moment in which nobody may enter.
 */
import type { Address } from '../mail/address.js'
import { uuidv7 } from '../platform/ids.js'
import { prepareRead, prepareWrite, type Read } from '../storage/prepared.js'
import type { Role, Tables } from '../storage/tables.js'
import type { Write } from '../storage/write.js'
import { insertKey, type NewKey, newKey } from './api-keys.js'
import { slugOf } from './slug.js'

const insertWorkspace = prepareWrite<Omit<Tables['workspaces'], 'icon_url'>>(({ db, slot }) =>
  db.insertInto('workspaces').values({
    id: slot('id'),
    name: slot('name'),
    slug: slot('slug'),
    plan: slot('plan'),
    created_at: slot('created_at'),
  }),
)

const insertUser = prepareWrite<{ id: string; email: string; created_at: number }>(({ db, slot }) =>
  db.insertInto('users').values({
    id: slot('id'),
    email: slot('email'),
    full_name: '',
    created_at: slot('created_at'),
  }),
)

const insertMember = prepareWrite<{ id: string; workspace_id: string; user_id: string; role: Role; joined_at: number }>(
  ({ db, slot }) =>
    db.insertInto('members').values({
      id: slot('id'),
      workspace_id: slot('workspace_id'),
      user_id: slot('user_id'),
      role: slot('role'),
      joined_at: slot('joined_at'),
    }),
)

const workspaceBySlug = prepareRead<{ slug: string }>()(({ db, slot }) =>
  db.selectFrom('workspaces').select('id').where('slug', '=', slot('slug')),
)

const userByEmail = prepareRead<{ email: string }>()(({ db, slot }) =>
  db.selectFrom('users').select('id').where('email', '=', slot('email')),
)

export const allWorkspaces = prepareRead<Record<never, never>>()(({ db }) =>
  db.selectFrom('workspaces').select(['id', 'name', 'slug', 'plan', 'created_at']).orderBy('created_at').orderBy('id'),
)

/** The workspace of the people behind the service: mail to its postmaster is theirs. */
export const oldestWorkspace = prepareRead<Record<never, never>>()(({ db }) =>
  db.selectFrom('workspaces').select('id').orderBy('created_at').orderBy('id').limit(1),
)

export const ownerOf = prepareRead<{ workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('members')
    .select('user_id')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('role', '=', 'owner'),
)

/** What a user is in a workspace; none where they do not belong to it. */
export const roleIn = prepareRead<{ workspaceId: string; userId: string }>()(({ db, slot }) =>
  db
    .selectFrom('members')
    .select('role')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('user_id', '=', slot('userId')),
)

export interface Founded {
  readonly workspaceId: string
  readonly userId: string
  readonly key: NewKey
  readonly writes: readonly Write[]
}

/**
 * A workspace with `email` as its owner (a new user, or one who is there) and a first key that may do all.
 * `plan`: the configured default, `limits.default_plan`.
 */
export function foundWorkspace(read: Read, name: string, email: Address, plan: string, now: number): Founded {
  const workspaceId = `ws_${uuidv7(now)}`
  const known = userByEmail(read, { email: email.toLowerCase() })[0]
  const userId = known?.id ?? uuidv7(now)
  const key = newKey({ workspaceId, userId, name: 'first key', now })
  return {
    workspaceId,
    userId,
    key,
    writes: [
      insertWorkspace({
        id: workspaceId,
        name,
        slug: slugOf(name, (slug) => workspaceBySlug(read, { slug }).length > 0),
        plan,
        created_at: now,
      }),
      ...(known === undefined ? [insertUser({ id: userId, email: email.toLowerCase(), created_at: now })] : []),
      insertMember({ id: uuidv7(now), workspace_id: workspaceId, user_id: userId, role: 'owner', joined_at: now }),
      insertKey(key.row),
    ],
  }
}
