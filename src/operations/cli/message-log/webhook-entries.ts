/**
 * Finds which webhooks got the events of a message, and how they answered. A delivery is found by its id, which is made
 * of webhook and event.
 */
import { formatTimestamp } from '../../../base/platform/clock.js'
import { namedUuidv7 } from '../../../base/platform/ids.js'
import { prepareRead, type Read } from '../../../base/storage/db/prepared.js'
import { webhooksOfWorkspace } from '../../../workspaces/webhooks/webhook-records.js'
import { entryOf, joinParts, type LogEntry } from './log-entry.js'

interface LoggedEvent {
  readonly id: string
  readonly type: string
  readonly created_at: number
}

const deliveryById = prepareRead<{ id: string; workspaceId: string }>()(({ db, slot }) =>
  db
    .selectFrom('webhook_deliveries')
    .select(['id', 'type', 'status', 'attempts', 'next_attempt_at', 'response_status', 'error'])
    .select(['created_at', 'delivered_at'])
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId')),
)

type Delivery = Awaited<ReturnType<typeof deliveryById>>[number]

export async function webhookEntries(
  read: Read,
  workspaceId: string,
  events: readonly LoggedEvent[],
): Promise<readonly LogEntry[]> {
  const entries: LogEntry[] = []
  for (const webhook of await webhooksOfWorkspace(read, { workspaceId })) {
    for (const event of events) {
      const id = namedUuidv7(event.created_at, `${webhook.id} ${event.id}`)
      const deliveries = await deliveryById(read, { id, workspaceId })
      entries.push(...deliveries.map((delivery) => describeDelivery(delivery, webhook)))
    }
  }
  return entries
}

function describeDelivery(delivery: Delivery, webhook: { readonly id: string; readonly url: string }): LogEntry {
  const { status, type, attempts, response_status, error, next_attempt_at, delivered_at, created_at } = delivery
  const answer = response_status === null ? error : `answer ${response_status}`
  const tries = attempts === 1 ? null : `${attempts} attempts`
  const next = next_attempt_at === null ? null : `next attempt ${formatTimestamp(next_attempt_at)}`
  // Paths and queries of URLs may hold secrets.
  const host = URL.canParse(webhook.url) ? new URL(webhook.url).host : webhook.id
  return entryOf(
    delivered_at ?? created_at,
    'webhook',
    joinParts(`${type} to ${host}: ${status}`, answer, tries, next),
    { delivery_id: delivery.id, webhook_id: webhook.id, type, status, attempts, response_status, error },
  )
}
