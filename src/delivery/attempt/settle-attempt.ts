/**
 * Writes down what came of an attempt: the entry, the recipient, the email, the event,
 * the suppression and the notification to the sender, all in one commit.
 *
 * An outcome is never dropped: while the database cannot take it, it is kept and tried
 * again every second. Only the end of the process in that time can make us send the
 * message again. Nor does a notification that cannot be built hold up the outcome.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { workspaceById } from '../../accounts/workspaces.js'
import { assertNever } from '../../mail/assert-never.js'
import { describeReason } from '../../mail/reasons.js'
import { formatReply } from '../../mail/reply.js'
import type { Notice } from '../../messages/dsn/sender-notice.js'
import { reachedAttempts } from '../../messages/queue/attempts.js'
import type { EnqueuedEmail } from '../../messages/queue/enqueue.js'
import {
  type AttemptRecord,
  settleAccepted,
  settleBounced,
  settleDeferred,
  settleFailed,
} from '../../messages/queue/settle.js'
import { type Clock, formatTimestamp } from '../../platform/clock.js'
import type { Log } from '../../platform/log.js'
import type { RandomSource } from '../../platform/random.js'
import type { Store } from '../../storage/database.js'
import type { Read } from '../../storage/prepared.js'
import { SERVICE_WORKSPACE } from '../../storage/tables/tables.js'
import { StorageFault, type Write } from '../../storage/writer/write.js'
import { addSuppression, isSuppressed } from '../../suppressions/suppressions.js'
import type { RetryPolicy } from '../queue/retry-schedule.js'
import type { AttemptOutcome, AttemptResult } from './attempt-result.js'
import { type Decision, decideOutcome } from './decide-outcome.js'
import type { FinishedAttempt, SettleOptions } from './finished-attempt.js'
import type { BuildSenderNotice } from './sender-notice-builder.js'

export interface SettleDeps extends Store {
  readonly clock: Clock
  readonly random: RandomSource
  readonly log: Log
  readonly policy: RetryPolicy
  readonly buildSenderNotice: BuildSenderNotice
  /** Hands a notification that is on disk to delivery. */
  readonly offer: (enqueued: EnqueuedEmail, raw: Buffer) => void
}

export function createAttemptSettler(
  deps: SettleDeps,
): (made: FinishedAttempt, patience: SettleOptions) => Promise<void> {
  return async (made, patience) => {
    const now = deps.clock()
    const decision = decideOutcome(made.result.outcome, entryAgeOf(deps.read, made), deps.policy, now, deps.random())
    const attempted = attemptedOf(made, decision, now)
    const notice = buildNotice(deps, made, attempted, decision, now)
    const outcome = writesOf(attempted, decision, made, now)
    const writes = [...made.pendingWrites, ...outcome, ...(notice?.enqueued.writes ?? [])]
    await commitWithRetry(deps, writes, attempted, patience)
    logOutcome(deps.log, attempted, decision)
    if (notice !== null) deps.offer(notice.enqueued, notice.raw)
  }
}

/**
 * Mail of a workspace that was deleted meanwhile is told to nobody: a report would hold what is to be
 * gone. Nor is a report sent to an address from which mail of the service has bounced for good.
 */
function buildNotice(
  { read, buildSenderNotice, log }: SettleDeps,
  { readyMessage: { message, cachedMessage } }: FinishedAttempt,
  attempted: AttemptRecord,
  decision: Decision,
  now: number,
): Notice | null {
  try {
    const notice = buildSenderNotice({ ...cachedMessage, message }, attempted, decision, now)
    if (
      notice === null ||
      notice.enqueued.entries.some(({ recipient }) => isSuppressed(read, SERVICE_WORKSPACE, recipient))
    )
      return null
    return workspaceById(read, { id: attempted.email.workspace_id }).length > 0 ? notice : null
  } catch (error) {
    log.error({ err: error, email: attempted.email.id }, 'a notification could not be built')
    return null
  }
}

function entryAgeOf(read: Read, { entry, number }: FinishedAttempt): Parameters<typeof decideOutcome>[1] {
  return {
    enqueuedAt: entry.enqueued_at,
    attempts: number,
    noticed: entry.noticed === 1,
    wasReachedBefore: () => reachedAttempts(read, { emailId: entry.email_id, recipientId: entry.id }).length > 0,
  }
}

function attemptedOf(
  { entry, readyMessage, result, number, at }: FinishedAttempt,
  decision: Decision,
  now: number,
): AttemptRecord {
  return {
    entry,
    email: readyMessage.cachedMessage.email,
    number,
    at,
    endedAt: now,
    mx: result.peer?.mx ?? null,
    address: result.peer?.address ?? null,
    tls: result.peer?.tls ?? null,
    reached: wasReached(result),
    response: responseOf(result.outcome),
    reason: decision.kind === 'accepted' ? null : decision.reason,
    transcript: result.transcript,
  }
}

/** A refusal without a peer is the word of DNS or of our own. */
function wasReached({ outcome, peer }: AttemptResult): boolean {
  return outcome.kind === 'deferred' ? outcome.reached : peer !== null
}

function responseOf(outcome: AttemptOutcome): string {
  return outcome.kind === 'accepted' ? formatReply(outcome.reply) : outcome.response
}

function writesOf(attempted: AttemptRecord, decision: Decision, made: FinishedAttempt, now: number): Write[] {
  switch (decision.kind) {
    case 'accepted':
      return settleAccepted(attempted, decision.final)
    case 'deferred':
      return settleDeferred(attempted, decision.at, decision.notice || made.entry.noticed === 1)
    case 'bounced':
      return [
        ...settleBounced(attempted, decision.hard),
        ...(decision.recipientsFault ? suppressRecipient(attempted, now) : []),
      ]
    case 'failed':
      return settleFailed(attempted)
    default:
      return assertNever(decision)
  }
}

/**
 * Only for the recipient's own fault: see the contract of `recipientsFault`. Mail of the service puts
 * the address on a list of the service, which says nothing of any workspace's.
 */
function suppressRecipient({ email, entry, reason, response }: AttemptRecord, now: number): Write[] {
  const metadata = { bounce_type: 'hard', bounce_subtype: reason, diagnostic_code: response }
  return [
    addSuppression({
      workspaceId: email.workspace_id,
      email: entry.recipient,
      reason: 'hard_bounce',
      sourceEmailId: email.id,
      metadata,
      at: now,
    }),
  ]
}

/** Rejects when the process ends before the outcome could be written down. */
async function commitWithRetry(
  { commit, log }: SettleDeps,
  writes: readonly Write[],
  { email, entry, response }: AttemptRecord,
  { signal, onStorageFault }: SettleOptions,
): Promise<void> {
  for (;;) {
    try {
      await commit(writes)
      return
    } catch (error) {
      if (!(error instanceof StorageFault)) throw error
      log.error({ err: error, email: email.id, entry: entry.id, response }, 'an outcome cannot be written down yet')
      onStorageFault()
      await sleep(1_000, undefined, { signal })
    }
  }
}

function logOutcome(log: Log, attempted: AttemptRecord, decision: Decision): void {
  const { entry, email, mx, tls, response, reason, number } = attempted
  const facts = { email: email.id, recipient: entry.recipient, attempt: number, mx, tls, reason, response }
  const more = decision.kind === 'deferred' ? { next: formatTimestamp(decision.at) } : {}
  const sentence = reason === null ? undefined : describeReason(reason)
  log.info({ ...facts, ...more, sentence }, decision.kind)
}
