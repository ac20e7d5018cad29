/**
 * Writes the outcome of an attempt in one commit: entry, recipient, email, event, suppression and the notification to
 * the sender.
 *
 * An outcome is never dropped: while the database cannot take it, the settler keeps it and tries again every second.
 * The commit is urgent, because the message is sent again if the process ends before the outcome is on disk. A
 * notification that cannot be built does not delay the outcome.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { assertNever } from '../../../base/mail/assert-never.js'
import { describeReason } from '../../../base/mail/reasons.js'
import { formatReply } from '../../../base/mail/reply.js'
import { someAsync } from '../../../base/platform/async-filter.js'
import { type Clock, formatTimestamp } from '../../../base/platform/clock.js'
import type { Log } from '../../../base/platform/log.js'
import type { RandomSource } from '../../../base/platform/random.js'
import type { Store } from '../../../base/storage/db/database.js'
import { StorageFault, type Write } from '../../../base/storage/db/write.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import type { Email } from '../../../records/messages/email/email.js'
import { removeSettledRaw } from '../../../records/messages/email/raw-message.js'
import { reachedAttempts } from '../../../records/messages/queue/attempts.js'
import type { EnqueuedEmail } from '../../../records/messages/queue/enqueue.js'
import type { QueueEntry } from '../../../records/messages/queue/queue.js'
import {
  type AttemptRecord,
  settleAccepted,
  settleBounced,
  settleDeferred,
  settleFailed,
} from '../../../records/messages/queue/settle.js'
import { isForwarded, isPassedOn, type ServiceNotice } from '../../../records/messages/service-email.js'
import { addSuppression, isSuppressed } from '../../../records/suppressions/suppressions.js'
import { workspaceById } from '../../../workspaces/accounts/workspace/workspaces.js'
import type { RetryPolicy } from '../queue/retry-schedule.js'
import type { AttemptOutcome, AttemptResult } from '../smtp/attempt-result.js'
import { type Decision, decideOutcome, type EntryAge } from './decide-outcome.js'
import type { FinishedAttempt } from './make-attempt.js'
import type { SenderNoticeBuilder } from './sender-notice-builder.js'

interface SettlerDeps extends Store {
  readonly clock: Clock
  readonly random: RandomSource
  readonly log: Log
  readonly retryPolicy: () => RetryPolicy
  readonly senderNotices: Pick<SenderNoticeBuilder, 'build'>
  /** Called when an outcome is on disk. */
  readonly onAttempt?: OnAttempt
}

export type OnAttempt = (attempt: EndedAttempt) => void

interface EndedAttempt extends Pick<AttemptRecord, 'reason' | 'mx' | 'endedAt' | 'entry' | 'email'> {
  readonly outcome: Decision['kind']
  /** True if the message bounced because the address is dead. */
  readonly recipientsFault: boolean
  /** The moment when the email was accepted, or was due. */
  readonly enqueuedAt: number
}

/** How long an outcome that cannot be written is kept. */
interface SettleOptions {
  /** Aborts when the process ends. The outcome is given up then. */
  readonly signal: AbortSignal
  /** Called each time the database does not take the outcome. */
  readonly onStorageFault: () => void
  /** Takes a notification that is on disk. */
  readonly queue: { offer(enqueued: EnqueuedEmail): void }
}

export class AttemptSettler {
  constructor(private readonly deps: SettlerDeps) {}

  /** Resolves when the outcome of the attempt is on disk. */
  async settle(finished: FinishedAttempt, options: SettleOptions): Promise<void> {
    const { deps } = this
    const { result, pendingWrites } = finished
    const now = deps.clock()
    const random = deps.random()
    const decide = (wasReachedBefore: boolean): Decision =>
      decideOutcome(result.outcome, ageOf(finished, wasReachedBefore), deps.retryPolicy(), now, random)
    const first = decide(false)
    // Without this read the commit begins in this turn, before other attempts do.
    const decision = needsHistory(finished, first) ? decide(await findEarlierReach(deps, finished, options)) : first
    const record = toAttemptRecord(finished, decision, now)
    const built = buildNotice(deps, finished, record, decision, now)
    const notice = built === null || (await mayNotify(deps, finished.readyMessage.email, built)) ? built : null
    const outcome = [...writesOf(record, decision, finished, now), ...releaseBytes(finished, decision)]
    const writes = [...pendingWrites, ...outcome, ...(result.writes ?? []), ...(notice?.enqueued.writes ?? [])]
    await commitWithRetry(deps, writes, record, options)
    logOutcome(deps.log, record, decision)
    const recipientsFault = decision.kind === 'bounced' && decision.recipientsFault
    deps.onAttempt?.({ ...record, outcome: decision.kind, recipientsFault, enqueuedAt: record.entry.enqueued_at })
    if (notice !== null) options.queue.offer(notice.enqueued)
  }
}

