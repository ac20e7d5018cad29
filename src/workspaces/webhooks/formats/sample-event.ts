/** A test of a webhook as an event that other services know: an email that does not exist was delivered. */
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { FormattedEvent } from './event-format.js'

export const TEST_TYPE = 'webhook.test'

/** Other events stay as they are. */
export function replaceTest(event: FormattedEvent): FormattedEvent {
  if (event.type !== TEST_TYPE) return event
  const data = {
    email_id: '00000000-0000-0000-0000-000000000000',
    from: 'sender@example.com',
    to: 'recipient@example.com',
    subject: 'This event tests the webhook.',
    tags: {},
    delivered_at: formatTimestamp(event.createdAt),
  }
  return { ...event, type: 'email.delivered', data: JSON.stringify(data) }
}
