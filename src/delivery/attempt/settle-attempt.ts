/**
 * Writes down what came of an attempt: the entry, the recipient, the email, the event,
 * the suppression and the notification to the sender, all in one commit.
 *
 * An outcome is never dropped: while the database cannot take it, it is kept and tried
 * again every second. Only the end of the process in that time can make us send the
 * message again. Nor does a notification that cannot be built hold up the outcome.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { livingWorkspace } from '../../accounts/workspaces.js'
import { assertNever } from '../../mail/assert-never.js'
import { replyLine } from '../../mail/reply.js'
import type { Notice } from '../../messages/dsn/sender-notice.js'
import { reachedBefore } from '../../messages/queue/attempts.js'
import type { Enqueued } from '../../messages/queue/enqueue.js'
import {
  type Attempted,
  settleAccepted,
  settleBounced,
  settleDeferred,
  settleFailed,
} from '../../messages/queue/settle.js'
import { reasonSentence } from '../../messages/replies/reasons.js'
import { type Clock, timestamp } from '../../platform/clock.js'
import type { Dice } from '../../platform/dice.js'
import type { Log } from '../../platform/log.js'
import type { Read } from '../../storage/prepared.js'
import { SERVICE } from '../../storage/tables/tables.js'
import { type Commit, StorageFault, type Write } from '../../storage/writer/write.js'
import { addSuppression, isSuppressed } from '../../suppressions/suppressions.js'
import type { RetryPolicy } from '../queue/retry-schedule.js'
import type { AttemptOutcome, AttemptResult } from './attempt-result.js'
import { type Decision, decideOutcome } from './decide-outcome.js'
import type { MadeAttempt, Patience } from './made-attempt.js'
import type { NotifySender } from './notify-sender.js'

export interface SettleDeps {
  readonly read: Read
  readonly commit: Commit
  readonly clock: Clock
  readonly dice: Dice
  readonly log: Log
  readonly policy: RetryPolicy
  readonly notifySender: NotifySender
  /** Hands a notification that is on disk to delivery. */
  readonly offer: (enqueued: Enqueued, raw: Buffer) => void
}

export function settleAttempt(deps: SettleDeps): (made: MadeAttempt, patience: Patience) => Promise<void> {
  return async (made, patience) => {
    const now = deps.clock()
    const decision = decideOutcome(made.result.outcome, entryAge(deps.read, made), deps.policy, now, deps.dice())
    const attempted = attemptedOf(made, decision, now)
    const notice = noticeOf(deps, made, attempted, decision, now)
    const outcome = writesOf(attempted, decision, made, now)
    const writes = [...made.unwritten, ...outcome, ...(notice?.enqueued.writes ?? [])]
    await untilStored(deps, writes, attempted, patience)
    logOutcome(deps.log, attempted, decision)
    if (notice !== null) deps.offer(notice.enqueued, notice.raw)
  }
}

/**
 * Mail of a workspace that was deleted meanwhile is told to nobody: a report would hold what is to be
 * gone. Nor is a report sent to an address from which mail of the service has bounced for good.
 */
function noticeOf(
  { read, notifySender, log }: SettleDeps,
  { ready: { message, shelved } }: MadeAttempt,
  attempted: Attempted,
  decision: Decision,
  now: number,
): Notice | null {
  try {
    const notice = notifySender({ ...shelved, message }, attempted, decision, now)
    if (notice === null || notice.enqueued.entries.some(({ recipient }) => isSuppressed(read, SERVICE, recipient)))
      return null
    return livingWorkspace(read, { id: attempted.email.workspace_id }).length > 0 ? notice : null
  } catch (error) {
    log.error({ err: error, email: attempted.email.id }, 'a notification could not be built')
    return null
  }
}

function entryAge(read: Read, { entry, number }: MadeAttempt): Parameters<typeof decideOutcome>[1] {
  return {
    enqueuedAt: entry.enqueued_at,
    attempts: number,
    noticed: entry.noticed === 1,
    reachedBefore: () => reachedBefore(read, { emailId: entry.email_id, recipientId: entry.id }).length > 0,
  }
}

function attemptedOf({ entry, ready, result, number, at }: MadeAttempt, decision: Decision, now: number): Attempted {
  return {
    entry,
    email: ready.shelved.email,
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
  return outcome.kind === 'accepted' ? replyLine(outcome.reply) : outcome.response
}

function writesOf(attempted: Attempted, decision: Decision, made: MadeAttempt, now: number): Write[] {
  switch (decision.kind) {
    case 'accepted':
      return settleAccepted(attempted, decision.final)
    case 'deferred':
      return settleDeferred(attempted, decision.at, decision.notice || made.entry.noticed === 1)
    case 'bounced':
      return [
        ...settleBounced(attempted, decision.hard),
        ...(decision.recipientsFault ? suppression(attempted, now) : []),
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
function suppression({ email, entry, reason, response }: Attempted, now: number): Write[] {
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
async function untilStored(
  { commit, log }: SettleDeps,
  writes: readonly Write[],
  { email, entry, response }: Attempted,
  { signal, troubled }: Patience,
): Promise<void> {
  for (;;) {
    try {
      await commit(writes)
      return
    } catch (error) {
      if (!(error instanceof StorageFault)) throw error
      log.error({ err: error, email: email.id, entry: entry.id, response }, 'an outcome cannot be written down yet')
      troubled()
      await sleep(1_000, undefined, { signal })
    }
  }
}

function logOutcome(log: Log, attempted: Attempted, decision: Decision): void {
  const { entry, email, mx, tls, response, reason, number } = attempted
  const facts = { email: email.id, recipient: entry.recipient, attempt: number, mx, tls, reason, response }
  const more = decision.kind === 'deferred' ? { next: timestamp(decision.at) } : {}
  const sentence = reason === null ? undefined : reasonSentence(reason as Parameters<typeof reasonSentence>[0])
  log.info({ ...facts, ...more, sentence }, decision.kind)
}
