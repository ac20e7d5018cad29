/**
 * The users of the service. Their key is the mail address, stored in lower case.
 *
 * A user may belong to many workspaces. We keep a user whom all of them removed, so that the account can join again
 * with its password. We erase a user only with the last workspace that the user belongs to
 * (`storage/maintenance/erase.ts`).
 */
import type { Address } from '../../../base/mail/address.js'
import { prepareRead, prepareWrite } from '../../../base/storage/db/prepared.js'

interface NewUser {
  readonly id: string
  readonly email: Address
  readonly full_name: string
  readonly password_hash: string | null
  readonly created_at: number
}

export const insertUser = prepareWrite<NewUser>(({ db, slot }) =>
  db.insertInto('users').values({
    id: slot('id'),
    email: slot('email'),
    full_name: slot('full_name'),
    password_hash: slot('password_hash'),
    created_at: slot('created_at'),
  }),
)

const userColumns = ['id', 'email', 'full_name', 'avatar_url', 'password_hash', 'created_at'] as const

export const userByEmail = prepareRead<{ email: Address }>()(({ db, slot }) =>
  db.selectFrom('users').select(userColumns).where('email', '=', slot('email')),
)

export const userById = prepareRead<{ id: string }>()(({ db, slot }) =>
  db.selectFrom('users').select(userColumns).where('id', '=', slot('id')),
)

/** All users for the command line, in the order of their addresses. */
export const allUsers = prepareRead<Record<never, never>>()(({ db }) =>
  db.selectFrom('users').select(userColumns).orderBy('email'),
)

/** Misses when the user does not exist. */
export const setPassword = prepareWrite<{ id: string; hash: string }>(
  ({ db, slot }) =>
    db
      .updateTable('users')
      .set({ password_hash: slot('hash') })
      .where('id', '=', slot('id')),
  1,
)

/** Changes nothing. Misses when the user was erased with a workspace in the meantime. */
export const requireUser = prepareWrite<{ id: string }>(
  ({ db, slot }) =>
    db
      .updateTable('users')
      .set((eb) => ({ email: eb.ref('email') }))
      .where('id', '=', slot('id')),
  1,
)

/** Sets the name of a user without one, because the command line creates users with an address only. */
export const setMissingName = prepareWrite<{ id: string; name: string }>(({ db, slot }) =>
  db
    .updateTable('users')
    .set({ full_name: slot('name') })
    .where('id', '=', slot('id'))
    .where('full_name', '=', ''),
)

/** Misses when the user does not exist. */
export const setName = prepareWrite<{ id: string; name: string }>(
  ({ db, slot }) =>
    db
      .updateTable('users')
      .set({ full_name: slot('name') })
      .where('id', '=', slot('id')),
  1,
)
