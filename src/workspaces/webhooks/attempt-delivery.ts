/**
 * Makes one attempt of a delivery. It prepares what the request needs of messages and emails, finds and judges the
 * addresses of the host, and sends the request to those alone.
 *
 * The time limit covers the attempt, but not the preparation.
 */
import type { Clock } from '../../base/platform/clock.js'
import type { EndpointAddresses } from './endpoint-addresses.js'
import type { EventPreparer, PreparedEvent } from './event-preparer.js'
import type { DeliveredEvent } from './formats/event-format.js'
import type { NotMade, RequestContent, RequestOutcome, Undeliverable } from './request-protocol.js'
import { readHeaders } from './settings/own-headers.js'
import type { Task } from './webhook-lane.js'
import type { Webhook } from './webhook-records.js'

/** Milliseconds. The time limit is kept to this precision. */
const TIME_STEP = 100

export interface AttemptDeps {
  readonly clock: Clock
  readonly endpoints: EndpointAddresses
  readonly preparer: Pick<EventPreparer, 'prepare'>
  /** Milliseconds. */
  readonly timeout: () => number
  /** Resolves to null if the outcome is not known. */
  readonly request: (content: RequestContent) => Promise<RequestOutcome | NotMade | null>
}

interface PlannedAttempt {
  readonly webhook: Webhook
  /** Requests to the endpoint at a time. */
  readonly limit: number
  readonly task: Task
}

/** Resolves to null if the outcome is not known. Then the attempt has to be made again. */
export async function attemptDelivery(
  deps: AttemptDeps,
  planned: PlannedAttempt,
): Promise<RequestOutcome | NotMade | Undeliverable | null> {
  const prepared = await deps.preparer.prepare(planned.webhook, eventOf(planned.task))
  if (prepared === null || prepared.kind === 'undeliverable') return prepared
  try {
    return await sendPrepared(deps, planned, prepared)
  } finally {
    prepared.release()
  }
}

async function sendPrepared(
  deps: AttemptDeps,
  { webhook, limit, task }: PlannedAttempt,
  { event, email, body }: PreparedEvent,
): Promise<RequestOutcome | NotMade | null> {
  const at = deps.clock()
  const begun = performance.now()
  const found = await deps.endpoints.find(webhook.url)
  if (found.kind === 'refused') return { kind: 'fault', reason: 'the host has no address that may be dialled' }
  if (found.kind === 'unresolved') return { kind: 'fault', reason: found.reason }
  const spent = performance.now() - begun
  const left = deps.timeout() - Math.floor(spent / TIME_STEP) * TIME_STEP
  const { previous_secret: previous, previous_secret_until: until } = webhook
  return deps.request({
    deliveryId: task.kind === 'event' ? task.deliveryId : task.delivery.id,
    attempt: task.kind === 'event' ? 1 : task.delivery.attempts + 1,
    webhookId: webhook.id,
    limit,
    event,
    email,
    body,
    format: webhook.format,
    headers: readHeaders(webhook.headers),
    login: webhook.login,
    verificationSecret: webhook.format === 'sendgrid' ? webhook.verification_secret : null,
    url: webhook.url,
    addresses: found.addresses,
    secret: webhook.secret,
    previousSecret: until !== null && until > at ? previous : null,
    at,
    timeout: left,
  })
}

/** The event of the task. The caller does not attempt a retry whose event is gone. */
function eventOf(task: Task): DeliveredEvent {
  if (task.kind === 'event') return task.event
  const { event_id: id, type, event_created_at: createdAt, data } = task.delivery
  return { id, type, created_at: createdAt ?? 0, data: data ?? '{}' }
}
