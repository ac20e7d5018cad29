/**
 * `X-Service-Idempotency-Key`: the same key with the same content, within 24 hours, is
 * the same email; with other content it is a conflict.
 *
 * The key's row is written in the commit of the email itself: of equal requests at the
 * same moment one commits, the others violate the primary key and read its row.
 */
import { createHash } from 'node:crypto'
import { Refusal } from '../mail/refusal.js'
import { prepareRead, prepareWrite, type Read } from '../storage/prepared.js'
import type { Tables } from '../storage/tables.js'

export const IDEMPOTENCY_LIFETIME = 24 * 3_600_000
export const MAX_IDEMPOTENCY_KEY = 256

export const insertIdempotency = prepareWrite<Tables['idempotency']>(({ db, slot }) =>
  db.insertInto('idempotency').values({
    workspace_id: slot('workspace_id'),
    key: slot('key'),
    fingerprint: slot('fingerprint'),
    email_id: slot('email_id'),
    created_at: slot('created_at'),
  }),
)

export const removeOldIdempotency = prepareWrite<{ before: number }>(({ db, slot }) =>
  db.deleteFrom('idempotency').where('created_at', '<', slot('before')),
)

/** Lets a key be used afresh once its lifetime is over. */
export const expireIdempotency = prepareWrite<{ workspaceId: string; key: string; before: number }>(({ db, slot }) =>
  db
    .deleteFrom('idempotency')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('key', '=', slot('key'))
    .where('created_at', '<', slot('before')),
)

const byKey = prepareRead<{ workspaceId: string; key: string }>()(({ db, slot }) =>
  db
    .selectFrom('idempotency')
    .select(['fingerprint', 'email_id', 'created_at'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('key', '=', slot('key')),
)

/** SHA-256 over the parts, each with its length before it. */
export function fingerprintOf(parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part)
  return hash.digest('hex')
}

/** The email that this key made already, or null; throws a Refusal `conflict` when the content differs. */
export function madeBefore(
  read: Read,
  wanted: { readonly workspaceId: string; readonly key: string; readonly fingerprint: string },
  now: number,
): string | null {
  const row = byKey(read, wanted)[0]
  if (row === undefined || row.created_at < now - IDEMPOTENCY_LIFETIME) return null
  if (row.fingerprint !== wanted.fingerprint) {
    throw new Refusal('conflict', 'the idempotency key was used for another message', { value: wanted.key })
  }
  return row.email_id
}
