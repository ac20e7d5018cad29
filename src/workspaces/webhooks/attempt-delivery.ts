/**
 * Makes one attempt of a delivery. It finds and judges the addresses of the host, and sends the request to those
 * alone.
 *
 * The time limit covers the whole attempt.
 */
import type { Clock } from '../../base/platform/clock.js'
import type { EndpointAddresses } from './endpoint-addresses.js'
import type { DeliveredEvent, NotMade, RequestContent, RequestOutcome } from './request-protocol.js'
import type { Task } from './webhook-lane.js'
import type { Webhook } from './webhook-records.js'

/** Milliseconds. The time limit is kept to this precision. */
const TIME_STEP = 100

export interface AttemptDeps {
  readonly clock: Clock
  readonly endpoints: EndpointAddresses
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
  { webhook, limit, task }: PlannedAttempt,
): Promise<RequestOutcome | NotMade | null> {
  const event = eventOf(task)
  const { clock } = deps
  const at = clock()
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
