/**
 * Makes one-time links that let a user choose a password. The command line prints them (24 hours), or a mail has
 * them (one hour). The token has 256 random bits, and we store its SHA-256.
 *
 * A new password ends all links of the user, used or not.
 */

import { HOUR } from '../../../base/platform/time-units.js'
import type { Store } from '../../../base/storage/db/database.js'
import { prepareRead, prepareWrite } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import type { Tables } from '../../../base/storage/tables/tables.js'
import { generateToken, hashToken } from './session-records.js'

const lifetimes = { set: 24 * HOUR, reset: HOUR } as const

type LinkRow = Tables['password_links']

interface NewLink {
  readonly url: string
  readonly expiresAt: number
  readonly write: Write
}

const insertLink = prepareWrite<LinkRow>(({ db, slots }) =>
  db
    .insertInto('password_links')
    .values(slots(['token_hash', 'user_id', 'purpose', 'created_at', 'expires_at', 'used_at'])),
)

interface LinkRequest {
  readonly userId: string
  readonly purpose: LinkRow['purpose']
  /** The public URL without a slash at its end. */
  readonly publicUrl: string
  readonly now: number
}

export function buildPasswordLink({ userId, purpose, publicUrl, now }: LinkRequest): NewLink {
  const token = generateToken()
  const expiresAt = now + lifetimes[purpose]
  return {
    url: `${publicUrl}/ui/set-password#token=${token}`,
    expiresAt,
    write: insertLink({
      token_hash: hashToken(token),
      user_id: userId,
      purpose,
      created_at: now,
      expires_at: expiresAt,
      used_at: null,
    }),
  }
}

const linkByHash = prepareRead<{ hash: string }>()(({ db, slot }) =>
  db
    .selectFrom('password_links')
    .innerJoin('users', 'users.id', 'password_links.user_id')
    .select(['password_links.user_id', 'password_links.expires_at', 'password_links.used_at', 'users.email'])
    .where('password_links.token_hash', '=', slot('hash')),
)

/** Finds the link of a token, even one that was used or has expired. */
export async function findPasswordLink(
  read: Store['read'],
  token: string,
): Promise<Awaited<ReturnType<typeof linkByHash>>[number] | null> {
  return (await linkByHash(read, { hash: hashToken(token) }))[0] ?? null
}

const markUsed = prepareWrite<{ hash: string; now: number }>(
  ({ db, slot }) =>
    db
      .updateTable('password_links')
      .set({ used_at: slot('now') })
      .where('token_hash', '=', slot('hash'))
      .where('used_at', 'is', null)
      .where('expires_at', '>', slot('now')),
  1,
)

/** Misses when the link was used or has expired. */
export function usePasswordLink(token: string, now: number): Write {
  return markUsed({ hash: hashToken(token), now })
}

/** Ends the unused links of a user. */
export const endPasswordLinks = prepareWrite<{ userId: string; now: number }>(({ db, slot }) =>
  db
    .updateTable('password_links')
    .set({ used_at: slot('now') })
    .where('user_id', '=', slot('userId'))
    .where('used_at', 'is', null),
)

const oldLinks = prepareRead<{ now: number }>()(({ db, slot }) =>
  db.selectFrom('password_links').select('token_hash').where('expires_at', '<=', slot('now')).limit(200),
)

const removeLink = prepareWrite<{ token_hash: string }>(({ db, slot }) =>
  db.deleteFrom('password_links').where('token_hash', '=', slot('token_hash')),
)

/** Removes some of the links past their time. Resolves to whether there may be more. */
export async function removeOldPasswordLinks({ read, commit }: Store, now: number): Promise<boolean> {
  const old = await oldLinks(read, { now })
  if (old.length === 0) return false
  await commit(old.map(removeLink))
  return true
}
