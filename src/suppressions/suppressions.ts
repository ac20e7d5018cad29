/**
 * The addresses that a workspace does not send to.
 *
 * Adding an address twice is no error and keeps the first reason: the list answers
 * "may I send?", not "how often was I told not to?". Compared in lower case as a
 * whole: no real mail system keeps apart mailboxes that differ in case alone.
 */
import type { Address } from '../mail/address.js'
import { uuidv7 } from '../platform/ids.js'
import { prepareRead, prepareWrite, type Read } from '../storage/prepared.js'
import type { Tables } from '../storage/tables.js'
import type { Write } from '../storage/write.js'

export type SuppressionReason = Tables['suppressions']['reason']

export interface NewSuppression {
  readonly workspaceId: string
  readonly email: Address
  readonly reason: SuppressionReason
  readonly sourceEmailId: string | null
  readonly metadata: Readonly<Record<string, unknown>>
  readonly at: number
}

const insert = prepareWrite<Tables['suppressions']>(({ db, slot }) =>
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
    .onConflict((conflict) => conflict.columns(['workspace_id', 'email']).doNothing()),
)

export function addSuppression(suppression: NewSuppression): Write {
  return insert({
    id: uuidv7(suppression.at),
    workspace_id: suppression.workspaceId,
    email: suppression.email.toLowerCase(),
    reason: suppression.reason,
    source_email_id: suppression.sourceEmailId,
    metadata: JSON.stringify(suppression.metadata),
    created_at: suppression.at,
  })
}

const byEmail = prepareRead<{ workspaceId: string; email: string }>()(({ db, slot }) =>
  db
    .selectFrom('suppressions')
    .select(['id', 'reason', 'created_at'])
    .where('workspace_id', '=', slot('workspaceId'))
    .where('email', '=', slot('email')),
)

export function isSuppressed(read: Read, workspaceId: string, address: Address): boolean {
  return byEmail(read, { workspaceId, email: address.toLowerCase() }).length > 0
}
