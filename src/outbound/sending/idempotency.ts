/**
 * Remembers idempotency keys (`Idempotency-Key`, `X-Service-Idempotency-Key`). Within 24 hours, the same key with the
 * same content gives the same email; with other content it is a conflict.
 *
 * The commit of the email writes the key's row (`email-committer.ts`). SMTP and REST share the keys of a workspace, but
 * the fingerprints of their requests are never equal.
 *
 * A request that is stored in parts writes the row with its first part, and changes it with each further one. If it ends
 * before the last part, the next request with the key goes on after the parts that are stored.
 */
import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import { Refusal } from '../../base/mail/refusal.js'
import type { Store } from '../../base/storage/db/database.js'
import { prepareRead, prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import type { Write } from '../../base/storage/db/write.js'
import type { Tables } from '../../base/storage/tables/tables.js'

export const IDEMPOTENCY_LIFETIME = 24 * 3_600_000
export const MAX_IDEMPOTENCY_KEY = 256

const insertIdempotency = prepareWrite<Tables['idempotency']>(({ db, slot }) =>
  db.insertInto('idempotency').values({
    workspace_id: slot('workspace_id'),
    key: slot('key'),
    fingerprint: slot('fingerprint'),
    email_id: slot('email_id'),
    answer: slot('answer'),
    progress: slot('progress'),
    created_at: slot('created_at'),
  }),
)

/** Misses if the request is no longer where it was: another with the same key has gone on with it. */
export const advanceIdempotency = prepareWrite<
  Pick<Tables['idempotency'], 'workspace_id' | 'key' | 'answer' | 'progress' | 'created_at'> & { before: number }
>(
  ({ db, slot, slots }) =>
    db
      .updateTable('idempotency')
      .set(slots(['answer', 'progress', 'created_at']))
      .where('workspace_id', '=', slot('workspace_id'))
      .where('key', '=', slot('key'))
      .where('progress', '=', slot('before')),
  1,
)

/** Deletes a key whose lifetime is over, so that it can be used again. */
const expireIdempotency = prepareWrite<{ workspaceId: string; key: string; before: number }>(({ db, slot }) =>
  db
    .deleteFrom('idempotency')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('key', '=', slot('key'))
    .where('created_at', '<', slot('before')),
)

/** Deletes a key whose use had this answer, so that it can be used again. It changes nothing if the key has another answer. */
export const freeKey = prepareWrite<{ workspaceId: string; key: string; answer: string }>(({ db, slot }) =>
  db
    .deleteFrom('idempotency')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('key', '=', slot('key'))
    .where('answer', '=', slot('answer')),
)

/** The writes that store a key with its first use. They violate the primary key if an equal request was first. */
export function noteKey({ workspaceId, key, fingerprint }: KeyUse, becomes: EarlierUse, now: number): Write[] {
  return [
    expireIdempotency({ workspaceId, key, before: now - IDEMPOTENCY_LIFETIME }),
    insertIdempotency({
      workspace_id: workspaceId,
      key,
      fingerprint,
      email_id: becomes.emailId,
      answer: becomes.answer,
      progress: becomes.progress,
      created_at: now,
    }),
  ]
}

const BATCH_SIZE = 500
/** The most bytes of answers that one step deletes. A single answer may be that of a batch. */
const BATCH_BYTES = 4 * 1_048_576

const selectOldest = prepareRead<{ before: number }>()(({ db, slot }) =>
  db
    .selectFrom('idempotency')
    .select(['workspace_id', 'key', sql<number>`coalesce(octet_length(answer), 0)`.as('bytes')])
    .where('created_at', '<', slot('before'))
    .orderBy('created_at')
    .limit(BATCH_SIZE),
)

/** Deletes the oldest keys from before `before`, at most one step of them. Resolves to true if there may be more. */
export async function removeExpiredKeys({ read, commit }: Store, before: number): Promise<boolean> {
  const rows = await selectOldest(read, { before })
  if (rows.length === 0) return false
  let bytes = 0
  const over = rows.findIndex((row) => {
    bytes += row.bytes
    return bytes > BATCH_BYTES
  })
  const expired = over === -1 ? rows : rows.slice(0, Math.max(1, over))
  await commit(expired.map(({ workspace_id: workspaceId, key }) => expireIdempotency({ workspaceId, key, before })))
  return rows.length === BATCH_SIZE || expired.length < rows.length
}

const byKey = prepareRead<{ workspaceId: string; key: string }>()(({ db, slot }) =>
  db
    .selectFrom('idempotency')
    .select(['fingerprint', 'email_id', 'answer', 'progress', 'created_at'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('key', '=', slot('key')),
)

/** Returns the SHA-256 over the parts, each prefixed with its length. */
export function fingerprintOf(parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part)
  return hash.digest('hex')
}

/** Bytes that are hashed in one turn of the event loop. */
const SLICE = 1_048_576

/** As `fingerprintOf`, for parts of megabytes. It yields to the event loop. */
export async function fingerprintInSteps(parts: readonly (string | Buffer)[]): Promise<string> {
  const hash = createHash('sha256')
  let inTurn = 0
  for (const part of parts) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : part
    hash.update(`${bytes.length}:`)
    for (let at = 0; at < bytes.length; at += SLICE) {
      const slice = bytes.subarray(at, at + SLICE)
      hash.update(slice)
      inTurn += slice.length
      if (inTurn < SLICE) continue
      inTurn = 0
      await setImmediate()
    }
  }
  return hash.digest('hex')
}

export interface KeyUse {
  /** The message's header field that holds the key. Absent if the key came with an API request. */
  readonly field?: string
  readonly workspaceId: string
  readonly key: string
  readonly fingerprint: string
}

/** The result of the first use of a key. */
export interface EarlierUse {
  /** Set if the message was submitted by SMTP. */
  readonly emailId: string | null
  /** The API's answer, as JSON; while `progress` is not null, what it says of the emails of the parts so far. */
  readonly answer: string | null
  /** The emails of the request that are in the parts so far. Null if the request is complete. */
  readonly progress: number | null
}

/** Returns the result of an earlier use of this key, or null. Throws a Refusal `conflict` if the content differs. */
export async function findEarlierUse(
  read: Read,
  { workspaceId, key, fingerprint, field }: KeyUse,
  now: number,
): Promise<EarlierUse | null> {
  const row = (await byKey(read, { workspaceId, key }))[0]
  if (row === undefined || row.created_at < now - IDEMPOTENCY_LIFETIME) return null
  if (row.fingerprint !== fingerprint) {
    const message = 'the idempotency key was used for another request'
    throw new Refusal('conflict', field === undefined ? message : `${field}: ${message}`, { value: key })
  }
  return { emailId: row.email_id, answer: row.answer, progress: row.progress }
}
