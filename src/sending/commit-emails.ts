/**
 * Makes prepared emails ours, all of them in one commit, and hands them to delivery.
 *
 * Whoever is told "taken" may forget the messages: they are on disk. An idempotency key
 * goes into the same commit: of equal requests at the same moment one commits, the
 * others violate the primary key and are told what that one became.
 *
 * So does the charge of the quotas, and before all else: when it misses nothing was
 * changed that the writer would have to undo. It is paid once: an equal request whose
 * email is there already is answered though nothing is left.
 */
import type { Charge, EmailCharger } from '../accounts/limits/quota.js'
import type { Claim } from '../delivery/queue/leases.js'
import type { EnqueuedEmail } from '../messages/queue/enqueue.js'
import type { Store } from '../storage/database.js'
import type { Read } from '../storage/prepared.js'
import { ConstraintViolated, type Write, WriteConflict } from '../storage/writer/write.js'
import {
  type EarlierUse,
  expireIdempotency,
  findEarlierUse,
  IDEMPOTENCY_LIFETIME,
  insertIdempotency,
  type KeyUse,
} from './idempotency.js'
import type { PreparedEmail } from './prepare-email.js'

export interface CommitEmailsDeps extends Store {
  readonly charge: EmailCharger
  /** What the commit writes to count the first attempt too, where that can begin at once. Absent: it cannot here. */
  readonly claim?: (enqueued: EnqueuedEmail) => Claim | null
  /** Hands what is due now to delivery, in memory, with what it claimed. */
  readonly handOver: (enqueued: EnqueuedEmail, raw: Buffer, claim: Claim | null) => void
}

/** An idempotency key, and what its next use shall be told. */
export interface IdempotentRequest extends KeyUse {
  readonly becomes: EarlierUse
}

export interface CommitEmailsOptions {
  /** Several emails of one request: when a quota does not hold all of them, it takes none. */
  readonly batch?: boolean
  /** What is written in the same commit. */
  readonly also?: readonly Write[]
}

/**
 * Resolves to null once the emails are on disk, or to what an equal request became that was faster.
 * The emails are those of one workspace. Throws a Refusal when a quota is used up.
 */
export type CommitEmails = (
  emails: readonly PreparedEmail[],
  once: IdempotentRequest | null,
  now: number,
  options?: CommitEmailsOptions,
) => Promise<EarlierUse | null>

export function commitEmails({ read, commit, charge, claim = () => null, handOver }: CommitEmailsDeps): CommitEmails {
  return async (emails, once, now, { batch = false, also = [] } = {}) => {
    const charged = charge(emails.map(toChargeable), now)
    const claims = emails.map(({ enqueued }) => claim(enqueued))
    const writes = [
      ...charged.writes,
      ...(once === null ? [] : buildKeyWrites(once, now)),
      ...emails.flatMap(({ enqueued }, place) => [...enqueued.writes, ...(claims[place]?.writes ?? [])]),
      ...also,
    ]
    try {
      await commit(writes)
    } catch (error) {
      return resolveFailedCommit(read, error, charged, once, now, batch)
    }
    emails.forEach(({ enqueued, raw }, place) => {
      handOver(enqueued, raw, claims[place] ?? null)
    })
    return null
  }
}

function toChargeable({ enqueued, senderDomain }: PreparedEmail): { workspaceId: string; senderDomain: string } {
  return { workspaceId: enqueued.email.workspace_id, senderDomain }
}

function buildKeyWrites({ workspaceId, key, fingerprint, becomes }: IdempotentRequest, now: number): Write[] {
  return [
    expireIdempotency({ workspaceId, key, before: now - IDEMPOTENCY_LIFETIME }),
    insertIdempotency({
      workspace_id: workspaceId,
      key,
      fingerprint,
      email_id: becomes.emailId,
      answer: becomes.answer,
      created_at: now,
    }),
  ]
}

/** A commit that was not made: an equal request was faster, or a quota is used up; else its error. */
function resolveFailedCommit(
  read: Read,
  error: unknown,
  charged: Charge,
  once: IdempotentRequest | null,
  now: number,
  batch: boolean,
): EarlierUse {
  const conflict = error instanceof ConstraintViolated || error instanceof WriteConflict
  const other = conflict && once !== null ? findEarlierUse(read, once, now) : null
  if (other !== null) return other
  throw (error instanceof WriteConflict ? charged.findRefusal(batch) : null) ?? error
}
