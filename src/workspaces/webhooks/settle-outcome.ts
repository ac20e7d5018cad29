/** Applies an outcome to the lane of its webhook: its pace, the time since which it fails, and the lines in the log. */
import type { Log } from '../../base/platform/log.js'
import { decideDelivery, decideDisabling, describeFailure } from './decide-delivery.js'
import type { DisabledReason } from './disable-webhook.js'
import { paceAfterFailure, paceAfterSuccess } from './endpoint-pace.js'
import type { SettledAttempt } from './outcome-writer.js'
import { isDelivered, type RequestOutcome } from './request-protocol.js'
import type { Task, WebhookLane } from './webhook-lane.js'
import type { Webhook } from './webhook-records.js'

interface Attempt {
  readonly outcome: RequestOutcome
  readonly startedAt: number
  /** The webhook as it was when the attempt began. */
  readonly webhook: Webhook
  readonly now: number
  readonly schedule: readonly number[]
  readonly log: Pick<Log, 'info' | 'warn'>
}

interface Settlement {
  readonly settled: SettledAttempt
  readonly disabling: DisabledReason | null
}

export function settleOutcome(lane: WebhookLane, task: Task, attempt: Attempt): Settlement {
  const { outcome, now, schedule } = attempt
  const attempts = task.kind === 'event' ? 1 : task.delivery.attempts + 1
  const settled = { task, result: decideDelivery({ outcome, attempts, schedule, now }), at: now }
  // The answer of an earlier URL says nothing about the present one.
  if (lane.webhook.url !== attempt.webhook.url) return { settled, disabling: null }
  return { settled, disabling: isDelivered(outcome) ? noteSuccess(lane, attempt) : noteFailure(lane, attempt) }
}

function noteSuccess(lane: WebhookLane, { outcome, log }: Attempt): null {
  lane.pace = paceAfterSuccess(lane.pace, outcome.kind === 'answer' ? outcome.took : 0)
  if (lane.failingSince !== null) {
    log.info({ ...describeLane(lane), failingSince: new Date(lane.failingSince) }, 'a webhook answers again')
  }
  lane.failingSince = null
  return null
}

function noteFailure(lane: WebhookLane, { outcome, startedAt, now, log }: Attempt): DisabledReason | null {
  lane.pace = paceAfterFailure(lane.pace, startedAt, now)
  const reason = describeFailure(outcome)
  if (lane.failingSince === null) log.warn({ ...describeLane(lane), reason }, 'a webhook fails')
  lane.failingSince ??= now
  const disabling = lane.isEnabled ? decideDisabling(outcome, lane.failingSince, now) : null
  if (disabling !== null) log.warn({ ...describeLane(lane), reason }, 'a webhook is disabled')
  return disabling
}

/** Names only the host, because a path or a query may hold a secret. */
function describeLane({ ref, webhook }: WebhookLane): Readonly<Record<string, string>> {
  return { webhook: ref.id, workspace: ref.workspaceId, host: new URL(webhook.url).host }
}

/** Settles a delivery of which no request can be made, without an attempt. */
export function settleUndeliverable(task: Task, error: string, now: number): SettledAttempt {
  const result = {
    status: 'failed',
    attempts: task.kind === 'event' ? 0 : task.delivery.attempts,
    next_attempt_at: null,
    response_status: null,
    response_body: null,
    error,
    delivered_at: null,
  } as const
  return { task, result, at: now }
}
