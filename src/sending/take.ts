/**
 * Makes prepared emails ours, all of them in one commit, and hands them to delivery.
 *
 * Whoever is told "taken" may forget the messages: they are on disk. An idempotency key
 * goes into the same commit: of equal requests at the same moment one commits, the
 * others violate the primary key and are told what that one became.
 */
import type { Enqueued } from '../messages/enqueue.js'
import type { Read } from '../storage/prepared.js'
import { type Commit, ConstraintViolated, type Write } from '../storage/write.js'
import {
  type Earlier,
  earlier,
  expireIdempotency,
  IDEMPOTENCY_LIFETIME,
  insertIdempotency,
  type KeyUse,
} from './idempotency.js'
import type { Prepared } from './prepare-email.js'

export interface TakeDeps {
  readonly read: Read
  readonly commit: Commit
  /** Hands what is due now to delivery, in memory. */
  readonly handOver: (enqueued: Enqueued, raw: Buffer) => void
}

/** An idempotency key, and what its next use shall be told. */
export interface Once extends KeyUse {
  readonly becomes: Earlier
}

/** Resolves to null once the emails are on disk, or to what an equal request became that was faster. */
export type Take = (emails: readonly Prepared[], once: Once | null, now: number) => Promise<Earlier | null>

export function take({ read, commit, handOver }: TakeDeps): Take {
  return async (emails, once, now) => {
    const writes = emails.flatMap(({ enqueued }) => enqueued.writes)
    const other = await commitOnce(read, commit, writes, once, now)
    if (other !== null) return other
    for (const { enqueued, raw } of emails) handOver(enqueued, raw)
    return null
  }
}

async function commitOnce(
  read: Read,
  commit: Commit,
  writes: readonly Write[],
  once: Once | null,
  now: number,
): Promise<Earlier | null> {
  if (once === null) {
    await commit(writes)
    return null
  }
  const { workspaceId, key, fingerprint, becomes } = once
  try {
    await commit([
      expireIdempotency({ workspaceId, key, before: now - IDEMPOTENCY_LIFETIME }),
      insertIdempotency({
        workspace_id: workspaceId,
        key,
        fingerprint,
        email_id: becomes.emailId,
        answer: becomes.answer,
        created_at: now,
      }),
      ...writes,
    ])
    return null
  } catch (error) {
    if (!(error instanceof ConstraintViolated)) throw error
    const other = earlier(read, once, now)
    if (other === null) throw error
    return other
  }
}
