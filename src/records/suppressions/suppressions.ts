/**
 * Stores suppressions: addresses to which a workspace does not send. `suppression-list.ts` lists them.
 *
 * Adding an address twice is not an error and keeps the first reason. Addresses are compared in lower case, because
 * real mail systems do not distinguish mailboxes by case.
 */
import type { Address } from '../../base/mail/address.js'
import { uuidv7 } from '../../base/platform/ids.js'
import type { Store } from '../../base/storage/db/database.js'
import { prepareRead, prepareWrite, type Read } from '../../base/storage/db/prepared.js'
import { type Write, WriteConflict } from '../../base/storage/db/write.js'
import { type JsonObject, toJson } from '../../base/storage/tables/columns.js'
import type { SuppressionReason } from '../../base/storage/tables/content-tables.js'
import type { Tables } from '../../base/storage/tables/tables.js'

export type Suppression = Tables['suppressions']
export const suppressionReasons = [
  'hard_bounce',
  'spam_complaint',
  'manual',
  'unsubscribe',
] as const satisfies readonly SuppressionReason[]

export interface NewSuppression {
  readonly workspaceId: string
  readonly email: Address
  readonly reason: SuppressionReason
  readonly sourceEmailId: string | null
  readonly metadata: JsonObject
  readonly at: number
}

type Builder = Parameters<Parameters<typeof prepareWrite<Suppression>>[0]>[0]

const insertIfAbsent = ({ db, slot }: Builder) =>
  db
    .insertInto('suppressions')
    .values({
      id: slot('id'),
      workspace_id: slot('workspace_id'),
      email: slot('email'),
      reason: slot('reason'),
      source_email_id: slot('source_email_id'),
      metadata: slot('metadata'),
      created_at: slot('created_at'),
    })
    .onConflict((conflict) => conflict.columns(['workspace_id', 'email']).doNothing())

const insert = prepareWrite<Suppression>(insertIfAbsent)
/** Misses if the address is on the list. */
const insertNew = prepareWrite<Suppression>(insertIfAbsent, 1)

/** A write that adds an address to a list, for caches that watch commits. */
interface SuppressionWrite extends Write {
  readonly suppression: Suppression
}

function isSuppressionWrite(write: Write): write is SuppressionWrite {
  return 'suppression' in write
}

/** Returns the suppression that a write adds, or null if it adds none. */
export function findAddedSuppression(write: Write): Suppression | null {
  return isSuppressionWrite(write) ? write.suppression : null
}

export function addSuppression(suppression: NewSuppression): Write {
  const row = toRow(suppression)
  return withSuppression(insert(row), row)
}

/** Misses if the address is on the list. */
export function addNewSuppression(suppression: NewSuppression): Write {
  const row = toRow(suppression)
  return withSuppression(insertNew(row), row)
}

function withSuppression(write: Write, suppression: Suppression): SuppressionWrite {
  return { suppression, ...write }
}

function toRow({ workspaceId, email, reason, sourceEmailId, metadata, at }: NewSuppression): Suppression {
  return {
    id: uuidv7(at),
    workspace_id: workspaceId,
    email: email.toLowerCase(),
    reason,
    source_email_id: sourceEmailId,
    metadata: toJson(metadata),
    created_at: at,
  }
}

export interface SuppressResult {
  /** The record that is now on the list. */
  readonly record: Suppression
  readonly isNew: boolean
}

/** Adds an address and resolves to its record. Exactly one of several concurrent callers gets `isNew`. */
export async function suppress({ read, commit }: Store, suppression: NewSuppression): Promise<SuppressResult> {
  const row = toRow(suppression)
  for (;;) {
    try {
      await commit([withSuppression(insertNew(row), row)])
      return { record: row, isNew: true }
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error
    }
    const [record] = await suppressionByEmail(read, row)
    if (record !== undefined) return { record, isNew: false }
    // The address was removed between the commit and the read, so it can be added again.
  }
}

/** Misses if the workspace has no such record. */
export const removeSuppression = prepareWrite<{ workspaceId: string; id: string }>(
  ({ db, slot }) =>
    db.deleteFrom('suppressions').where('workspace_id', '=', slot('workspaceId')).where('id', '=', slot('id')),
  1,
)

export const suppressionById = prepareRead<{ workspaceId: string; id: string }>()(({ db, slot }) =>
  db
    .selectFrom('suppressions')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('id', '=', slot('id')),
)

/** `email` is in lower case, as stored. */
const suppressionByEmail = prepareRead<{ workspace_id: string; email: string }>()(({ db, slot }) =>
  db
    .selectFrom('suppressions')
    .selectAll()
    .where('workspace_id', '=', slot('workspace_id'))
    .where('email', '=', slot('email')),
)

export async function findSuppression(
  read: Read,
  workspaceId: string,
  address: Address,
): Promise<Suppression | undefined> {
  return (await suppressionByEmail(read, { workspace_id: workspaceId, email: address.toLowerCase() }))[0]
}

export async function isSuppressed(read: Read, workspaceId: string, address: Address): Promise<boolean> {
  return (await findSuppression(read, workspaceId, address)) !== undefined
}