function buildNotice(
  { senderNotices, log }: SettlerDeps,
  { readyMessage: { message, email, readRaw } }: FinishedAttempt,
  record: AttemptRecord,
  decision: Decision,
  now: number,
): ServiceNotice | null {
  try {
    return senderNotices.build({ email, readRaw, message }, record, decision, now)
  } catch (error) {
    log.error({ err: error, email: record.email.id }, 'a notification could not be built')
    return null
  }
}

/**
 * There is no notification if the workspace was deleted during the attempt, because it would contain data that must be
 * erased. There is none to an address at which mail of the service has hard-bounced.
 */
async function mayNotify({ read, log }: SettlerDeps, email: Email, { enqueued }: ServiceNotice): Promise<boolean> {
  try {
    const isBounced = ({ recipient }: QueueEntry) => isSuppressed(read, SERVICE_WORKSPACE, recipient)
    if (await someAsync(enqueued.entries, isBounced)) return false
    return isForwarded(email) || (await workspaceById(read, { id: email.workspace_id })).length > 0
  } catch (error) {
    log.error({ err: error, email: email.id }, 'a notification could not be built')
    return false
  }
}

/** Tells whether it counts that a server answered in an earlier attempt: if the message expires without an answer. */
function needsHistory({ result: { outcome } }: FinishedAttempt, decision: Decision): boolean {
  return outcome.kind === 'deferred' && !outcome.reached && decision.kind === 'failed'
}

function findEarlierReach(deps: SettlerDeps, { entry }: FinishedAttempt, options: SettleOptions): Promise<boolean> {
  const { id, email_id: emailId } = entry
  return withRetry(deps, { email: emailId, entry: id }, options, async () => {
    return (await reachedAttempts(deps.read, { emailId, recipientId: id })).length > 0
  })
}

function ageOf({ entry, number }: FinishedAttempt, wasReachedBefore: boolean): EntryAge {
  return { enqueuedAt: entry.enqueued_at, attempts: number, noticed: entry.noticed === 1, wasReachedBefore }
}

function toAttemptRecord(
  { entry, readyMessage, result, number, at }: FinishedAttempt,
  decision: Decision,
  now: number,
): AttemptRecord {
  return {
    entry,
    email: readyMessage.email,
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

/** A refusal without a peer comes from DNS or from this server. */
function wasReached({ outcome, peer }: AttemptResult): boolean {
  return outcome.kind === 'deferred' ? outcome.reached : peer !== null
}

function responseOf(outcome: AttemptOutcome): string {
  return outcome.kind === 'accepted' ? formatReply(outcome.reply) : outcome.response
}

function writesOf(
  record: AttemptRecord,
  decision: Decision,
  { entry, readyMessage }: FinishedAttempt,
  now: number,
): Write[] {
  switch (decision.kind) {
    case 'accepted':
      return settleAccepted(record, decision.final)
    case 'deferred':
      return settleDeferred(record, decision.at, decision.notice || entry.noticed === 1)
    case 'bounced':
      return [
        ...settleBounced(record, decision.hard),
        ...(decision.recipientsFault && !isPassedOn(readyMessage.email) ? suppressRecipient(record, now) : []),
      ]
    case 'failed':
      return settleFailed(record)
    default:
      return assertNever(decision)
  }
}

/** Removes the bytes of a message that was passed on: no quota bounds them, and no one reads them later. */
function releaseBytes({ readyMessage: { email } }: FinishedAttempt, { kind }: Decision): Write[] {
  return kind !== 'deferred' && isPassedOn(email) ? [removeSettledRaw({ emailId: email.id })] : []
}

/**
 * Suppresses the address. Call this only if the outcome is the recipient's fault (`recipientsFault`). A bounce of the
 * service's own mail suppresses the address for the service, and for no workspace. A bounce of a message that was
 * passed on suppresses nothing, because neither the service nor a workspace has written it.
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

/** Rejects if the process ends before the database takes the outcome. */
function commitWithRetry(
  deps: SettlerDeps,
  writes: readonly Write[],
  { email, entry, response }: AttemptRecord,
  options: SettleOptions,
): Promise<void> {
  const subject = { email: email.id, entry: entry.id, response }
  return withRetry(deps, subject, options, () => deps.commit(writes, { isUrgent: true }))
}

/** Works until the database takes part, or the process ends. */
async function withRetry<Result>(
  { log }: SettlerDeps,
  subject: { readonly email: string; readonly entry: string; readonly response?: string },
  { signal, onStorageFault }: SettleOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof StorageFault)) throw error
      log.error({ err: error, ...subject }, 'an outcome cannot be stored yet')
      onStorageFault()
      await sleep(1_000, undefined, { signal })
    }
  }
}

function logOutcome(log: Log, record: AttemptRecord, decision: Decision): void {
  const { entry, email, mx, tls, response, reason, number } = record
  const facts = { email: email.id, recipient: entry.recipient, attempt: number, mx, tls, reason, response }
  const more = decision.kind === 'deferred' ? { next: formatTimestamp(decision.at) } : {}
  const sentence = reason === null ? undefined : describeReason(reason)
  log.info({ ...facts, ...more, sentence }, decision.kind)
}
