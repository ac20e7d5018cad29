/**
 * Stores prepared emails in one commit and hands them to delivery. When it resolves, they are on disk.
 *
 * The same commit stores an idempotency key. If equal requests arrive at once, one commits; the others violate the
 * primary key and get the result of the first.
 *
 * The quota charge is the first write of the commit, so that a miss leaves nothing to roll back. An equal request is
 * charged once: a repetition is answered even when no quota is left.
 */

import type { Store } from '../../base/storage/db/database.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { ConstraintViolated, type Write, WriteConflict } from '../../base/storage/db/write.js'
import { type EnqueuedEmail, writesWithLease } from '../../records/messages/queue/enqueue.js'
import type { Charge, EmailCharger } from '../../workspaces/accounts/limits/quota.js'
import type { Claim } from '../delivery/queue/leases.js'
import type { QueueRunner } from '../delivery/queue-runner.js'
import type { PreparedEmail } from './email-preparer.js'
import { advanceIdempotency, type EarlierUse, findEarlierUse, type KeyUse, noteKey } from './idempotency.js'
import { type WrittenCopies, writeCopies } from './personal-copies.js'

interface CommitterDeps extends Store {
  readonly charger: EmailCharger
  /**
   * Leases the first attempt in the same commit, if it can begin at once, and takes what is due now, in memory. Null if
   * another process delivers.
   */
  readonly queue: Pick<QueueRunner, 'claim' | 'offer'> | null
}

/** An idempotency key, and the result that its next use gets. */
export interface IdempotentRequest extends KeyUse {
  readonly becomes: EarlierUse
  /** The progress that the key's row must have. Absent if the key is new. */
  readonly after?: number
}

interface CommitEmailsOptions {
  /** Set if one request has several emails: if a quota has no room for all of them, none is stored. */
  readonly batch?: boolean
  /** More writes for the same commit. */
  readonly also?: readonly Write[]
}

export class EmailCommitter {
  constructor(private readonly deps: CommitterDeps) {}

  /**
   * Resolves to null once the emails are on disk, or to the result of an equal request that committed first.
   * All emails belong to one workspace. Rejects with a Refusal when a quota is used up.
   */
  async commit(
    emails: readonly PreparedEmail[],
    once: IdempotentRequest | null,
    now: number,
    { batch = false, also = [] }: CommitEmailsOptions = {},
  ): Promise<EarlierUse | null> {
    const { read, commit, charger, queue } = this.deps
    const written = new Map<PreparedEmail, WrittenCopies>()
    for (const email of emails) {
      if (email.copies !== null) written.set(email, await writeCopies(email.copies, email.enqueued.email))
    }
    const charged = await charger.charge(emails.map(toChargeable), now)
    const claims = emails.map(({ enqueued }) => queue?.claim(enqueued) ?? null)
    const writes = [
      ...charged.writes,
      ...(once === null ? [] : buildKeyWrites(once, now)),
      ...emails.flatMap((email, index) => [
        ...withClaim(email.enqueued, claims[index] ?? null),
        ...(written.get(email)?.writes ?? []),
      ]),
      ...also,
    ]
    try {
      await commit(writes)
    } catch (error) {
      return await resolveFailedCommit(read, error, charged, once, now, batch)
    }
    emails.forEach((email, index) => {
      queue?.offer(email.enqueued, claims[index] ?? null, written.get(email)?.copies)
    })
    return null
  }
}

function withClaim(enqueued: EnqueuedEmail, claim: Claim | null): readonly Write[] {
  return claim === null ? enqueued.writes : writesWithLease(enqueued, claim.until)
}

function toChargeable({ enqueued, senderDomain }: PreparedEmail): { workspaceId: string; senderDomain: string } {
  return { workspaceId: enqueued.email.workspace_id, senderDomain }
}

function buildKeyWrites({ becomes, after, ...use }: IdempotentRequest, now: number): Write[] {
  const { workspaceId, key } = use
  const { answer, progress } = becomes
  if (after !== undefined) {
    return [advanceIdempotency({ workspace_id: workspaceId, key, answer, progress, created_at: now, before: after })]
  }
  return noteKey(use, becomes, now)
}

/** Handles a failed commit: returns the result of an equal request, or throws the quota's Refusal or the error. */
async function resolveFailedCommit(
  read: Read,
  error: unknown,
  charged: Charge,
  once: IdempotentRequest | null,
  now: number,
  batch: boolean,
): Promise<EarlierUse> {
  const conflict = error instanceof ConstraintViolated || error instanceof WriteConflict
  const other = conflict && once !== null ? await findEarlierUse(read, once, now) : null
  // A row that is where it was did not miss: a quota did.
  if (other !== null && other.progress !== once?.after) return other
  throw (error instanceof WriteConflict ? await charged.findRefusal(batch) : null) ?? error
}
